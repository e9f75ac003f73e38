// holdall.hpp - holdall.h for C++17 and later: the same functions, with owning handles,
// exceptions, types and ranges.
//
//     holdall::bag bag("weather@*.bagz");                           // closed at the end of its scope
//     for (auto record : bag) std::cout << record.text() << '\n';   // reads ahead, in parallel
//
//     holdall::array cube("cube.b2nd");
//     std::vector<double> part = cube.read<double>({{10, 20}, holdall::all, 5});
//
// holdall.h is the manual of each call and its errors: holdall::array::resize() is
// holdall_array_resize(). This page describes the additions of C++. The classes are in one file per
// topic in holdall/.
//
// RULES, the same for every function:
//  - A failure is an exception, holdall::error, with the fields of holdall_error. A failed
//    allocation is std::bad_alloc, or an error with HOLDALL_E_MEMORY if it fails in the library.
//  - Statuses above 0, which are not failures, are results. HOLDALL_NOT_FOUND and HOLDALL_END are
//    std::nullopt. HOLDALL_DAMAGED, which only options::skip_damaged() permits, is false from
//    read_into() and copy(), and false in the bool that is passed to read().
//  - info() returns the structure of holdall.h. Its numbers convert to the types of C++:
//    codec{cube.info().codec} == codec::zstd.
//  - Storage replaces a path: bag("", options().storage(storage::from_memory(content))).
//  - Handles can be moved, not copied. They close themselves, and uncommitted changes are then
//    discarded. get() returns the handle for functions of holdall.h, and release() transfers its
//    ownership. A moved-from handle may only be assigned to or destroyed: other calls are
//    HOLDALL_E_ARGUMENT, or return 0.
//  - const functions may be called from many threads at once on one handle, others by one thread at
//    a time. refresh(), which moves a handle for reading to the newest commit, is not const.
//  - An exception from a caller's function does not cross the C library: it is stored, the call is
//    cancelled, and the exception is thrown again by the call. Only storage (class storage) reports
//    an errno instead.
//  - bytes are read-only bytes of any string, vector, array or span of trivially copyable values.
//    span<T> is a buffer of the caller, and converts to and from std::span. Neither owns memory;
//    nor do views of records.
//  - Values have the type of the array: read<double>() of floats is HOLDALL_E_TYPE, and so is
//    another byte order. std::byte, char and structures match any items of their size: the caller
//    defines their meaning.
//  - The cost is that of the same calls in C. A new std::vector is zeroed before it is filled: call
//    read_into() with an existing buffer to avoid this.
//
// Link only the C library. One program may combine C++17 and C++20 objects: all types are the same.
#ifndef HOLDALL_HPP
#define HOLDALL_HPP

#include "holdall/array.hpp"
#include "holdall/arrow.hpp"
#include "holdall/bag.hpp"
#include "holdall/checks.hpp"
#include "holdall/core.hpp"
#include "holdall/index.hpp"
#include "holdall/items.hpp"
#include "holdall/options.hpp"
#include "holdall/part.hpp"
#include "holdall/schunk.hpp"
#include "holdall/storage.hpp"
#include "holdall/store.hpp"
#include "holdall/stream.hpp"
#include "holdall/table.hpp"

#endif
