! conform LIST: writes the content of the containers in a list, for c-tests/conform.py, as
! cxx/conform.cc does.
program conform
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use holdall
  implicit none
  character(1000) :: list, line
  character(:), allocatable :: kind, to, how, path
  integer :: unit, out, status

  call get_command_argument(1, list)
  open (newunit=unit, file=list, action='read')
  do
    read (unit, '(a)', iostat=status) line
    if (status /= 0) exit
    kind = word(line)
    to = word(line)
    how = word(line)
    path = trim(line)
    open (newunit=out, file=to, access='stream', form='unformatted', status='replace')
    select case (kind)
    case ('array'); call put_file(path)
    case ('schunk'); call put_run(path)
    case ('table'); call put_table(path)
    case ('bag'); call put_bag(path, how)
    end select
    close (out)
  end do
  close (unit)
  deallocate (kind, to, how, path)

contains

  ! Returns the text before the first tab and removes both from the line.
  function word(line) result(w)
    character(*), intent(inout) :: line
    character(:), allocatable :: w
    integer :: i
    i = index(line, achar(9))
    w = line(:i - 1)
    line = line(i + 1:)
  end function

  subroutine put_file(path)
    character(*), intent(in) :: path
    type(holdall_array) :: a
    call a%open(path)
    call put_array(a)
  end subroutine

  subroutine put_run(path)
    character(*), intent(in) :: path
    type(holdall_schunk) :: s
    integer(int8), allocatable :: content(:)
    call s%open(path)
    allocate (content(s%nbytes()))
    call s%read(content, 1_int64)
    write (out) content
  end subroutine

  ! Writes the items in storage order: numbers as numbers of their type, others as numbers of their
  ! size.
  subroutine put_array(a)
    type(holdall_array), intent(in) :: a
    type(holdall_error) :: err
    integer(int8), allocatable :: i1(:)
    integer(int16), allocatable :: i2(:)
    integer(int32), allocatable :: i4(:)
    integer(int64), allocatable :: i8(:), one(:)
    real(real32), allocatable :: r4(:)
    real(real64), allocatable :: r8(:)
    complex(real64), allocatable :: c16(:)
    integer(int64) :: n
    type(holdall_box) :: where
    allocate (one(a%rank()), source=1_int64)
    n = a%size()
    where = holdall_box(one, a%shape())
    select case (a%itemsize())
    case (1); allocate (i1(n)); call a%read(i1, where, bits=.true.); write (out) i1
    case (2); allocate (i2(n)); call a%read(i2, where, bits=.true.); write (out) i2
    case (4); allocate (r4(n)); call a%read(r4, where, err=err)
      if (err%status == HOLDALL_OK) then
        write (out) r4
      else
        allocate (i4(n)); call a%read(i4, where, bits=.true.); write (out) i4
      end if
    case (8); allocate (r8(n)); call a%read(r8, where, err=err)
      if (err%status == HOLDALL_OK) then
        write (out) r8
      else
        allocate (i8(n)); call a%read(i8, where, bits=.true.); write (out) i8
      end if
    case (16); allocate (c16(n)); call a%read(c16, where, bits=.true.); write (out) c16
    case default; call put_text(a)
    end select
  end subroutine

  ! Writes text. Its zeros at the end were read as blanks.
  subroutine put_text(a)
    type(holdall_array), intent(in) :: a
    character(:), allocatable :: text(:)
    integer(int64) :: i
    integer :: n
    allocate (character(a%itemsize()) :: text(a%size()))
    call a%read(text)
    do i = 1, size(text)
      n = len_trim(text(i))
      write (out) text(i)(:n), repeat(achar(0), len(text) - n)
    end do
  end subroutine

  subroutine put_table(path)
    character(*), intent(in) :: path
    type(holdall_table) :: t
    type(holdall_array) :: column
    integer :: i
    call t%open(path)
    do i = 1, t%column_count()
      call t%column(i, column)
      call put_array(column)
    end do
  end subroutine

  subroutine put_bag(path, how)
    character(*), intent(in) :: path, how
    type(holdall_bag) :: b
    type(holdall_bag_stream) :: s
    type(holdall_options) :: o
    character(:), allocatable :: record
    if (index(how, 'turns') > 0) call o%set(HOLDALL_OPT_BAG_SHARDS, HOLDALL_BAG_SHARDS_INTERLEAVED)
    if (index(how, 'separate') > 0) call o%set(HOLDALL_OPT_BAG_LIMITS, HOLDALL_BAG_LIMITS_SEPARATE)
    call b%open(path, o)
    call s%open(b)
    do while (s%next(record))
      write (out) len(record, int64), record
    end do
  end subroutine
end program
