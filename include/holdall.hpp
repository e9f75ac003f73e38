// holdall.hpp - holdall.h for C++17 and later: the same functions, with owners, exceptions, types and ranges.
//
//     holdall::bag bag("weather@*.bagz");                           // closed where its scope ends
//     for (auto record : bag) std::cout << record.text() << '\n';   // read ahead, in parallel
//
//     holdall::array cube("cube.b2nd");
//     std::vector<double> part = cube.read<double>({{10, 20}, holdall::all, 5});
//
// The manual of what a call does, and of how it can fail, is holdall.h: holdall::array::resize() is
// holdall_array_resize(). Here is what C++ adds; the parts of it have a file each in holdall/.
//
// RULES, the same for every function:
//  - A failure is an exception, holdall::error, with the fields of holdall_error. Memory that cannot be had is
//    std::bad_alloc, or an error with HOLDALL_E_MEMORY where the library found out.
//  - What is > 0 and no failure comes back: there is none (a key, an attribute, the end) as std::nullopt or false;
//    damage that options::skip_damaged() let pass as false from read_into(), or in the bool that read() is given.
//  - Handles can be moved, not copied; they close themselves, and what was not committed is then gone. get() lends the
//    handle to functions of holdall.h, release() gives it away. One that was moved from takes no call but
//    assignment and destruction: others are HOLDALL_E_ARGUMENT, or 0.
//  - const functions may be called from many threads at once on one handle, others by one thread at a time.
//  - What callers' functions throw does not cross the C library: it is kept, the call is stopped, and throws it again;
//    only storage (class storage) has errno's instead.
//  - bytes are bytes to be read, from any string, vector, array or span of plain values; span<T> is a buffer of
//    the caller's, and turns into std::span and back. Neither owns anything; nor do views of records.
//  - Read and written are values of the array's own type: read<double>() of floats is HOLDALL_E_TYPE, and so is another
//    byte order. std::byte, char and structures take any items of their size: their meaning is the caller's.
//  - It costs what the same calls cost in C. A new std::vector is zeros before it is read into: read_into() a
//    buffer that is there where that counts.
//
// Nothing is to be linked but the C library. One program may be of C++17 and C++20 objects: all types are the same.
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
#include "holdall/schunk.hpp"
#include "holdall/storage.hpp"
#include "holdall/stream.hpp"
#include "holdall/table.hpp"

#endif
