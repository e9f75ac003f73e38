! Tests of the module holdall: items of every type, rank and strides are read as they were written;
! failures are reported.

! The callbacks, and what they received.
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
  use, intrinsic :: iso_c_binding, only: c_bool, c_loc, c_size_t
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit
  use holdall
  use holdall_c, only: c_array_read_object, holdall_error_c
  use listeners
  implicit none
  character(:), allocatable :: folder

  call get_folder()
  call boxes()
  call kinds()
  call growth()
  call expressions()
  call schunk_streams()
  call ranks()
  call metadata_files()
  call metadata_files_of_a_table()
  call splits()
  call runs()
  call blocks()
  call memory()
  call bags()
  call stores()
  call changed_stores()
  call dictionaries()
  call damaged_records()
  call damage()
  call tables()
  call texts()
  call parts_of_a_bag()
  call parts_of_arrays()
  call arrow()
  deallocate (folder)

contains

  subroutine get_folder()
    integer :: n
    call get_environment_variable('HOLDALL_TMP', length=n)
    if (n == 0) error stop 'HOLDALL_TMP: the folder of the test is not set'
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

  ! Expects that a call returned this status, and a message if it failed.
  subroutine failed(err, status, what)
    type(holdall_error), intent(in) :: err
    integer, intent(in) :: status
    character(*), intent(in) :: what
    call expect(err%status == status, &
        what // ': ' // holdall_status_name(err%status) // ' in place of ' &
        // holdall_status_name(status))
    call expect(status >= 0 .or. err%message /= '', what // ' without a message')
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
    call a%create(folder // 'boxes.b2nd', HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, holdall_dtype(x), &
        shape(x), o, chunk_shape=[2, 3])
    call a%write(x)
    call a%attr_set('note', 'abc  ')
    call a%attr_set_fixed('fixed', 'x')
    call a%commit()
    call expect(all(a%shape() == [3, 4]) .and. all(a%chunk_shape() == [2, 3]) &
        .and. a%dtype() == '<f8', 'shapes')
    call expect(a%size() == 12 .and. a%itemsize() == 8 .and. a%nbytes() == 96 &
        .and. a%stored_bytes() > 0, 'sizes')
    call array_info(a)

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

  ! What holdall_array_get_info reports, in Fortran order.
  subroutine array_info(a)
    type(holdall_array), intent(in) :: a
    type(holdall_array) :: closed
    type(holdall_array_info) :: info
    type(holdall_error) :: err
    call a%get_info(info)
    call expect(info%dtype == '<f8' .and. all(info%shape == [3, 4]) &
        .and. all(info%chunk_shape == [2, 3]) .and. &
        all(info%block_shape == a%block_shape()), 'shapes of an info')
    call expect(info%format == HOLDALL_FORMAT_B2ND .and. info%order == HOLDALL_ORDER_C &
        .and. info%codec == HOLDALL_CODEC_ZSTD &
        .and. info%level == 5 .and. info%checksum == HOLDALL_CHECKSUM_CRC32 &
        .and. info%attr_count == a%attr_count() .and. info%fixed_attr_count == 1 &
        .and. info%precision == 0, 'constants of an info')
    call expect(size(info%filters) == 1 .and. all(info%filters == HOLDALL_FILTER_BITSHUFFLE), &
        'filters of an info')
    call expect(info%itemsize == 8 .and. info%nbytes == 96 &
        .and. info%stored_bytes == a%stored_bytes() .and. &
        info%generation == a%generation() .and. a%generation() == 1, 'numbers of an info')
    call closed%get_info(info, err)
    call failed(err, HOLDALL_E_ARGUMENT, 'info of no array')
    call expect(info%dtype == '' .and. size(info%shape) == 0 .and. closed%stored_bytes() == 0, &
        'an empty info')
  end subroutine

  ! A handle that is not closed closes itself and releases its lock.
  subroutine two_ends()
    type(holdall_array) :: b
    character(:), allocatable :: value
    call leaves_it()
    call b%open(folder // 'boxes.b2nd', HOLDALL_APPEND)
    call b%attr_get('note', value)
    call expect(value == 'abc  ' .and. len(value) == 5 &
        .and. b%attr_name(b%attr_count()) == 'note', 'an attribute')
    call b%attr_get('none', value)
    call expect(.not. allocated(value), 'no attribute')
  end subroutine

  ! Further files in the folder meta of a dataset.
  subroutine metadata_files()
    type(holdall_array) :: a
    type(holdall_error) :: err
    character(:), allocatable :: names, value
    call a%create(folder // 'meta.bcolz', HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, '<f8', [3])
    call a%meta_file_write('units', 'K  ')
    call a%meta_file_write('gone', '1')
    call a%meta_file_remove('gone')
    call a%meta_file_write('../x', '1', err)
    call expect(err%status == HOLDALL_E_ARGUMENT, 'an invalid name')
    call a%commit()
    call a%meta_file_names(names)
    call expect(names == 'units' // achar(0), 'names of metadata files')
    call a%meta_file_read('units', value)
    call expect(value == 'K  ' .and. len(value) == 3, 'a metadata file')
    call a%meta_file_read('none', value)
    call expect(.not. allocated(value), 'no metadata file')
    call a%close()
  end subroutine

  ! Ranges of rows that begin at chunks.
  subroutine splits()
    type(holdall_table) :: t
    type(holdall_array) :: a
    type(holdall_bag_writer) :: w
    type(holdall_bag) :: b
    type(holdall_options) :: o
    type(holdall_error) :: err
    integer(int64), allocatable :: firsts(:), counts(:), bytes(:)
    integer(int64) :: id(3000)
    integer :: i
    id = [(int(i, int64), i=1, 3000)]
    call o%set(HOLDALL_OPT_CHUNK_BYTES, 8000)
    call t%create(folder // 'splits.bcolz', HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, ['id'], ['<i8'], o)
    call t%put('id', id)
    call t%append()
    call t%commit()
    call t%splits(7, firsts, counts, bytes)
    call expect(size(firsts) == 3 .and. all(firsts == [1, 1001, 2001]) .and. all(counts == 1000), &
        'splits of a table')
    call t%splits(0, firsts, counts, bytes, err)
    call failed(err, HOLDALL_E_ARGUMENT, 'no splits')
    call t%find_column('id', a)
    call a%splits(3, firsts, counts, bytes)
    call expect(all(firsts == [1, 1001, 2001]) .and. all(bytes > 0), 'splits of an array')
    call w%open(folder // 'splits.bagz', HOLDALL_CREATE)
    do i = 1, 10
      call w%append('record')
    end do
    call w%commit()
    call b%open(folder // 'splits.bagz')
    call b%splits(2, firsts, counts, bytes)
    call expect(all(firsts == [1, 6]) .and. all(counts == 5), 'splits of a bag')
  end subroutine

  subroutine metadata_files_of_a_table()
    type(holdall_table) :: t
    type(holdall_error) :: err
    character(:), allocatable :: names, value
    call t%create(folder // 'meta.blz', HOLDALL_CREATE, HOLDALL_FORMAT_BLZ_RFC, ['id'], ['<i8'])
    call t%meta_file_write('units', 'K  ')
    call t%meta_file_write('gone', '1')
    call t%meta_file_remove('gone')
    call t%meta_file_write('../x', '1', err)
    call expect(err%status == HOLDALL_E_ARGUMENT, 'an invalid name in a table')
    call t%commit()
    call t%meta_file_names(names)
    call expect(names == 'units' // achar(0), 'names of metadata files of a table')
    call t%meta_file_read('units', value)
    call expect(value == 'K  ' .and. len(value) == 3, 'a metadata file of a table')
    call t%meta_file_read('none', value)
    call expect(.not. allocated(value), 'no metadata file of a table')
    call t%close()
  end subroutine

  ! A superchunk, read and written by numbers.
  subroutine runs()
    type(holdall_schunk) :: s, reader
    type(holdall_options) :: o
    type(holdall_error) :: err
    real(real64) :: x(100), gaps(200)
    integer :: i
    x = [(i * 1d0, i=1, 100)]
    call o%set(HOLDALL_OPT_CHUNK_BYTES, 80)
    call s%create(folder // 'runs.b2frame', HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 8, o)
    call s%append(x(:50))
    gaps = 0
    gaps(1::2) = x
    call s%append(gaps(101::2))
    call s%write(x(100:99:-1), 9_int64)
    call s%commit()
    call expect(s%nbytes() == 800 .and. s%chunk_count() == 10, 'a superchunk')
    call s%attr_set('note', 'abc')
    call s%attr_set_fixed('fixed', 'x')
    call s%commit()
    call run_info(s)
    call s%open(folder // 'runs.b2frame')
    x = 0
    call s%read(x, 1_int64)
    call expect(all(x(:4) == [1, 100, 99, 4]) .and. x(100) == 100, 'its content')
    call s%read(x(:2), 793_int64, err)
    call failed(err, HOLDALL_E_RANGE, 'beyond its end')
    call s%read(x(::2), 1_int64, err)
    call failed(err, HOLDALL_E_ARGUMENT, 'gaps')
    call s%open(folder // 'runs.b2frame', HOLDALL_APPEND)
    call s%copy(folder // 'runs.blp', HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK)
    call reader%open(folder // 'runs.b2frame')
    call s%truncate(8_int64)
    call expect(s%nbytes() == 8, 'truncated')
    call s%commit()
    call s%refresh(err)
    call failed(err, HOLDALL_E_STATE, 'a writer cannot be refreshed')
    call reader%refresh()
    call expect(reader%nbytes() == 8 .and. reader%generation() == 1, 'a superchunk after a commit')
    call s%open(folder // 'runs.blp')
    call expect(s%nbytes() == 800, 'a copy of a superchunk')
  end subroutine

  ! Blocks of any length.
  subroutine blocks()
    type(holdall_schunk) :: s
    type(holdall_error) :: err
    integer(int64), allocatable :: lengths(:)
    character(:), allocatable :: content
    call s%create(folder // 'blocks.b2frame', HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 1)
    call s%insert_blocks(1_int64, 'oneanother', [3_int64, 8_int64], err)
    call failed(err, HOLDALL_E_ARGUMENT, 'lengths beyond the data')
    call s%insert_blocks(1_int64, 'oneanother', [3_int64, 0_int64, 7_int64], err)
    call failed(err, HOLDALL_E_ARGUMENT, 'an empty block')
    call s%insert_blocks(1_int64, 'oneanother', [3_int64, 7_int64])
    call s%commit()
    call s%open(folder // 'blocks.b2frame')
    call s%block_lengths(1_int64, lengths)
    call expect(size(lengths) == 2 .and. all(lengths == [3, 7]), 'the lengths of blocks')
    call s%read_block(1_int64, 2_int64, content)
    call expect(content == 'another', 'a block')
    call s%read_block(1_int64, 3_int64, content, err)
    call failed(err, HOLDALL_E_RANGE, 'no such block')
    call s%block_lengths(2_int64, lengths, err)
    call failed(err, HOLDALL_E_RANGE, 'no such chunk')
  end subroutine

  subroutine run_info(s)
    type(holdall_schunk), intent(in) :: s
    type(holdall_schunk_info) :: info
    type(holdall_chunk_info) :: chunk
    type(holdall_error) :: err
    character(:), allocatable :: value
    call s%get_info(info)
    call expect(info%format == HOLDALL_FORMAT_B2FRAME .and. info%codec == HOLDALL_CODEC_LZ4 &
        .and. .not. info%is_sparse .and. &
        all(info%filters == [HOLDALL_FILTER_SHUFFLE]), 'constants of a superchunk')
    call expect(info%typesize == 8 .and. info%chunk_size == 80 .and. info%chunk_count == 10 &
        .and. info%nbytes == 800 .and. &
        info%stored_bytes > 0 .and. info%generation == 2 .and. info%attr_count == s%attr_count(), &
        'numbers of a superchunk')
    call expect(info%fixed_attr_count == 1 .and. info%precision == 0, 'header of a superchunk')
    call s%get_chunk_info(10_int64, chunk)
    call expect(chunk%nbytes == 80 .and. .not. chunk%is_pending, 'a chunk')
    call s%get_chunk_info(11_int64, chunk, err)
    call failed(err, HOLDALL_E_RANGE, 'no chunk')
    call s%attr_get('note', value)
    call expect(value == 'abc' .and. s%attr_name(s%attr_count()) == 'note', &
        'an attribute of a superchunk')
  end subroutine

  subroutine leaves_it()
    type(holdall_array) :: c
    type(holdall_array) :: other
    type(holdall_error) :: err
    call c%open(folder // 'boxes.b2nd', HOLDALL_APPEND)
    call other%open(folder // 'boxes.b2nd', HOLDALL_APPEND, err=err)
    call failed(err, HOLDALL_E_BUSY, 'two writers')
  end subroutine

  ! Each type of items is read as it was written.
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
    call make(a, holdall_dtype(i1)); call a%write(i1); i1 = 0; call a%read(i1)
    call expect(all(i1 == [-1, 2, 3]), 'int8')
    i2 = [-300_int16, 2_int16, 3_int16]
    call make(a, holdall_dtype(i2)); call a%write(i2); i2 = 0; call a%read(i2)
    call expect(all(i2 == [-300, 2, 3]), 'int16')
    i4 = [-70000, 2, 3]
    call make(a, holdall_dtype(i4)); call a%write(i4); i4 = 0; call a%read(i4)
    call expect(all(i4 == [-70000, 2, 3]), 'int32')
    i8 = [-5000000000_int64, 2_int64, 3_int64]
    call make(a, holdall_dtype(i8)); call a%write(i8); i8 = 0; call a%read(i8)
    call expect(all(i8 == [-5000000000_int64, 2_int64, 3_int64]), 'int64')
    r4 = [1.5, 2.5, -3.5]
    call make(a, holdall_dtype(r4)); call a%write(r4); r4 = 0; call a%read(r4)
    call expect(all(r4 == [1.5, 2.5, -3.5]), 'real32')
    r8 = [1d300, 2d0, -3d0]
    call make(a, holdall_dtype(r8)); call a%write(r8); r8 = 0; call a%read(r8)
    call expect(all(r8 == [1d300, 2d0, -3d0]), 'real64')
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
    call a%create(folder // 'growth.blp', HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, &
        holdall_dtype(x), [2, 0])
    call a%append(x)
    gaps = 0
    gaps(1:4:2, :) = x + 10
    call a%append(gaps(1:4:2, 2:3))
    call a%insert([9.0, 9.0, 9.0, 9.0, 9.0], 2_int64, axis=1)
    call a%commit()
    call expect(all(a%shape() == [3, 5]), 'grown')
    call a%read(all_of)
    call expect(all(all_of(2, :) == 9) .and. all(all_of(:, 5) == [15.0, 9.0, 16.0]), &
        'what it grew by')
    call a%append([1.0], err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'less than a position')
    call a%remove(1_int64, 3_int64)
    call a%resize([3_int64, 4_int64])
    call a%read(all_of(:, :4))
    call expect(all(all_of(:, 1) == [13.0, 9.0, 14.0]) .and. all(all_of(:, 3:4) == 0), &
        'removed and resized')
    call a%copy(folder // 'growth.b2nd', HOLDALL_CREATE, HOLDALL_FORMAT_B2ND)
    call b%open(folder // 'growth.b2nd')
    call expect(all(b%shape() == [3, 4]), 'a copy')
    call a%copy(folder // 'growth.b2nd', HOLDALL_REPLACE, HOLDALL_FORMAT_B2ND, &
        chunk_shape=[3_int64, 2_int64], &
        block_shape=[3_int64, 1_int64])
    call b%refresh()
    call expect(b%generation() == 1 .and. all(b%chunk_shape() == [3, 2]) &
        .and. all(b%block_shape() == [3, 1]), 'refreshed')
    call a%copy(folder // 'growth2.b2nd', HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, &
        chunk_shape=[3_int64], err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'chunks of another rank')
    call slices_of_array(b)
  end subroutine

  ! Slices, their copies and checksums. The array has the shape [3, 4].
  subroutine slices_of_array(a)
    type(holdall_array), intent(in) :: a
    type(holdall_array) :: s, t
    type(holdall_error) :: err
    real(real32) :: whole(3, 4), part(2, 3)
    character(:), allocatable :: of_s, of_t
    call a%read(whole)
    call a%slice([3_int64, 2_int64], [2_int64, 3_int64], s, [-2_int64, 1_int64])
    call s%read(part)
    call expect(all(part == whole(3:1:-2, 2:4)), 'a slice of an array')
    call s%copy(folder // 'slice.b2nd', HOLDALL_CREATE, HOLDALL_FORMAT_B2ND)
    call t%open(folder // 'slice.b2nd')
    call s%checksum(HOLDALL_CHECKSUM_SHA256, of_s)
    call t%checksum(HOLDALL_CHECKSUM_SHA256, of_t)
    call expect(of_s == of_t .and. len(of_s) == 32, 'a copy of a slice')
    call s%slice([1_int64, 2_int64], [1_int64, 2_int64], t)
    call t%squeeze(1, s)
    call expect(all(s%shape() == [2]), 'squeezed')
    call s%expand_dims(2, t)
    call expect(all(t%shape() == [2, 1]), 'expanded')
    call a%slice([1_int64], [1_int64], t, err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'a slice of another rank')
    call t%squeeze(1, s, err)
    call expect(err%status /= 0, 'no array to squeeze')
  end subroutine

  ! Arguments that are not variables: expressions, constructors, results of functions.
  subroutine expressions()
    type(holdall_array) :: a
    type(holdall_schunk) :: s
    real :: x(2, 3), all_of(2, 8), part(2, 3, 1)
    integer(int8) :: bytes(7), have(7)
    integer :: i
    x = reshape([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])
    call a%create(folder // 'expressions.b2nd', HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, &
        holdall_dtype(x), [2, 3])
    call a%write(x + 1)
    call a%append(2 * x)
    call a%append([(i * 1.0, i=0, 1)])
    call a%insert(turned(x(:, 1)), 1_int64)
    call a%commit()
    call a%read(all_of)
    call expect(all(all_of(:, 1) == [2.0, 1.0]) .and. all(all_of(:, 2:4) == x + 1), &
        'an expression and a result')
    call expect(all(all_of(:, 5:7) == 2 * x) .and. all(all_of(:, 8) == [0.0, 1.0]), &
        'appended expressions')
    call a%create(folder // 'expressions3.b2nd', HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, &
        holdall_dtype(x), [2, 3, 1])
    call a%write(reshape(x, [2, 3, 1]) - 1)
    call a%commit()
    call a%read(part)
    call expect(all(part(:, :, 1) == x - 1), 'an expression of rank 3')

    bytes = [(int(i, int8), i=1, 7)]
    call s%create(folder // 'expressions.blp', HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, 1)
    call s%append(bytes + 1_int8)
    call s%commit()
    call s%read(have, 1_int64)
    call expect(all(have == bytes + 1), 'an expression in a superchunk')
  end subroutine

  ! A file that is written from front to back, and a unit that cannot be written to.
  subroutine schunk_streams()
    type(holdall_schunk_stream) :: out
    type(holdall_schunk) :: s
    type(holdall_error) :: err
    character(:), allocatable :: path, json
    integer(int32), allocatable :: x(:), have(:)
    integer :: unit, i
    allocate (x(60000), have(30000))
    x(:) = [(i, i=1, size(x))]
    path = folder // 'streamed.blp'
    open (newunit=unit, file=path, access='stream', form='unformatted', action='write')
    call out%open(unit, 4)
    call out%set_metadata('[1]')
    call out%write(x(::2))
    call out%finish()
    call out%finish(err)
    call expect(err%status == HOLDALL_E_STATE, 'a stream is finished once')
    call out%close()
    close (unit)
    call s%open(path)
    call s%read(have, 1_int64)
    call expect(s%nbytes() == 120000 .and. all(have == x(::2)), 'a stream is read back')
    call s%attr_get('', json)
    call expect(json == '[1]', 'the metadata of a stream')
    call s%close()

    open (newunit=unit, file=path, access='stream', form='unformatted', action='read')
    call out%open(unit, 4, 240000_int64)
    call out%write(x, err)
    call expect(err%status == HOLDALL_E_CALLBACK .and. err%os_code /= 0, 'a unit for reading')
    call out%finish(err)
    call expect(err%status == HOLDALL_E_STATE, 'a stream after a failure')
    close (unit)
  end subroutine

  function turned(x)
    real, intent(in) :: x(:)
    real :: turned(0:size(x) - 1)
    turned = x(size(x):1:-1)
  end function

  ! The highest and the lowest rank, with strides.
  subroutine ranks()
    type(holdall_array) :: a
    integer(int16), target :: x(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2), zero
    integer(int16), allocatable :: y(:, :, :, :, :, :, :, :, :, :, :, :, :, :, :)
    integer :: i
    x = reshape([(int(i, int16), i=0, 2**15 - 1)], shape(x))
    call a%create(folder // 'ranks.b2nd', HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, holdall_dtype(x), &
        shape(x))
    call a%write(x)
    allocate (y(3, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3), source=0_int16)
    call a%read(y(1::2, :, 3:1:-2, :, :, :, :, :, :, :, :, :, :, 2:1:-1, 1::2))
    call expect(all(y(1::2, :, 3:1:-2, :, :, :, :, :, :, :, :, :, :, 2:1:-1, 1::2) == x) &
        .and. sum(int(y, &
        int64)) == sum(int(x, int64)), 'fifteen')
    call a%create(folder // 'ranks.b2nd', HOLDALL_REPLACE, HOLDALL_FORMAT_B2ND, holdall_dtype(x), &
        [integer ::])
    zero = 7
    call a%write(zero)
    zero = 0
    call a%read(zero)
    call expect(zero == 7 .and. a%size() == 1 .and. a%rank() == 0, 'no dimension')
  end subroutine

  ! Containers in memory: a superchunk, and a bag of two shards.
  subroutine memory()
    type(holdall_bag_writer) :: w
    type(holdall_bag) :: b
    type(holdall_schunk) :: s
    type(holdall_storage) :: storage(2)
    type(holdall_options) :: o
    type(holdall_error) :: err
    integer(int8), allocatable, target :: first(:), second(:)
    integer(int8), pointer :: bytes(:)
    character(:), allocatable :: record
    call w%open(folder // 'memory@2.bagz', HOLDALL_CREATE)
    call w%append('even')
    call w%append('odd')
    call w%commit()
    call w%close()
    call get_file(folder // 'memory-00000-of-00002.bagz', first)
    call get_file(folder // 'memory-00001-of-00002.bagz', second)
    call storage(1)%from_memory(first)
    call storage(2)%from_memory(second)
    call o%set(HOLDALL_OPT_CODEC, HOLDALL_CODEC_ZSTD)
    call o%set_storage(storage)
    call b%open('', o)
    call b%read(2_int64, record)
    call expect(b%shard_count() == 2 .and. record == 'odd', 'a bag in memory')
    call s%open('', options=o, err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'two storages of a superchunk')
    call b%close() ! before its memory is reused
    call get_file(folder // 'runs.blp', second)
    call storage(2)%from_memory(second)
    call o%close()
    call o%set_storage(storage(2:))
    call s%open('', options=o)
    call expect(s%nbytes() == 800, 'a superchunk in memory')
    call s%open(folder // 'runs.blp', options=o, err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'a path and a storage')
    call o%set_storage([holdall_storage ::])
    call s%open(folder // 'runs.blp', options=o)
    call storage(1)%new_memory()
    call o%set_storage(storage(:1))
    call s%create('', HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 1, options=o)
    call s%append(first)
    call s%commit()
    call s%close()
    call storage(1)%get_file('', bytes)
    call storage(2)%new_memory()
    call storage(2)%put_file('', bytes)
    call o%set_storage(storage(2:))
    call s%open('', options=o)
    call expect(s%nbytes() == size(first), 'a frame that was put into memory')
    call storage(2)%get_file('none', bytes, err)
    call failed(err, HOLDALL_E_MISSING, 'no such file in memory')
    call storage(1)%close()
    call storage(2)%close()
  end subroutine

  subroutine get_file(path, bytes)
    character(*), intent(in) :: path
    integer(int8), allocatable, intent(out) :: bytes(:)
    integer :: unit, n
    open (newunit=unit, file=path, access='stream', form='unformatted', status='old')
    inquire (unit, size=n)
    allocate (bytes(n))
    read (unit) bytes
    close (unit)
  end subroutine

  subroutine bags()
    type(holdall_bag_writer) :: w
    type(holdall_bag) :: b, half, copy
    type(holdall_records) :: some
    type(holdall_bag_stream) :: s
    type(holdall_bag_index) :: keys
    type(holdall_bag_info) :: info
    type(holdall_error) :: err
    character(:), allocatable :: record
    character(4) :: number
    integer(int64) :: i
    call w%open(folder // 'bags.bagz', HOLDALL_CREATE)
    do i = 1, 999
      write (number, '(i4)') i
      call w%append(number // repeat('x', int(mod(i, 3_int64))))
    end do
    call w%append('')
    call w%commit()
    call expect(w%record_count() == 1000, 'a writer')
    call w%close()
    call b%open(folder // 'bags.bagz')
    call b%get_info(info)
    call expect(b%record_count() == 1000 .and. b%shard_count() == 1, 'a bag')
    call expect(info%record_count == 1000 .and. info%shard_count == 1 .and. info%stored_bytes > 0 &
        .and. info%generation == 0, &
        'numbers of a bag')
    call expect(info%format == HOLDALL_FORMAT_BAGZ .and. info%codec == HOLDALL_CODEC_ZSTD .and. &
        info%checksum == HOLDALL_CHECKSUM_ZSTD .and. info%limits == HOLDALL_BAG_LIMITS_TAIL .and. &
        holdall_constant_name(info%shards) == 'concatenated', 'constants of a bag')
    call b%read(5_int64, record)
    call expect(record == '   5xx' .and. b%record_size(5_int64) == 6, 'record 5')
    call b%read(1000_int64, record)
    call expect(len(record) == 0, 'an empty record')
    call b%read(1001_int64, record, err)
    call failed(err, HOLDALL_E_RANGE, 'beyond the last')
    call expect(err%position == 1000, 'the first position is 0')
    call b%slice(1000_int64, 500_int64, -2_int64, half)
    call half%read_range(2_int64, 2_int64, some)
    call expect(some%count() == 2 .and. some%record(1_int64) == ' 998xx' &
        .and. some%record(3_int64) == '' .and. &
        some%damaged_count() == 0, 'a slice')
    call half%copy(folder // 'half.bag', HOLDALL_CREATE)
    call half%copy(folder // 'half.bag', HOLDALL_APPEND, indices=[2_int64, 500_int64])
    call copy%open(folder // 'half.bag')
    call copy%read(501_int64, record)
    call expect(copy%record_count() == 502 .and. record == ' 998xx', 'a copy of records')
    call s%open(half)
    i = 0
    do while (s%next(record, err))
      i = i + 1
      call expect(s%number() == i, 'numbers in a stream')
    end do
    call failed(err, HOLDALL_END, 'the end of a stream')
    call expect(i == 500 .and. .not. allocated(record), 'a stream')
    call keys%build(b)
    call expect(keys%find_first('  42') == 42 .and. keys%find_first('nothing') == 0 &
        .and. keys%find_first('') == 1000, 'an index')
    call keys%open(folder // 'bags.index', b, HOLDALL_CREATE)
    call keys%open(folder // 'bags.index', b)
    call expect(keys%find_first('  42') == 42, 'an index in a file')
    call w%open(folder // 'bags.bagz', HOLDALL_APPEND)
    call w%append('one more')
    call w%commit()
    call b%refresh()
    call expect(b%generation() == 1 .and. b%record_count() == 1001, 'a bag after a commit')
  end subroutine

  ! A dictionary is trained from records, stored in a bag, and read from it.
  ! A store of python-blosc2 in a folder: frames, and embed.b2e.
  subroutine stores()
    type(holdall_store) :: nodes
    type(holdall_schunk) :: s
    type(holdall_array) :: a
    type(holdall_error) :: err
    integer :: format, kind
    integer(int32) :: items(3)
    call execute_command_line('mkdir ' // folder // 'nodes.b2d')
    call s%create(folder // 'nodes.b2d/embed.b2e', HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 1)
    call s%commit()
    call s%create(folder // 'nodes.b2d/s.b2f', HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 1)
    call s%commit()
    call a%create(folder // 'nodes.b2d/a.b2nd', HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, '<i4', [3])
    call a%write([4, 5, 6])
    call a%commit()
    call nodes%open(folder // 'nodes.b2d')
    call expect(nodes%node_count() == 2 .and. nodes%node(1) == '/a' .and. nodes%node(2) == '/s' &
        .and. nodes%node(3) == '' .and. nodes%node(0) == '', 'nodes of a store')
    call nodes%identify('/a', format, kind)
    call expect(format == HOLDALL_FORMAT_B2ND .and. kind == HOLDALL_KIND_ARRAY, 'a node')
    call nodes%open_node('/a', a)
    call a%read(items)
    call expect(all(items == [4, 5, 6]), 'an array of a store')
    call nodes%open_node('/s', s)
    call a%open(folder // 'nodes.b2d/a')
    call nodes%open_node('/none', a, err=err)
    call failed(err, HOLDALL_E_MISSING, 'no node')
    call nodes%open_node('/a', a, HOLDALL_APPEND, err=err)
    call failed(err, HOLDALL_E_STATE, 'a node of a store that is open for reading')
    call nodes%close()
  end subroutine

  ! Sets options to create a node.
  subroutine create_at(nodes, node, kind, o)
    type(holdall_store), intent(in) :: nodes
    character(*), intent(in) :: node
    integer, intent(in) :: kind
    type(holdall_options), intent(inout) :: o
    type(holdall_storage) :: storage
    call nodes%node_storage(node, kind, storage)
    call o%set_storage([storage])
  end subroutine

  ! One commit for all nodes of a store.
  subroutine changed_stores()
    type(holdall_store) :: nodes, other
    type(holdall_storage) :: storage
    type(holdall_options) :: o
    type(holdall_schunk) :: s
    type(holdall_array) :: a, b
    type(holdall_table) :: t
    type(holdall_error) :: err
    character(:), allocatable :: path
    character(4), parameter :: ends(3) = ['.b2d', '.b2z', '.b2e']
    integer(int32) :: items(3)
    integer :: i, format, kind
    do i = 1, 3
      path = folder // 'changed' // ends(i)
      call nodes%create(path, HOLDALL_CREATE)
      call create_at(nodes, '/a', HOLDALL_KIND_ARRAY, o)
      call a%create('', HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, '<i4', [2], o)
      call a%write([1, 2])
      call a%commit()
      call create_at(nodes, '/group/b', HOLDALL_KIND_ARRAY, o)
      call a%copy('', HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, o)
      call create_at(nodes, '/s', HOLDALL_KIND_SCHUNK, o)
      call s%create('', HOLDALL_CREATE, HOLDALL_FORMAT_B2FRAME, 1, o)
      call s%commit()
      call s%close()
      call other%open(path, err=err)
      call expect(err%status < 0 .and. nodes%node_count() == 0, 'a store before its commit')
      call nodes%commit()
      call expect(nodes%node_count() == 3 .and. nodes%node(2) == '/group/b', 'created nodes')
      call nodes%open_node('/group/b', b, HOLDALL_APPEND)
      call b%append([3])
      call b%commit()
      call a%append([4])
      call a%commit()
      call nodes%remove('/s')
      call other%open(path)
      call expect(other%node_count() == 3, 'nodes before a commit')
      call nodes%commit()
      call expect(nodes%node_count() == 2, 'nodes after a commit')
      call a%close()
      call b%close()
      call nodes%open(path, HOLDALL_APPEND, err=err)
      call other%open(path, HOLDALL_APPEND, err=err)
      call failed(err, HOLDALL_E_BUSY, 'another writer')
      call a%open(path // '/group/b')
      call a%read(items)
      call expect(all(items == [1, 2, 3]), 'a changed node')
      call a%close()
      call nodes%remove('/s', err)
      call failed(err, HOLDALL_E_MISSING, 'a removed node')
      call nodes%node_storage('/../x', HOLDALL_KIND_ARRAY, storage, err)
      call failed(err, HOLDALL_E_ARGUMENT, 'a wrong path of a node')
      if (i == 3) cycle
      call create_at(nodes, '/t', HOLDALL_KIND_TABLE, o)
      call t%create('', HOLDALL_CREATE, HOLDALL_FORMAT_CTABLE, ['n'], ['<i8'], o)
      call t%commit()
      call t%close()
      call nodes%commit()
      call nodes%identify('/t', format, kind)
      call expect(format == HOLDALL_FORMAT_CTABLE .and. kind == HOLDALL_KIND_TABLE, 'a table node')
    end do
    call nodes%close()
    call storage%new_memory()
    call o%set_storage([storage])
    call nodes%create('', HOLDALL_CREATE, options=o, err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'a store in memory without a format')
    call nodes%create('', HOLDALL_CREATE, HOLDALL_FORMAT_B2Z, o)
    call nodes%commit()
    call nodes%copy(folder // 'copied.b2z', HOLDALL_CREATE)
    call nodes%copy(folder // 'copied.b2z', HOLDALL_CREATE, HOLDALL_FORMAT_B2Z, err=err)
    call failed(err, HOLDALL_E_EXISTS, 'a copy to a store that exists')
    call nodes%create(folder // 'changed.b2d', HOLDALL_CREATE, err=err)
    call failed(err, HOLDALL_E_EXISTS, 'a store that exists')
  end subroutine

  subroutine dictionaries()
    type(holdall_bag_writer) :: w
    type(holdall_bag) :: b
    type(holdall_options) :: o
    type(holdall_error) :: err
    character(:), allocatable :: records, dictionary, stored, record
    character(46) :: line
    integer(int64) :: i
    integer(int64), parameter :: n = 2000
    records = ''
    do i = 1, n
      write (line, '(a, i4, a, i4)') '{"from": "Osaka", "passengers": ', i, ', "id"', mod(i * 7, 10000_int64)
      records = records // line
    end do
    call holdall_train_dictionary(records, [(46_int64, i=1, n)], 2048_int64, dictionary)
    call expect(len(dictionary) > 256 .and. len(dictionary) <= 2048, 'a trained dictionary')
    call holdall_train_dictionary(records, [(47_int64, i=1, n)], 2048_int64, stored, err)
    call failed(err, HOLDALL_E_ARGUMENT, 'lengths beyond the records')
    call o%set(HOLDALL_OPT_BAG_DICTIONARY, HOLDALL_BAG_DICTIONARY_STORED)
    call o%set(HOLDALL_OPT_DICTIONARY, dictionary)
    call w%open(folder // 'dictionary.bagz', HOLDALL_CREATE, o)
    do i = 1, n
      call w%append(records(46 * i - 45:46 * i))
    end do
    call w%commit()
    call w%close()
    call b%open(folder // 'dictionary.bagz')
    call b%read_dictionary(stored)
    call b%read(n, record)
    call expect(stored == dictionary .and. record == records(46 * n - 45:), 'a stored dictionary')
    call b%open(folder // 'bags.bagz')
    call b%read_dictionary(stored)
    call expect(len(stored) == 0, 'no dictionary')
  end subroutine

  ! Corrupt records are errors, or empty with HOLDALL_OPT_SKIP_DAMAGED.
  subroutine damaged_records()
    type(holdall_bag_writer) :: w
    type(holdall_bag) :: b
    type(holdall_records) :: some
    type(holdall_bag_stream) :: s
    type(holdall_options) :: o
    type(holdall_error) :: err
    character(:), allocatable :: record
    integer :: i, unit
    call w%open(folder // 'damage.bag', HOLDALL_CREATE)
    do i = 1, 3
      call w%append(repeat(achar(64 + i), 10))
    end do
    call w%commit()
    call w%close()
    open (newunit=unit, file=folder // 'damage.bag', access='stream', form='unformatted', &
        status='old')
    write (unit, pos=15) int(-1, int8)
    close (unit)
    call b%open(folder // 'damage.bag')
    call b%read(2_int64, record, err)
    call failed(err, HOLDALL_E_CHECKSUM, 'a corrupt record')
    call o%set(HOLDALL_OPT_SKIP_DAMAGED, 1)
    call b%open(folder // 'damage.bag', o)
    call b%read(2_int64, record, err)
    call failed(err, HOLDALL_DAMAGED, 'a skipped record')
    call expect(record == '', 'what is read of it')
    call b%read_range(1_int64, 3_int64, some, err)
    call failed(err, HOLDALL_DAMAGED, 'a skipped record of a batch')
    call expect(some%damaged_count() == 1 .and. some%record(3_int64) == 'CCCCCCCCCC', &
        'others of the batch')
    call s%open(b)
    do i = 1, 3
      call expect(s%next(record, err), 'a stream of three')
      call failed(err, merge(HOLDALL_DAMAGED, HOLDALL_OK, i == 2), 'a record of a stream')
    end do
    call expect(.not. s%next(record) .and. s%damaged_count() == 1, 'its end')
  end subroutine

  ! A corrupt byte: found, reported, repaired.
  subroutine damage()
    type(holdall_array) :: a
    type(holdall_options) :: o, reporting
    type(holdall_error) :: err
    integer(int32) :: x(8192)
    integer(int64) :: intact, corrupt, unchecked, n
    integer :: i, unit, format, kind
    x = [(i, i=1, 8192)]
    call o%set(HOLDALL_OPT_CHUNK_BYTES, 4096)
    call o%set(HOLDALL_OPT_CODEC, HOLDALL_CODEC_NONE)
    call a%create(folder // 'damage.blp', HOLDALL_CREATE, HOLDALL_FORMAT_BLOSCPACK, &
        holdall_dtype(x), [8192], o)
    call a%write(x)
    call a%commit()
    call a%close()
    call holdall_verify(folder // 'damage.blp', intact, corrupt, unchecked)
    call expect(intact == 8 .and. corrupt == 0 .and. unchecked == 0, 'intact')
    open (newunit=unit, file=folder // 'damage.blp', access='stream', form='unformatted', &
        status='old')
    inquire (unit, size=n)
    write (unit, pos=n - 3000) int(-1, int8)
    close (unit)
    call holdall_verify(folder // 'damage.blp', intact, corrupt, err=err)
    call failed(err, HOLDALL_E_CHECKSUM, 'damage')
    call expect(intact == 7 .and. corrupt == 1, 'damaged')
    call holdall_verify(folder // 'damage.blp', fault=note, err=err)
    call expect(faults == 1 .and. parts(1) == 'chunk 7' .and. status == HOLDALL_E_CHECKSUM, &
        'a fault is reported')
    call holdall_options_set_progress(reporting, to_the_end)
    call holdall_verify(folder // 'damage.blp', options=reporting, err=err)
    call expect(calls > 0 .and. most > 0, 'progress is reported')
    call holdall_options_set_progress(reporting, never)
    call holdall_verify(folder // 'damage.blp', options=reporting, err=err)
    call failed(err, HOLDALL_E_CANCELLED, 'stopped by progress')
    call a%open(folder // 'damage.blp')
    call a%read(x, err=err)
    call failed(err, HOLDALL_E_CHECKSUM, 'damaged')
    call expect(err%position == 7, 'which chunk')
    call o%close()
    call o%set(HOLDALL_OPT_SKIP_DAMAGED, 1)
    call a%open(folder // 'damage.blp', options=o)
    call a%read(x, err=err)
    call failed(err, HOLDALL_DAMAGED, 'skipped')
    call a%close()
    call holdall_repair(folder // 'damage.blp', intact, n)
    call holdall_verify(folder // 'damage.blp')
    call holdall_identify(folder // 'damage.blp', format, kind)
    call expect(intact == 7 .and. n == 1 .and. format == HOLDALL_FORMAT_BLOSCPACK &
        .and. kind == HOLDALL_KIND_SCHUNK, 'repaired')
  end subroutine

  subroutine tables()
    type(holdall_table) :: t, copy, other
    type(holdall_table_info) :: info
    type(holdall_array) :: column
    type(holdall_error) :: err
    integer(int64) :: id(3)
    integer(int64), allocatable :: selected(:)
    real(real64) :: position(2, 3), wide(4, 3)
    character(6) :: name(3)
    character(:), allocatable :: value
    call t%create(folder // 'tables.bcolz', HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, &
        [character(8) :: 'id', 'position', 'name'], &
        [character(13) :: '<i8', "('<f8', (2,))", '|S6'])
    call t%put('id', [1_int64, 2_int64])
    wide = reshape([1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0], [4, 3])
    call t%put('position', wide(1:4:2, :2))
    call t%put('name', [character(9) :: 'Vega', 'Capella'], err)
    call failed(err, HOLDALL_E_TYPE, 'longer names')
    call t%put('name', [character(9) :: 'Vega', 'Mizar'])
    call t%append()
    call t%put('id', [3_int64])
    call t%append(err)
    call failed(err, HOLDALL_E_ARGUMENT, 'a column without values')
    call t%put('id', [3_int64])
    call t%put('position', wide(1:4:2, 3:3))
    call t%put('name', ['Deneb'])
    call t%append()
    call t%write('position', wide(1:4:2, 3), 2_int64)
    call t%attr_set('from', '"nowhere"')
    call t%column_attr_set('id', 'unit', '"1"')
    call t%commit()

    call t%open(folder // 'tables.bcolz')
    call expect(t%row_count() == 3 .and. t%column_count() == 3 &
        .and. t%column_name(2) == 'position' .and. &
        t%column_index('name') == 3, 'a table')
    call t%read('id', id)
    call t%read('name', name)
    call t%read('position', position)
    call expect(all(id == [1, 2, 3]) &
        .and. all(name == [character(6) :: 'Vega', 'Mizar', 'Deneb']), 'its columns')
    call expect(all(position == reshape([1, 2, 5, 6, 5, 6], [2, 3])), 'a column with a shape')
    call t%read('id', id(:2), step=2_int64)
    call expect(all(id(:2) == [1, 3]), 'rows by a step')
    call t%read_points('id', [3_int64, 1_int64, 3_int64], id)
    call expect(all(id == [3, 1, 3]), 'rows by number')
    call t%read_points('position', [3_int64, 1_int64, 2_int64], position)
    call expect(all(position == reshape([5, 6, 1, 2, 5, 6], [2, 3])), 'rows with a shape by number')
    call t%read_points('id', [4_int64, 1_int64, 3_int64], id, err=err)
    call failed(err, HOLDALL_E_RANGE, 'no row 4')
    call t%read_points('id', [1_int64, 3_int64], id, err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'two rows for three')
    call t%read_points('id', id(:0), id(:0))
    call t%where('id is not null', selected)
    call expect(size(selected) == t%row_count() .and. all(selected == [1, 2, 3]), 'all rows')
    call t%where('id is null', selected)
    call expect(size(selected) == 0, 'no rows')
    call t%where('id >', selected, err)
    call failed(err, HOLDALL_E_ARGUMENT, 'half a condition')
    call t%read_points('none', [1_int64], id(:1), err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'no column by number')
    call t%read_points('position', [1_int64], wide(1:4:2, 1), err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'gaps by number')
    call t%read('id', id(1:1), start=3_int64)
    call t%read('position', position(:, 1), start=3_int64)
    call expect(id(1) == 3 .and. all(position(:, 1) == [5, 6]), 'a row')
    call t%find_column('position', column)
    call expect(all(column%shape() == [2, 3]), 'a column as an array')
    call column%read(position(1, :), holdall_box([2, 1], [1, 3]))
    call expect(all(position(1, :) == [2, 6, 6]), 'a part of it')
    call t%read('none', id, err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'no column')
    call t%read('position', id, err=err)
    call failed(err, HOLDALL_E_TYPE, 'another type')
    call t%attr_get('from', value)
    call expect(value == '"nowhere"' .and. t%attr_count() == 1 .and. t%attr_name(1) == 'from', &
        'an attribute')
    call t%column(1, column)
    call column%attr_get('unit', value)
    call expect(value == '"1"', 'an attribute of a column')
    call t%column(4, column, err)
    call failed(err, HOLDALL_E_ARGUMENT, 'no column 4')
    call t%slice(3_int64, 2_int64, copy, -2_int64)
    call copy%get_info(info)
    call expect(info%row_count == 2 .and. info%column_count == 3, 'a slice of a table')
    call t%slice(1_int64, 2_int64, copy, columns=[t%column_name(2)])
    call copy%get_info(info)
    call expect(info%row_count == 2 .and. info%column_count == 1, 'a slice of a column')
    call copy%close()
    call t%copy(folder // 'copy.blz', HOLDALL_CREATE, HOLDALL_FORMAT_BLZ)
    call copy%open(folder // 'copy.blz')
    call copy%get_info(info)
    call expect(info%format == HOLDALL_FORMAT_BLZ .and. info%column_count == 3 &
        .and. info%row_count == 3 .and. &
        info%nbytes == 90 .and. info%stored_bytes > 0 .and. info%attr_count == 1 &
        .and. info%generation == 0, 'a copy of a table')
    call other%open(folder // 'tables.bcolz')
    call t%open(folder // 'tables.bcolz', HOLDALL_APPEND)
    call t%column_remove('position')
    call t%put(t%column_name(1), [7_int64, 8_int64])
    call t%put(t%column_name(2), ['u', 'v'])
    call t%insert(2_int64)
    call t%read('id', id(:2), start=2_int64)
    call expect(all(id(:2) == [7, 8]) .and. t%row_count() == 5, 'inserted rows')
    call t%remove(2_int64, 2_int64)
    call t%read('id', id(:2))
    call expect(all(id(:2) == [1, 2]) .and. t%row_count() == 3, 'removed rows')
    call t%remove(3_int64, 2_int64, err)
    call failed(err, HOLDALL_E_RANGE, 'no row 4')
    call t%truncate(1_int64)
    call t%commit()
    call expect(t%row_count() == 1 .and. t%column_count() == 2 .and. t%generation() == 1, 'cut')
    call other%refresh()
    call expect(other%row_count() == 1 .and. other%generation() == 1, 'a table after a commit')
  end subroutine

  ! Columns of texts of any length, with nulls.
  subroutine texts()
    type(holdall_table) :: t
    type(holdall_error) :: err
    integer(int8) :: nulls(7)
    integer(int64) :: n(7)
    character(8) :: together(7)
    logical :: has_nulls, are_null(7)
    call t%create(folder // 'texts.b2d', HOLDALL_CREATE, HOLDALL_FORMAT_CTABLE, ['t', 'n', 's'], &
        [character(3) :: 'T', '<i8', '|S4'])
    call t%put('t', [character(9) :: 'Vega', '', 'Capella', 'x'], &
        nulls=[.false., .false., .false., .true.])
    call t%put('n', [1_int64, 2_int64, 3_int64, 4_int64])
    call t%put('s', ['a', 'b', 'c', 'd'])
    call t%append()
    call t%put('t', [character(4) ::])
    call t%put('n', n(:0))
    call t%put('s', [character(4) ::])
    call t%append()
    call t%put('t', ['replaced'])
    call t%put('n', [5_int64, 6_int64])
    call t%put('s', [character(6) :: 'e', 'f'])
    call t%put('t', [' Mizar ', '       '])
    call t%insert(2_int64)
    call t%put('t', ['end'])
    call t%put('n', [7_int64])
    call t%put('s', ['g'])
    call t%append()
    call t%write('t', ['Deneb', '     '], 4_int64)
    call t%write('t', ['null '], 6_int64, nulls=[.true.])
    call t%write('t', [character(1) ::])
    call t%write('s', ['zz'], 7_int64)

    call t%put('n', ['a'], err)
    call failed(err, HOLDALL_E_TYPE, 'text for numbers')
    call t%put('t', [1_int64], err)
    call failed(err, HOLDALL_E_TYPE, 'numbers for text')
    call t%write('t', [1_int64], 1_int64, err)
    call failed(err, HOLDALL_E_TYPE, 'numbers over text')
    call t%write('t', [transfer(-1_int8, 'a')], err=err)
    call failed(err, HOLDALL_E_TYPE, 'text that is not UTF-8')
    call t%write('t', ['a', 'b'], 7_int64, err)
    call failed(err, HOLDALL_E_RANGE, 'text beyond the end')
    call t%write('s', ['wider'], err=err)
    call failed(err, HOLDALL_E_TYPE, 'text that is too long')
    call t%put('s', ['a'], err, [.true.])
    call failed(err, HOLDALL_E_TYPE, 'nulls of dtype S')
    call t%put('t', ['a'], err, [.true., .false.])
    call failed(err, HOLDALL_E_ARGUMENT, 'nulls of another size')
    call t%put('none', ['a'], err)
    call failed(err, HOLDALL_E_ARGUMENT, 'text of no column')
    call t%put('n', [8_int64])
    call t%append(err)
    call failed(err, HOLDALL_E_ARGUMENT, 'rows without text')
    call t%commit()

    call t%open(folder // 'texts.b2d')
    call t%read('n', n)
    call expect(t%row_count() == 7 .and. all(n == [1, 5, 6, 2, 3, 4, 7]), 'rows with text')
    call t%read_nulls('t', nulls, has_nulls)
    call expect(has_nulls .and. all(nulls == [0, 0, 0, 0, 0, 1, 0]), 'nulls of text')
    call expect(text_at(t, 1) == 'Vega' .and. text_at(t, 2) == ' Mizar' .and. text_at(t, 3) == '' &
        .and. text_at(t, 4) == 'Deneb' .and. text_at(t, 5) == '' .and. text_at(t, 7) == 'end', &
        'text')
    call t%read('t', together, nulls=are_null)
    call expect(all(together == [character(8) :: 'Vega', ' Mizar', '', 'Deneb', '', '', 'end']) &
        .and. all(are_null .eqv. (nulls == 1)), 'texts together')
    call t%read('t', together(:2), 6_int64, nulls=are_null(:2))
    call expect(are_null(1) .and. together(2) == 'end', 'the last texts')
    call t%read('t', together(:)(:3), err=err)
    call failed(err, HOLDALL_E_TYPE, 'text that is longer than the variable')
    call t%read('t', together, 2_int64, err)
    call failed(err, HOLDALL_E_RANGE, 'texts beyond the end')
    call expect(len(text_at(t, 2)) == 6 .and. len(text_at(t, 3)) == 0 &
        .and. len(text_at(t, 5)) == 0, 'lengths of text')
    call t%close()
  end subroutine

  ! Returns row i of the column "t".
  function text_at(t, i) result(text)
    type(holdall_table), intent(in) :: t
    integer, intent(in) :: i
    character(:), allocatable :: text
    type(holdall_array) :: column
    type(holdall_error_c) :: e
    character(20), target :: room
    integer(c_size_t) :: n
    call t%find_column('t', column)
    n = 0
    call expect(c_array_read_object(column%handle, int(i - 1, int64), c_loc(room), &
        len(room, c_size_t), n, e) == HOLDALL_OK, 'a value')
    text = room(:n)
  end function

  subroutine parts_of_a_bag()
    type(holdall_part) :: p
    type(holdall_bag_writer) :: w
    type(holdall_bag) :: b
    type(holdall_error) :: err
    character(HOLDALL_PART_TOKEN_SIZE) :: tokens(3)
    character(HOLDALL_PART_TOKEN_SIZE) :: again
    character(:), allocatable :: path, names, record
    integer(int64) :: retained, lost, removed
    integer :: i
    path = folder // 'parts.bagz'
    do i = 1, 3
      call p%of_bag(path)
      call w%open(p%path(), HOLDALL_APPEND)
      call w%append(achar(64 + i))
      call w%commit()
      call w%close()
      call p%finish(tokens(i))
    end do
    call p%finish(again, err)
    call failed(err, HOLDALL_E_STATE, 'finished already')
    call p%close()
    call holdall_parts_list(path, names)
    call expect(count([(names(i:i) == achar(0), i=1, len(names))]) == 3, 'names of parts')
    call holdall_parts_commit(path, tokens(2:1:-1))
    call b%open(path)
    call b%read(1_int64, record)
    call expect(b%record_count() == 2 .and. record == 'B', 'records of parts')
    call holdall_repair(path, retained, lost, parts_removed=removed)
    call expect(retained == 2 .and. lost == 0 .and. removed == 1, 'a part is removed')
    call holdall_parts_discard(path, tokens(3:3))
    call holdall_parts_commit(path, tokens(3:3), err=err)
    call failed(err, HOLDALL_E_MISSING, 'a part that was removed')
    call holdall_parts_list(path, names)
    call expect(names == '', 'no parts')
  end subroutine

  subroutine parts_of_arrays()
    type(holdall_part) :: p
    type(holdall_array) :: a
    type(holdall_table) :: t
    type(holdall_error) :: err
    character(HOLDALL_PART_TOKEN_SIZE) :: token
    character(:), allocatable :: path
    integer(int32) :: x(2, 2)
    path = folder // 'parts.b2nd'
    call a%create(path, HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, '<i4', [2, 2])
    call a%commit()
    call a%close()
    call p%of_array(path, [1, 2], [2, 1])
    call a%open(p%path(), HOLDALL_APPEND)
    call a%write(reshape([7, 8], [2, 1]))
    call a%commit()
    call a%close()
    call p%finish(token)
    call holdall_parts_commit(path, [token])
    call a%open(path)
    call a%read(x)
    call expect(all(x == reshape([0, 0, 7, 8], [2, 2])), 'a box that is a part')
    call a%close()
    call p%of_array(path, [1, 3], [2, 1], err=err)
    call failed(err, HOLDALL_E_RANGE, 'a box beyond the array')
    call p%of_array(path, [1], [2, 1], err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'a box of other dimensions')
    call p%of_array(path)
    call a%open(p%path(), HOLDALL_APPEND)
    call a%append(reshape([5, 6], [2, 1]))
    call a%commit()
    call a%close()
    call p%finish(token)
    call holdall_parts_commit(path, [token])
    call a%open(path)
    call expect(a%size() == 6, 'rows that are a part')
    call a%close()
    path = folder // 'parts.bcolz'
    call t%create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, ['id'], ['<i8'])
    call t%commit()
    call t%close()
    call p%of_table(path)
    call t%open(p%path(), HOLDALL_APPEND)
    call t%put('id', [1_int64, 2_int64])
    call t%append()
    call t%commit()
    call t%close()
    call p%finish(token)
    call p%close()
    call holdall_parts_commit(path, [token])
    call t%open(path)
    call expect(t%row_count() == 2, 'rows of a table that are a part')
    call t%close()
  end subroutine

  subroutine arrow()
    type(holdall_table) :: from, to
    type(holdall_bag_writer) :: w
    type(holdall_bag) :: b
    type(holdall_arrow_stream) :: stream
    type(holdall_error) :: err
    integer(int64) :: id(4)
    call from%create(folder // 'from.bcolz', HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, ['id'], ['<i8'])
    call from%put('id', [1_int64, 2_int64, 3_int64])
    call from%append()
    call from%commit()
    call to%create(folder // 'to.bcolz', HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, ['id'], ['<i8'])
    call from%to_arrow(stream)
    call from%close() ! the stream outlives it
    call to%append_arrow(stream)
    call expect(stream%is_empty(), 'a stream that was read')
    call from%open(folder // 'from.bcolz')
    call from%to_arrow(stream, start=2_int64, count=1_int64)
    call expect(.not. stream%is_empty(), 'a stream that was not read')
    call to%append_arrow(stream)
    call to%commit()
    call to%read('id', id)
    call expect(to%row_count() == 4 .and. all(id == [1, 2, 3, 2]), 'what came by Arrow')
    call from%to_arrow(stream)
    call to%from_arrow(folder // 'made.b2d', HOLDALL_CREATE, HOLDALL_FORMAT_CTABLE, stream)
    call expect(to%row_count() == 3 .and. stream%is_empty(), 'a table of a stream')
    call to%index_build(['id'])
    call to%index_build()
    call to%commit()
    call to%index_build(['no'], err)
    call failed(err, HOLDALL_E_ARGUMENT, 'an index of no column')
    call from%to_arrow(stream)
    call to%from_arrow(folder // 'made.b2d', HOLDALL_CREATE, HOLDALL_FORMAT_CTABLE, stream, err=err)
    call failed(err, HOLDALL_E_EXISTS, 'a table that is there')
    call to%open(folder // 'to.bcolz', HOLDALL_APPEND)
    call from%to_arrow(stream, columns=['none'], err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'no such column')
    call from%to_arrow(stream, start=3_int64, count=1_int64, columns=['id'])
    call to%append_arrow(stream)
    call expect(to%row_count() == 5, 'a column by Arrow')
    call from%to_arrow(stream, where='id <> 2', limit=1_int64)
    call to%append_arrow(stream)
    call from%to_arrow(stream, where='id > 1', columns=['id'])
    call to%append_arrow(stream)
    call to%read('id', id, start=5_int64)
    call expect(to%row_count() == 8 .and. all(id == [3, 1, 2, 3]), 'rows that meet a condition')
    call from%to_arrow(stream, where='id >', err=err)
    call failed(err, HOLDALL_E_ARGUMENT, 'a malformed condition')
    call from%to_arrow(stream, start=3_int64, count=2_int64, err=err)
    call failed(err, HOLDALL_E_RANGE, 'rows beyond the last')
    call w%open(folder // 'arrow.bagz', HOLDALL_CREATE)
    call w%append('one')
    call w%commit()
    call b%open(folder // 'arrow.bagz')
    call b%to_arrow(stream)
    call to%append_arrow(stream, err)
    call failed(err, HOLDALL_E_TYPE, 'records in place of numbers')
  end subroutine
end program
