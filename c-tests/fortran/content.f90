! The module holdall: what goes in comes out, whatever its type, rank and strides; failures are told.

! What callbacks are told.
module listeners
  use, intrinsic :: iso_fortran_env, only: int64
  use holdall
  implicit none
  integer(int64) :: calls = 0, most = 0, faults = 0
  character(40) :: parts(9) = ''
  integer :: status = 0

contains

  function to_the_end(done, total) result(go_on)
    integer(int64), intent(in) :: done, total
    logical :: go_on
    calls = calls + 1
    most = max(most, done)
    go_on = done <= total
  end function

  function never(done, total) result(go_on)
    integer(int64), intent(in) :: done, total
    logical :: go_on
    go_on = done > total
  end function

  function note(part, fault) result(go_on)
    character(*), intent(in) :: part
    type(holdall_error), intent(in) :: fault
    logical :: go_on
    faults = faults + 1
    parts(faults) = part
    status = fault%status
    go_on = .true.
  end function
end module

program content
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit
  use holdall
  use listeners
  implicit none
  character(:), allocatable :: folder

  call get_folder()
  call boxes()
  call kinds()
  call growth()
  call expressions()
  call ranks()
  call runs()
  call bags()
  call damage()
  call tables()
  call arrow()
  deallocate (folder)

