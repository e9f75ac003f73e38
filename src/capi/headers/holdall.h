/* holdall.h - reads and writes Bloscpack files, bcolz and BLZ folders, Blosc2 frames with b2nd and
 * Caterva arrays, and Bagz files.
 *
 * Programs may be C99 or later, or C++11 or later. Link with find_package(holdall) and
 * holdall::holdall, or with pkg-config holdall.
 *
 * Programs for arrays and bags need twelve functions:
 *
 *     holdall_array_open(), holdall_array_read(), holdall_array_close()
 *     holdall_array_create(), holdall_array_write(), holdall_array_commit()
 *     holdall_bag_open(), holdall_bag_read(), holdall_bag_close()
 *     holdall_bag_writer_open(), holdall_bag_writer_append(), holdall_bag_writer_commit()
 *
 * Each chapter can be included alone:
 *
@CHAPTERS@
 *
 * Guides are in docs/; start with docs/first-program.md.
 */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_H
#define HOLDALL_H

/* ---- The version of this header; holdall_version_number() returns that of the library. ---- */
#define HOLDALL_VERSION_MAJOR @MAJOR@
#define HOLDALL_VERSION_MINOR @MINOR@
#define HOLDALL_VERSION_PATCH @PATCH@
/* major * 1000000 + minor * 1000 + patch */
#define HOLDALL_VERSION_NUMBER @NUMBER@

@INCLUDES@

#endif /* HOLDALL_H */
