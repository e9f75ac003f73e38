! month.f90 ARRAY: reads the maps that month.cc has written
! The shape (31, 90, 180) of C is [180, 90, 31] in Fortran.
program month
  use holdall
  implicit none
  type(holdall_array) :: maps
  type(holdall_error) :: err
  real :: map(180, 90), values(4)
  character(1000) :: path

  call get_command_argument(1, path)
  call maps%open(path, HOLDALL_APPEND)  ! a failure stops the program with its message
  print '(a, 3(1x, i0))', maps%dtype(), maps%shape()
  call maps%read(values, holdall_box([101, 46, 1], count=[1, 1, 4], step=[1, 1, 10]))
  print '(4f9.1)', values
  call maps%read(map(:, 90:1:-1), holdall_box([1, 1, 31])) ! the last day, reversed, without a copy
  print '(f9.1)', sum(dble(map)) / size(map)
  call maps%append(map + 0.5)                              ! one more day
  call maps%commit()
  call maps%read(map, holdall_box([1, 1, 33]), err=err)   ! past the last day
  if (err%status /= HOLDALL_E_RANGE) error stop 'a day too many'
  print '(a)', trim(err%message)
  call maps%close()
end program
