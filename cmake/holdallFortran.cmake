# holdall::fortran, compiled from the source in the folder _holdall_fortran, for holdallConfig.cmake
# and for this project: a compiled module works only with the compiler that compiled it, so that the
# compiler of the using project compiles it here.
if(NOT TARGET holdall::fortran)
  add_library(holdall_fortran STATIC EXCLUDE_FROM_ALL "${_holdall_fortran}/holdall.f90")
  set_target_properties(holdall_fortran PROPERTIES
    Fortran_MODULE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/holdall_modules"
    POSITION_INDEPENDENT_CODE ON)
  target_include_directories(holdall_fortran
    PRIVATE "${_holdall_fortran}" INTERFACE "${CMAKE_CURRENT_BINARY_DIR}/holdall_modules")
  target_link_libraries(holdall_fortran PUBLIC holdall::holdall)
  add_library(holdall::fortran ALIAS holdall_fortran)
endif()
