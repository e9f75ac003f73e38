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
 *     holdall/base.h           rules for every function, statuses, errors
 *     holdall/container.h      formats and modes; identify, verify, repair
 *     holdall/options.h        options, which every open takes; NULL stands for the defaults
 *     holdall/array.h          arrays: items of one type in N dimensions
 *     holdall/table.h          tables: named columns of equal length
 *     holdall/schunk.h         superchunks: a byte sequence in compressed chunks
 *     holdall/schunk_stream.h  superchunks that are written from front to back
 *     holdall/bag.h            bags: records of any length
 *     holdall/bag_stream.h     streams with read-ahead; shuffled epochs; batches
 *     holdall/bag_index.h      indexes of bags: from keys to record numbers
 *     holdall/store.h          stores of python-blosc2: trees of arrays and superchunks
 *     holdall/arrow.h          Arrow: export and import of tables and bags
 *     holdall/part.h           parts: many processes write one container, with one commit
 *     holdall/checksum.h       checksums of bytes
 *     holdall/storage.h        storage: memory or functions in place of local files
 *
 * Guides are in docs/; start with docs/first-program.md.
 */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_H
#define HOLDALL_H

/* ---- The version of this header; holdall_version_number() returns that of the library. ---- */
#define HOLDALL_VERSION_MAJOR 0
#define HOLDALL_VERSION_MINOR 2
#define HOLDALL_VERSION_PATCH 0
/* major * 1000000 + minor * 1000 + patch */
#define HOLDALL_VERSION_NUMBER 2000

#include "holdall/base.h"
#include "holdall/container.h"
#include "holdall/options.h"
#include "holdall/array.h"
#include "holdall/table.h"
#include "holdall/schunk.h"
#include "holdall/schunk_stream.h"
#include "holdall/bag.h"
#include "holdall/bag_stream.h"
#include "holdall/bag_index.h"
#include "holdall/store.h"
#include "holdall/arrow.h"
#include "holdall/part.h"
#include "holdall/checksum.h"
#include "holdall/storage.h"

#endif /* HOLDALL_H */