contains

  subroutine get_folder()
    integer :: n
    call get_environment_variable('HOLDALL_TMP', length=n)
    allocate (character(n + 1) :: folder)
    call get_environment_variable('HOLDALL_TMP', folder(:n))
    folder(n + 1:) = '/'
  end subroutine

  subroutine expect(true, what)
    logical, intent(in) :: true
    character(*), intent(in) :: what
    if (true) return
    write (error_unit, '(2a)') 'content.f90: ', what
    error stop
  end subroutine

  ! The failure that a call must have had.
  subroutine failed(err, status, what)
    type(holdall_error), intent(in) :: err
    integer, intent(in) :: status
    character(*), intent(in) :: what
    call expect(err%status == status, &
        what // ': ' // holdall_status_name(err%status) // ' in place of ' // holdall_status_name(status))
    call expect(status >= 0 .or. err%message /= '', what // ' without words')
  end subroutine

  subroutine boxes()
    type(holdall_array) :: a
    type(holdall_options) :: o
    type(holdall_error) :: err
    real(real64) :: x(3, 4), wide(6, 4), row(4), one, flat(12)
    integer :: i, whole
    x = reshape([(i * 1d0, i=1, 12)], [3, 4])
    call o%set(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD)
    call o%set(HOLDALL_OPT_FILTERS, [integer(int8) :: HOLDALL_FILTER_BITSHUFFLE])
    call a%create(folder // 'boxes.b2nd', HOLDALL_NEW, HOLDALL_FORMAT_B2ND, holdall_dtype(x), shape(x), o, chunks=[2, 3])
    call a%write(x)
    call a%set_attr('note', 'abc  ')
    call a%commit()
    call expect(all(a%shape() == [3, 4]) .and. all(a%chunkshape() == [2, 3]) .and. a%dtype() == '<f8', 'shapes')
    call expect(a%size() == 12 .and. a%itemsize() == 8 .and. a%nbytes() == 96 .and. a%cbytes() > 0, 'sizes')

    call a%open(folder // 'boxes.b2nd  ')
    wide = 0
    call a%read(wide(1:6:2, :))
    call expect(all(wide(1:6:2, :) == x) .and. all(wide(2:6:2, :) == 0), 'strided')
    call a%read(wide(6:2:-2, 4:1:-1))
    call expect(all(wide(6:2:-2, 4:1:-1) == x), 'backwards')
    call a%read(row, holdall_box([2, 1], [1, 4]))
    call expect(all(row == [2, 5, 8, 11]), 'a row of it')
    call a%read(one, holdall_box([3, 2]))
    call expect(one == 6, 'an item')
    call a%read(x(:, 2), holdall_box([1, 4]))
    call expect(all(x(:, 2) == [10, 11, 12]), 'a column')
    call a%read(flat, holdall_box([1, 1], [3, 4]))
    call expect(all(flat == [(i, i=1, 12)]), 'as it lies')
    x = 0
    call a%read(x(:2, :2), holdall_box([1_int64, 2_int64], step=[2_int64, 2_int64]))
    call expect(all(x(:2, :2) == reshape([4, 6, 10, 12], [2, 2])), 'steps')

    call a%read(whole, holdall_box([1, 1]), err=err)
    call failed(err, HOLDALL_E_TYPE, 'integers from reals')
    call a%read(x, holdall_box([2, 1]), err=err)
    call failed(err, HOLDALL_E_RANGE, 'beyond the end')
    call a%read(x, holdall_box([1]), err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'a box of another rank')
    call a%read(flat(1:11), holdall_box([1, 1], [3, 4]), err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'a short buffer')
    call a%write(x, err=err)
    call failed(err, HOLDALL_E_STATE, 'written, and open to be read')
    call a%open(folder // 'nothing', err=err)
    call failed(err, HOLDALL_E_MISSING, 'nothing there')
    call expect(.not. a%is_open() .and. index(err%message, 'nothing') > 0, 'nothing')
    call a%read(x, err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'no array')
    call o%set(HOLDALL_OPT_LEVEL, 99, err)
    call failed(err, HOLDALL_E_ARGUMENT, 'a level')
    call two_ends()
  end subroutine

  ! What is not closed closes itself, and a lock goes with it.
  subroutine two_ends()
    type(holdall_array) :: b
    character(:), allocatable :: value
    call leaves_it()
    call b%open(folder // 'boxes.b2nd', HOLDALL_APPEND)
    call b%get_attr('note', value)
    call expect(value == 'abc  ' .and. len(value) == 5, 'an attribute')
    call b%get_attr('none', value)
    call expect(.not. allocated(value), 'no attribute')
  end subroutine

  ! A run of bytes, by numbers.
  subroutine runs()
    type(holdall_schunk) :: s
    type(holdall_options) :: o
    type(holdall_error) :: err
    real(real64) :: x(100), gaps(200)
    integer :: i
    x = [(i * 1d0, i=1, 100)]
    call o%set(HOLDALL_OPT_CHUNK_BYTES, 80)
    call s%create(folder // 'runs.b2frame', HOLDALL_NEW, HOLDALL_FORMAT_B2FRAME, 8, o)
    call s%append(x(:50))
    gaps = 0
    gaps(1::2) = x
    call s%append(gaps(101::2))
    call s%write(x(100:99:-1), 9_int64)
    call s%commit()
    call expect(s%nbytes() == 800 .and. s%chunks() == 10 .and. s%typesize() == 8 .and. s%cbytes() > 0, 'a superchunk')
    call s%open(folder // 'runs.b2frame')
    x = 0
    call s%read(x, 1_int64)
    call expect(all(x(:4) == [1, 100, 99, 4]) .and. x(100) == 100, 'its content')
    call s%read(x(:2), 793_int64, err)
    call failed(err, HOLDALL_E_RANGE, 'beyond its end')
    call s%read(x(::2), 1_int64, err)
    call failed(err, HOLDALL_E_ARGUMENT, 'gaps')
    call s%open(folder // 'runs.b2frame', HOLDALL_APPEND)
    call s%truncate(8_int64)
    call expect(s%nbytes() == 8, 'truncated')
  end subroutine

  subroutine leaves_it()
    type(holdall_array) :: c
    type(holdall_array) :: other
    type(holdall_error) :: err
    call c%open(folder // 'boxes.b2nd', HOLDALL_APPEND)
    call other%open(folder // 'boxes.b2nd', HOLDALL_APPEND, err=err)
    call failed(err, HOLDALL_E_BUSY, 'two writers')
  end subroutine

  ! Each type of numbers, there and back.
  subroutine kinds()
    type(holdall_array) :: a
    type(holdall_error) :: err
    integer(int8) :: i1(3)
    integer(int16) :: i2(3)
    integer(int32) :: i4(3)
    integer(int64) :: i8(3)
    real(real32) :: r4(3)
    real(real64) :: r8(3)
    complex(real32) :: c8(3)
    complex(real64) :: c16(3)
    logical(c_bool) :: l1(3)
    character(7) :: text(3)
    i1 = [-1_int8, 2_int8, 3_int8]
    call make(a, holdall_dtype(i1)); call a%write(i1); i1 = 0; call a%read(i1); call expect(all(i1 == [-1, 2, 3]), 'int8')
    i2 = [-300_int16, 2_int16, 3_int16]
    call make(a, holdall_dtype(i2)); call a%write(i2); i2 = 0; call a%read(i2); call expect(all(i2 == [-300, 2, 3]), 'int16')
    i4 = [-70000, 2, 3]
    call make(a, holdall_dtype(i4)); call a%write(i4); i4 = 0; call a%read(i4); call expect(all(i4 == [-70000, 2, 3]), 'int32')
    i8 = [-5000000000_int64, 2_int64, 3_int64]
    call make(a, holdall_dtype(i8)); call a%write(i8); i8 = 0; call a%read(i8)
    call expect(all(i8 == [-5000000000_int64, 2_int64, 3_int64]), 'int64')
    r4 = [1.5, 2.5, -3.5]
    call make(a, holdall_dtype(r4)); call a%write(r4); r4 = 0; call a%read(r4); call expect(all(r4 == [1.5, 2.5, -3.5]), 'real32')
    r8 = [1d300, 2d0, -3d0]
    call make(a, holdall_dtype(r8)); call a%write(r8); r8 = 0; call a%read(r8); call expect(all(r8 == [1d300, 2d0, -3d0]), 'real64')
    c8 = [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]
    call make(a, holdall_dtype(c8)); call a%write(c8); c8 = 0; call a%read(c8(3:1:-1))
    call expect(c8(1) == (5.0, 6.0), 'complex of real32')
    c16 = [(1d0, 2d0), (3d0, 4d0), (5d0, 6d0)]
    call make(a, holdall_dtype(c16)); call a%write(c16(3:1:-1)); c16 = 0; call a%read(c16)
    call expect(c16(3) == (1d0, 2d0), 'complex of real64')
    l1 = [.true._c_bool, .false._c_bool, .true._c_bool]
    call make(a, holdall_dtype(l1)); call a%write(l1); l1 = .false.; call a%read(l1)
    call expect(all(l1 .eqv. [.true., .false., .true.]), 'logical')
    call make(a, '<u4')
    call a%read(i4, err=err)
    call failed(err, HOLDALL_E_TYPE, 'unsigned')
    call a%write(i4, bits=.true.)
    i4 = 0
    call a%read(i4, bits=.true.)
    call expect(i4(1) == -70000, 'bits')
    call a%read(r8, bits=.true., err=err)
    call failed(err, HOLDALL_E_TYPE, 'bits of another number')
    call make(a, '>f8')
    call a%read(r8, err=err)
    call failed(err, HOLDALL_E_TYPE, 'another byte order')
    call make(a, '<M8[ns]')
    call a%write(i8)
    call make(a, '|S5')
    call a%write(['one  ', '     ', 'three'])
    call a%read(text)
    call expect(all(text == ['one    ', '       ', 'three  ']), 'text')
    call a%write(['longer'], holdall_box([1]), err=err)
    call failed(err, HOLDALL_E_TYPE, 'longer text')
    call a%read(text(:)(:4), err=err)
    call failed(err, HOLDALL_E_TYPE, 'too short for text')
  end subroutine

  subroutine make(a, dtype)
    type(holdall_array), intent(inout) :: a
    character(*), intent(in) :: dtype
    call a%create(folder // 'kinds.bcolz', HOLDALL_REPLACE, HOLDALL_FORMAT_BCOLZ, dtype, [3])
  end subroutine

  subroutine growth()
    type(holdall_array) :: a, b
    type(holdall_error) :: err
    real(real32) :: x(2, 3), all_of(3, 5), gaps(4, 3)
    integer :: i
    x = reshape([(i * 1.0, i=1, 6)], [2, 3])
    call a%create(folder // 'growth.blp', HOLDALL_NEW, HOLDALL_FORMAT_BLOSCPACK, holdall_dtype(x), [2, 0])
    call a%append(x)
    gaps = 0
    gaps(1:4:2, :) = x + 10
    call a%append(gaps(1:4:2, 2:3))
    call a%insert([9.0, 9.0, 9.0, 9.0, 9.0], 2_int64, axis=1)
    call a%commit()
    call expect(all(a%shape() == [3, 5]), 'grown')
    call a%read(all_of)
    call expect(all(all_of(2, :) == 9) .and. all(all_of(:, 5) == [15.0, 9.0, 16.0]), 'what it grew by')
    call a%append([1.0], err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'less than a place')
    call a%remove(1_int64, 3_int64)
    call a%resize([3_int64, 4_int64])
    call a%read(all_of(:, :4))
    call expect(all(all_of(:, 1) == [13.0, 9.0, 14.0]) .and. all(all_of(:, 3:4) == 0), 'removed and resized')
    call a%copy(folder // 'growth.b2nd', HOLDALL_NEW, HOLDALL_FORMAT_B2ND)
    call b%open(folder // 'growth.b2nd')
    call expect(all(b%shape() == [3, 4]), 'a copy')
  end subroutine

  ! What is given is no variable: an expression, a constructor, a function's result.
  subroutine expressions()
    type(holdall_array) :: a
    type(holdall_schunk) :: s
    real :: x(2, 3), all_of(2, 8), part(2, 3, 1)
    integer(int8) :: bytes(7), have(7)
    integer :: i
    x = reshape([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])
    call a%create(folder // 'expressions.b2nd', HOLDALL_NEW, HOLDALL_FORMAT_B2ND, holdall_dtype(x), [2, 3])
    call a%write(x + 1)
    call a%append(2 * x)
    call a%append([(i * 1.0, i=0, 1)])
    call a%insert(turned(x(:, 1)), 1_int64)
    call a%commit()
    call a%read(all_of)
    call expect(all(all_of(:, 1) == [2.0, 1.0]) .and. all(all_of(:, 2:4) == x + 1), 'an expression and a result')
    call expect(all(all_of(:, 5:7) == 2 * x) .and. all(all_of(:, 8) == [0.0, 1.0]), 'appended expressions')
    call a%create(folder // 'expressions3.b2nd', HOLDALL_NEW, HOLDALL_FORMAT_B2ND, holdall_dtype(x), [2, 3, 1])
    call a%write(reshape(x, [2, 3, 1]) - 1)
    call a%commit()
    call a%read(part)
    call expect(all(part(:, :, 1) == x - 1), 'an expression of rank 3')

    bytes = [(int(i, int8), i=1, 7)]
    call s%create(folder // 'expressions.blp', HOLDALL_NEW, HOLDALL_FORMAT_BLOSCPACK, 1)
    call s%append(bytes + 1_int8)
    call s%commit()
    call s%read(have, 1_int64)
    call expect(all(have == bytes + 1), 'an expression in a superchunk')
  end subroutine

  function turned(x)
    real, intent(in) :: x(:)
    real :: turned(0:size(x) - 1)
    turned = x(size(x):1:-1)
  end function

  ! Every rank that there can be, with a stride in each dimension.
  subroutine ranks()
    type(holdall_array) :: a
    integer(int16), target :: x(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2), zero
    integer(int16), allocatable :: y(:, :, :, :, :, :, :, :, :, :, :, :, :, :, :)
    integer :: i
    x = reshape([(int(i, int16), i=0, 2**15 - 1)], shape(x))
    call a%create(folder // 'ranks.b2nd', HOLDALL_NEW, HOLDALL_FORMAT_B2ND, holdall_dtype(x), shape(x))
    call a%write(x)
    allocate (y(3, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3), source=0_int16)
    call a%read(y(1::2, :, 3:1:-2, :, :, :, :, :, :, :, :, :, :, 2:1:-1, 1::2))
    call expect(all(y(1::2, :, 3:1:-2, :, :, :, :, :, :, :, :, :, :, 2:1:-1, 1::2) == x) .and. sum(int(y, &
        int64)) == sum(int(x, int64)), 'fifteen')
    call a%create(folder // 'ranks.b2nd', HOLDALL_REPLACE, HOLDALL_FORMAT_B2ND, holdall_dtype(x), [integer ::])
    zero = 7
    call a%write(zero)
    zero = 0
    call a%read(zero)
    call expect(zero == 7 .and. a%size() == 1 .and. a%rank() == 0, 'no dimension')
  end subroutine

  subroutine bags()
    type(holdall_bag_writer) :: w
    type(holdall_bag) :: b, half
    type(holdall_records) :: some
    type(holdall_bag_stream) :: s
    type(holdall_bag_index) :: keys
    type(holdall_error) :: err
    character(:), allocatable :: record
    character(4) :: number
    integer(int64) :: i
    call w%open(folder // 'bags.bagz', HOLDALL_NEW)
    do i = 1, 999
      write (number, '(i4)') i
      call w%append(number // repeat('x', int(mod(i, 3_int64))))
    end do
    call w%append('')
    call w%commit()
    call expect(w%size() == 1000, 'a writer')
    call w%close()
    call b%open(folder // 'bags.bagz')
    call expect(b%size() == 1000 .and. b%shards() == 1 .and. b%cbytes() > 0, 'a bag')
    call b%read(5_int64, record)
    call expect(record == '   5xx' .and. b%record_size(5_int64) == 6, 'record 5')
    call b%read(1000_int64, record)
    call expect(len(record) == 0, 'an empty record')
    call b%read(1001_int64, record, err)
    call failed(err, HOLDALL_E_RANGE, 'beyond the last')
    call expect(err%position == 1000, 'counts from 0')
    call b%slice(1000_int64, -2_int64, 500_int64, half)
    call half%read_range(2_int64, 2_int64, some)
    call expect(some%count() == 2 .and. some%record(1_int64) == ' 998xx' .and. some%record(3_int64) == '' .and. &
        some%damaged() == 0, 'a slice')
    call s%open(half)
    i = 0
    do while (s%next(record))
      i = i + 1
      call expect(s%number() == i, 'numbers in a stream')
    end do
    call expect(i == 500 .and. .not. allocated(record), 'a stream')
    call keys%build(b)
    call expect(keys%find_first('  42') == 42 .and. keys%find_first('nothing') == 0 .and. keys%find_first('') == 1000, 'an index')
    call keys%open(folder // 'bags.index', b, HOLDALL_NEW)
    call keys%open(folder // 'bags.index', b)
    call expect(keys%find_first('  42') == 42, 'an index in a file')
  end subroutine

  ! A byte that is not what it was: found, told, repaired.
  subroutine damage()
    type(holdall_array) :: a
    type(holdall_options) :: o, told
    type(holdall_error) :: err
    integer(int32) :: x(8192)
    integer(int64) :: sound, bad, n
    integer :: i, unit, format, kind
    x = [(i, i=1, 8192)]
    call o%set(HOLDALL_OPT_CHUNK_BYTES, 4096)
    call o%set(HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE)
    call a%create(folder // 'damage.blp', HOLDALL_NEW, HOLDALL_FORMAT_BLOSCPACK, holdall_dtype(x), [8192], o)
    call a%write(x)
    call a%commit()
    call a%close()
    call holdall_verify(folder // 'damage.blp', sound, bad)
    call expect(sound == 8 .and. bad == 0, 'sound')
    open (newunit=unit, file=folder // 'damage.blp', access='stream', form='unformatted', status='old')
    inquire (unit, size=n)
    write (unit, pos=n - 3000) int(-1, int8)
    close (unit)
    call holdall_verify(folder // 'damage.blp', sound, bad, err=err)
    call failed(err, HOLDALL_E_CHECKSUM, 'damage')
    call expect(sound == 7 .and. bad == 1, 'damaged')
    call holdall_verify(folder // 'damage.blp', fault=note, err=err)
    call expect(faults == 1 .and. parts(1) == 'chunk 7' .and. status == HOLDALL_E_CHECKSUM, 'a fault is told')
    call holdall_on_progress(told, to_the_end)
    call holdall_verify(folder // 'damage.blp', options=told, err=err)
    call expect(calls > 0 .and. most > 0, 'progress is told')
    call holdall_on_progress(told, never)
    call holdall_verify(folder // 'damage.blp', options=told, err=err)
    call failed(err, HOLDALL_E_CANCELLED, 'stopped by progress')
    call a%open(folder // 'damage.blp')
    call a%read(x, err=err)
    call failed(err, HOLDALL_E_CHECKSUM, 'damaged')
    call expect(err%position == 7, 'which chunk')
    call o%close()
    call o%set(HOLDALL_OPT_SKIP_DAMAGED, 1)
    call a%open(folder // 'damage.blp', options=o)
    call a%read(x, err=err)
    call failed(err, HOLDALL_NOT_FOUND, 'skipped')
    call a%close()
    call holdall_repair(folder // 'damage.blp', dropped=n)
    call holdall_verify(folder // 'damage.blp')
    call holdall_identify(folder // 'damage.blp', format, kind)
    call expect(n == 1 .and. format == HOLDALL_FORMAT_BLOSCPACK .and. kind == HOLDALL_KIND_SCHUNK, 'repaired')
  end subroutine

  subroutine tables()
    type(holdall_table) :: t
    type(holdall_array) :: column
    type(holdall_error) :: err
    integer(int64) :: id(3)
    real(real64) :: place(2, 3), wide(4, 3)
    character(6) :: name(3)
    character(:), allocatable :: value
    call t%create(folder // 'tables.bcolz', HOLDALL_NEW, HOLDALL_FORMAT_BCOLZ, [character(5) :: 'id', 'place', 'name'], &
        [character(13) :: '<i8', "('<f8', (2,))", '|S6'])
    call t%put('id', [1_int64, 2_int64])
    wide = reshape([1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0], [4, 3])
    call t%put('place', wide(1:4:2, :2))
    call t%put('name', [character(9) :: 'Vega', 'Capella'], err)
    call failed(err, HOLDALL_E_TYPE, 'longer names')
    call t%put('name', [character(9) :: 'Vega', 'Mizar'])
    call t%append()
    call t%put('id', [3_int64])
    call t%append(err)
    call failed(err, HOLDALL_E_ARGUMENT, 'a column without values')
    call t%put('id', [3_int64])
    call t%put('place', wide(1:4:2, 3:3))
    call t%put('name', ['Deneb'])
    call t%append()
    call t%write('place', wide(1:4:2, 3), 2_int64)
    call t%set_attr('from', '"nowhere"')
    call t%commit()

    call t%open(folder // 'tables.bcolz')
    call expect(t%rows() == 3 .and. t%columns() == 3 .and. t%column_name(2) == 'place' .and. &
        t%column_index('name') == 3, 'a table')
    call t%read('id', id)
    call t%read('name', name)
    call t%read('place', place)
    call expect(all(id == [1, 2, 3]) .and. all(name == [character(6) :: 'Vega', 'Mizar', 'Deneb']), 'its columns')
    call expect(all(place == reshape([1, 2, 5, 6, 5, 6], [2, 3])), 'a column with a shape')
    call t%read('id', id(1:1), first=3_int64)
    call t%read('place', place(:, 1), first=3_int64)
    call expect(id(1) == 3 .and. all(place(:, 1) == [5, 6]), 'a row')
    call t%column('place', column)
    call expect(all(column%shape() == [2, 3]), 'a column as an array')
    call column%read(place(1, :), holdall_box([2, 1], [1, 3]))
    call expect(all(place(1, :) == [2, 6, 6]), 'a part of it')
    call t%read('none', id, err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'no column')
    call t%read('place', id, err=err)
    call failed(err, HOLDALL_E_TYPE, 'another type')
    call t%get_attr('from', value)
    call expect(value == '"nowhere"', 'an attribute')
    call t%open(folder // 'tables.bcolz', HOLDALL_APPEND)
    call t%column_remove('place')
    call t%truncate(1_int64)
    call t%commit()
    call expect(t%rows() == 1 .and. t%columns() == 2, 'cut')
  end subroutine

  subroutine arrow()
    type(holdall_table) :: from, to
    type(holdall_bag_writer) :: w
    type(holdall_bag) :: b
    type(holdall_arrow_stream) :: stream
    type(holdall_error) :: err
    integer(int64) :: id(4)
    call from%create(folder // 'from.bcolz', HOLDALL_NEW, HOLDALL_FORMAT_BCOLZ, ['id'], ['<i8'])
    call from%put('id', [1_int64, 2_int64, 3_int64])
    call from%append()
    call from%commit()
    call to%create(folder // 'to.bcolz', HOLDALL_NEW, HOLDALL_FORMAT_BCOLZ, ['id'], ['<i8'])
    call from%to_arrow(stream)
    call from%close() ! the stream outlives it
    call to%append_arrow(stream)
    call expect(stream%is_empty(), 'a stream that was read')
    call from%open(folder // 'from.bcolz')
    call from%to_arrow(stream, first=2_int64, rows=1_int64)
    call expect(.not. stream%is_empty(), 'a stream that nobody has read')
    call to%append_arrow(stream)
    call to%commit()
    call to%read('id', id)
    call expect(to%rows() == 4 .and. all(id == [1, 2, 3, 2]), 'what came by Arrow')
    call from%to_arrow(stream, first=3_int64, rows=2_int64, err=err)
    call failed(err, HOLDALL_E_RANGE, 'rows beyond the last')
    call w%open(folder // 'arrow.bagz', HOLDALL_NEW)
    call w%append('one')
    call w%commit()
    call b%open(folder // 'arrow.bagz')
    call b%to_arrow(stream)
    call to%append_arrow(stream, err)
    call failed(err, HOLDALL_E_TYPE, 'records in the place of numbers')
  end subroutine
end program
