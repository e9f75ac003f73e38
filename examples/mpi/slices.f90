! slices NAME: each rank reads its share of the rows of a two-dimensional array of 32-bit floats,
! and all print their sum.
!
! The array is opened once for all ranks. In C the last index runs fastest, in Fortran the first, so
! that a row is a column here.
program slices
    use, intrinsic :: iso_c_binding
    use mpi
    implicit none

    type, bind(c) :: failure ! holdall_error
        integer(c_int32_t) :: status, os_code
        integer(c_int64_t) :: position
        character(c_char) :: message(496)
    end type

    interface
        integer(c_int32_t) function array_open(comm, path, options, array, err) bind(c, &
            name="f_mpi_array_open")
            import
            integer, value :: comm
            character(c_char), intent(in) :: path(*)
            type(c_ptr), value :: options
            type(c_ptr), intent(out) :: array
            type(failure), intent(out) :: err
        end function
        subroutine share(n, unit, rank, ranks, first, count) bind(c, name="f_mpi_share")
            import
            integer(c_int64_t), value :: n, unit
            integer(c_int), value :: rank, ranks
            integer(c_int64_t), intent(out) :: first, count
        end subroutine
        type(c_ptr) function array_shape(array) bind(c, name="holdall_array_shape")
            import
            type(c_ptr), value :: array
        end function
        integer(c_int32_t) function array_read(array, start, count, step, dst, dst_size, strides, &
            err) &
            bind(c, name="holdall_array_read")
            import
            type(c_ptr), value :: array, step, strides
            integer(c_int64_t), intent(in) :: start(*), count(*)
            real(c_float), intent(out) :: dst(*)
            integer(c_size_t), value :: dst_size
            type(failure), intent(out) :: err
        end function
        subroutine array_close(array) bind(c, name="holdall_array_close")
            import
            type(c_ptr), value :: array
        end subroutine
    end interface

    character(4096) :: name
    type(c_ptr) :: array
    type(failure) :: err
    integer(c_int64_t), pointer :: shape_of(:)
    integer(c_int64_t) :: first, rows
    real(c_float), allocatable :: part(:, :)
    double precision :: own, all
    integer :: rank, ranks, code

    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    call get_command_argument(1, name)
    call check(array_open(MPI_COMM_WORLD, trim(name)//c_null_char, c_null_ptr, array, err))
    call c_f_pointer(array_shape(array), shape_of, [2])
    call share(shape_of(1), 1_c_int64_t, rank, ranks, first, rows)
    allocate (part(shape_of(2), rows))
    call check(array_read(array, [first, 0_c_int64_t], [rows, shape_of(2)], c_null_ptr, part, &
                          4_c_size_t*size(part, kind=c_size_t), c_null_ptr, err))
    own = sum(dble(part))
    call MPI_Reduce(own, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, code)
    if (rank == 0) print '(i0, " rows, sum ", f0.3)', shape_of(1), all
    call array_close(array)
    call MPI_Finalize(code)

contains

    subroutine check(status)
        integer(c_int32_t), intent(in) :: status
        integer :: i
        if (status >= 0) return
        do i = 1, size(err%message)
            if (err%message(i) == c_null_char) exit
        end do
        print '(*(a))', err%message(:i - 1)
        call MPI_Abort(MPI_COMM_WORLD, 1, code)
    end subroutine
end program
