! month.f90: reads the maps that month.cc has written; C's shape is (31, 90, 180), and Fortran's the other way round
program month
  use holdall
  implicit none
  type(holdall_array) :: maps
  type(holdall_error) :: err
  real :: map(180, 90), place(4)
  character(1000) :: path

  call get_command_argument(1, path)
  call maps%open(path, HOLDALL_APPEND)                    ! a failure stops the program with its words
  print '(a, 3(1x, i0))', maps%dtype(), maps%shape()
  call maps%read(place, holdall_box([101, 46, 1], count=[1, 1, 4], step=[1, 1, 10]))
  print '(4f9.1)', place
  call maps%read(map(:, 90:1:-1), holdall_box([1, 1, 31])) ! the last day, turned over: no copy is made
  print '(f9.1)', sum(dble(map)) / size(map)
  call maps%append(map + 0.5)                              ! a day more
  call maps%commit()
  call maps%read(map, holdall_box([1, 1, 33]), err=err)   ! one that there is not
  if (err%status /= HOLDALL_E_RANGE) error stop 'a day too many'
  print '(a)', trim(err%message)
  call maps%close()
end program
