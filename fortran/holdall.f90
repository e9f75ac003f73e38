! holdall.f90 - holdall.h for Fortran 2018: superchunks, arrays, tables and bags.
!
!     use holdall
!     type(holdall_array) :: a
!     real :: plane(360, 180)
!     call a%open('temperature.b2nd')
!     call a%read(plane, holdall_box([1, 1, 42], [360, 180, 1]))
!
! The manual of what a call does, and of how it can fail, is holdall.h: call a%resize(...) is holdall_array_resize(). Here
! is what Fortran adds. Which arguments a procedure has is in the files named below: each begins with its types.
!
! RULES, the same for every procedure:
!  - Dimensions are in Fortran's order, the first index runs fastest: an array that C and Python know as (180, 360) has the
!    shape [360, 180] here. So an array of Fortran's lies in memory as the container's items do, and nothing is turned or
!    copied. The words of failures have C's numbers of dimensions: 0 is the last one here.
!  - Places, records and columns are counted from 1; in holdall_error, position and words count from 0, as the tool does.
!    Numbers of records, rows and bytes are integer(int64), 1_int64; boxes and shapes of new arrays are of it or integer.
!  - err, the last argument, is optional: without it a failure stops the program with its words. With it, err%status is
!    HOLDALL_OK, less than 0 for a failure, and HOLDALL_NOT_FOUND (> 0) where the manual says so: there was none, or damage
!    was skipped, of which nobody is told without err.
!  - Handles (type(holdall_array) and so on) close themselves where their scope ends; what was not committed is then gone. In
!    the main program nothing ends: call %close(). A second open closes the first. They must not be copied by assignment.
!  - Numbers are integer(int8, int16, int32, int64), real(real32, real64), complex of both and logical(c_bool), in scalars,
!    arrays of any rank, and sections with strides, x(1:9:2, :), without a copy (append, insert and put take a copy of
!    sections with gaps). They are values of the array's own type: reals from integers are HOLDALL_E_TYPE, and so are
!    another byte order, and unsigned numbers, which Fortran has not; bits=.true. takes any items of as many bytes.
!    Text, of dtype S, is character(n).
!  - call holdall_on_progress(o, p), of options o, has p told how far calls are; holdall_verify() has an argument for each fault.
!  - type(holdall_arrow_stream) is Arrow's struct ArrowArrayStream: t%to_arrow(s), t%append_arrow(s); s%place() is its address.
!  - Names and paths end before the blanks at their end; records and attributes have all their characters.
!
! Compile it with your own compiler, as CMake's target holdall::fortran does; for others it is the file
! $(pkg-config --variable=fortran holdall)/holdall.f90, which includes the rest.
include 'holdall_c.inc'
include 'holdall_core.inc'
include 'holdall_callbacks.inc'
include 'holdall_checks.inc'
include 'holdall_arrow.inc'
include 'holdall_schunk.inc'
include 'holdall_box.inc'
include 'holdall_array.inc'
include 'holdall_table.inc'
include 'holdall_bag.inc'

module holdall
  use holdall_constants
  use holdall_core, only: holdall_error, holdall_options, holdall_dtype, holdall_version, holdall_status_name
  use holdall_callbacks, only: holdall_progress, holdall_fault, holdall_on_progress
  use holdall_arrow, only: holdall_arrow_stream
  use holdall_checks, only: holdall_identify, holdall_verify, holdall_repair
  use holdall_schunks, only: holdall_schunk
  use holdall_boxes, only: holdall_box
  use holdall_arrays, only: holdall_array
  use holdall_tables, only: holdall_table
  use holdall_bags, only: holdall_bag, holdall_bag_writer, holdall_records, holdall_bag_stream, holdall_bag_index
  implicit none
  public
end module
