! consumer.c by way of the module holdall: writes a bag, opens it again and compares every record.
!
!   consumer BAG
program consumer
  use, intrinsic :: iso_fortran_env, only: int64
  use holdall
  implicit none
  integer(int64), parameter :: records = 1000
  type(holdall_bag_writer) :: writer
  type(holdall_bag) :: bag
  type(holdall_error) :: err
  character(:), allocatable :: record
  character(4096) :: path
  integer(int64) :: i
  call get_command_argument(1, path)

  call writer%open(path, HOLDALL_NEW)
  do i = 1, records
    call writer%append(made(i))
  end do
  call writer%commit()
  call writer%close()

  call bag%open(path)
  if (bag%size() /= records) error stop 'consumer: the bag has lost records'
  do i = 1, records
    call bag%read(i, record)
    if (record /= made(i) .or. len(record) /= len(made(i))) error stop 'consumer: a record differs'
  end do
  call bag%read(records + 1, record, err)
  if (err%status /= HOLDALL_E_RANGE) error stop 'consumer: a record behind the last was not refused'
  call bag%close()
  print '(i0, 2a)', records, ' records, holdall ', holdall_version()

contains

  ! Record i, from 1 on: (i - 1) modulo 100 letters, so that some are empty.
  function made(i)
    integer(int64), intent(in) :: i
    character(:), allocatable :: made
    made = repeat(achar(iachar('a') + int(mod(i - 1, 26_int64))), int(mod(i - 1, 100_int64)))
  end function
end program
