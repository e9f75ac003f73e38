! holdall.f90 - holdall.h for Fortran 2018: superchunks, arrays, tables and bags.
!
!     use holdall
!     type(holdall_array) :: a
!     real :: plane(360, 180)
!     call a%open('temperature.b2nd')
!     call a%read(plane, holdall_box([1, 1, 42], [360, 180, 1]))
!
! holdall.h documents what a call does and how it can fail: call a%resize(...) is
! holdall_array_resize(). The files included below list the arguments of each procedure; each file
! begins with its types. This comment describes what is specific to Fortran.
!
! RULES, the same for every procedure:
!  - Dimensions are in Fortran order: the first index varies fastest. An array that is (180, 360)
!    in C and Python has the shape [360, 180] here. So a Fortran array has the memory layout of the
!    container, and no data is transposed or copied. Messages of errors use the dimension numbers
!    of C: 0 is the last dimension here.
!  - Positions, records and columns count from 1. In holdall_error, position and message count from
!    0, as the tool does. Numbers of records, rows and bytes are integer(int64), such as 1_int64.
!    Boxes, and shapes of new arrays, are integer(int64) or default integer.
!  - err, the last argument, is optional. Without it a failure stops the program with its message.
!    With it, err%status is HOLDALL_OK, less than 0 for a failure, or greater than 0 where holdall.h
!    documents it: HOLDALL_NOT_FOUND, HOLDALL_END, or HOLDALL_DAMAGED for corrupt data that was
!    skipped. Without err, skipped data is not reported.
!  - Handles (type(holdall_array) and so on) close themselves at the end of their scope.
!    Uncommitted changes are then discarded. Variables of the main program are not finalized: call
!    %close(). A second open closes the first handle. Handles must not be copied by assignment.
!  - Procedures whose handle is intent(in) may run in several threads at once on one handle. All
!    others, among them %refresh(), need a handle that no other thread uses at that time.
!  - call a%refresh() moves a handle that was opened with HOLDALL_READ to the newest commit; any
!    other handle is HOLDALL_E_STATE. Shape, dtype and attributes are then those of the new commit.
!    After an error the handle is unchanged. a%generation() counts commits through the handle, and
!    refreshes that may have found a newer commit.
!  - Numbers are integer(int8, int16, int32, int64), real(real32, real64), complex of both and
!    logical(c_bool), in scalars, arrays of any rank, and sections with strides, x(1:9:2, :). They
!    are not copied, except sections with gaps by append, insert and put.
!  - Numbers must have the type of the array: reals from integers are HOLDALL_E_TYPE, and so are
!    another byte order, and unsigned integers, which Fortran does not have. bits=.true. accepts any
!    items of the same size. Text, of dtype S, is character(n); tables also put and write it to
!    columns of dtype T, without trailing blanks.
!  - call holdall_options_set_progress(o, p) sets p as the progress callback of options o.
!    holdall_verify() has an argument for a procedure that is called for each fault.
!  - call s%from_memory(bytes) and call o%set_storage([s]) open a container in memory:
!    call a%open('', options=o).
!  - call a%get_info(info) fills a type(holdall_array_info), and so on: the structures of holdall.h
!    without struct_size, with text, allocatable arrays and logicals.
!  - type(holdall_arrow_stream) is Arrow's struct ArrowArrayStream: t%to_arrow(s),
!    t%append_arrow(s). s%address() returns its address.
!  - Trailing blanks of names and paths are removed. Records and attributes keep all characters.
!
! Compile this file with the compiler of the program, as the CMake target holdall::fortran does. In
! other build systems, compile the following file, which includes the others:
! $(pkg-config --variable=fortran holdall)/holdall.f90
include 'holdall_c.inc'
include 'holdall_core.inc'
include 'holdall_callbacks.inc'
include 'holdall_checks.inc'
include 'holdall_arrow.inc'
include 'holdall_schunk.inc'
include 'holdall_schunk_stream.inc'
include 'holdall_box.inc'
include 'holdall_array.inc'
include 'holdall_table.inc'
include 'holdall_bag.inc'
include 'holdall_part.inc'
include 'holdall_store.inc'

module holdall
  use holdall_constants
  use holdall_core, only: holdall_error, holdall_options, holdall_storage, holdall_dtype, &
      holdall_version, holdall_status_name, &
      holdall_constant_name
  use holdall_callbacks, only: holdall_progress, holdall_fault, holdall_options_set_progress
  use holdall_arrow, only: holdall_arrow_stream
  use holdall_checks, only: holdall_identify, holdall_verify, holdall_repair
  use holdall_schunks, only: holdall_schunk, holdall_schunk_info, holdall_chunk_info
  use holdall_schunk_streams, only: holdall_schunk_stream
  use holdall_boxes, only: holdall_box
  use holdall_arrays, only: holdall_array, holdall_array_info
  use holdall_tables, only: holdall_table, holdall_table_info
  use holdall_bags, only: holdall_bag, holdall_bag_info, holdall_bag_writer, holdall_records, &
      holdall_bag_stream, holdall_bag_index, holdall_train_dictionary
  use holdall_parts, only: holdall_part, holdall_parts_commit, holdall_parts_discard, &
      holdall_parts_list
  use holdall_stores, only: holdall_store
  implicit none
  public
end module
