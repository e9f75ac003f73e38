! trips FOLDER: the program trips.c, with the module holdall. Dimensions are reversed, and positions
! count from 1.
!   gfortran -o trips $(pkg-config --variable=fortran holdall)/holdall.f90 trips.f90 \
!     $(pkg-config --libs holdall)
program trips
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use holdall
  implicit none
  integer(int64), parameter :: all_trips = 1000
  integer, parameter :: days = 200, hours = 100
  character(4096) :: folder
  call get_command_argument(1, folder)

  print '(2a)', 'holdall ', holdall_version()
  call bag(trim(folder) // '/trips.bagz')
  call array(trim(folder) // '/field.b2nd')
  call table(trim(folder) // '/trips.bcolz')
  call verify('trips.bagz')
  call verify('field.b2nd')
  call verify('trips.bcolz')

contains

  ! Returns the stops of a trip; trips are numbered from 0, as in trips.c.
  elemental function stops(trip)
    integer(int64), intent(in) :: trip
    integer(int32) :: stops
    stops = int(mod(trip * trip, 97_int64), int32)
  end function

  subroutine bag(path)
    character(*), intent(in) :: path
    type(holdall_bag_writer) :: writer
    type(holdall_bag) :: all, some
    type(holdall_error) :: err
    character(64) :: line
    character(:), allocatable :: record
    integer(int64) :: i
    call writer%open(path, HOLDALL_CREATE)
    do i = 0, all_trips - 1
      write (line, '(a, i0, a, i0, a)') 'trip ', i, ': ', stops(i), ' stops'
      call writer%append(trim(line))
    end do
    call writer%commit()
    call writer%close()

    call all%open(path)
    print '(a, i0, a)', 'bag: ', all%record_count(), ' records'
    call all%slice(all_trips, 4_int64, -333_int64, some)
    do i = 1, some%record_count()
      call some%read(i, record)
      print '(a)', record
    end do
    call all%read(all_trips + 1, record, err)
    print '(2a)', 'one more: ', holdall_status_name(err%status)
  end subroutine

  subroutine array(path)
    character(*), intent(in) :: path
    type(holdall_array) :: a
    real(real64) :: field(hours, days), box(3, 2)
    integer(int64), allocatable :: lengths(:)
    integer :: hour, day
    forall (hour = 1:hours, day = 1:days) field(hour, day) = day - 1 + (hour - 1) / 4d0
    call a%create(path, HOLDALL_CREATE, HOLDALL_FORMAT_B2ND, holdall_dtype(field(1, 1)), &
        [hours, days])
    call a%write(field)
    call a%commit()

    call a%open(path)
    lengths = a%shape()
    print '(a, i0, a, i0, 2a)', 'array: ', lengths(2), ' x ', lengths(1), ' of ', a%dtype()
    call a%read(box, holdall_box([5, 11], count=[3, 2], step=[2, 50]))
    print '(f0.2, 1x, f0.2, 1x, f0.2)', box
  end subroutine

  subroutine table(path)
    character(*), intent(in) :: path
    type(holdall_table) :: t
    integer(int32) :: some_stops(3)
    real(real64) :: some_km(3)
    integer(int64) :: i
    call t%create(path, HOLDALL_CREATE, HOLDALL_FORMAT_BCOLZ, [character(5) :: 'stops', 'km'], &
        ['<i4', '<f8'])
    call t%put('stops', [(stops(i), i = 0, all_trips - 1)])
    call t%put('km', [(2.25d0 * stops(i) + 0.5d0, i = 0, all_trips - 1)])
    call t%append()
    call t%attr_set('city', '"Turin"')
    call t%attr_set('year', '2013')
    call t%commit()

    call t%open(path)
    print '(a, i0, a)', 'table: ', t%row_count(), ' rows'
    call say_attr(t, 'city')
    call say_attr(t, 'year')
    call t%read('stops', some_stops, all_trips - 2)
    call t%read('km', some_km, all_trips - 2)
    do i = 1, 3
      print '(i0, a, f0.2, a)', some_stops(i), ' stops, ', some_km(i), ' km'
    end do
  end subroutine

  subroutine say_attr(t, name)
    type(holdall_table), intent(in) :: t
    character(*), intent(in) :: name
    character(:), allocatable :: value
    call t%attr_get(name, value)
    print '(3a)', name, ': ', value
  end subroutine

  subroutine verify(name)
    character(*), intent(in) :: name
    integer(int64) :: intact, corrupt
    call holdall_verify(trim(folder) // '/' // name, intact, corrupt)
    print '(2a, i0, a, i0, a)', name, ': ', intact, ' intact, ', corrupt, ' corrupt'
  end subroutine
end program
