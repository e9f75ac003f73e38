/* holdall/arrow.h - Arrow: export and import of tables and bags. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_ARROW_H
#define HOLDALL_ARROW_H

#include "base.h"
#include "table.h"
#include "bag.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arrow's C stream interface. Programs that use it define its structures. */
struct ArrowArrayStream;

/* Exports count rows from start on as an Arrow stream
 * (https://arrow.apache.org/docs/format/CStreamInterface.html) with one field per column; types
 * as in docs/languages.md. batch: rows per batch (fewer over 2 GiB of text); 0: about 16 MB in
 * whole chunks of the first column.
 *
 * The stream is a handle of its own, for any one thread at a time, and may outlive the table. It
 * sees the current rows. Until its release, changing the table is HOLDALL_E_STATE, and a table
 * opened for writing stays locked. Its functions return errno values; get_last_error() names
 * column, row and reason. Values skipped by HOLDALL_OPT_SKIP_DAMAGED are zeros, not reported. If
 * the call fails, *out is a released stream.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: a column without an Arrow type. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_to_arrow(const holdall_table *table,
                                      uint64_t start,
                                      uint64_t count,
                                      uint64_t batch,
                                      struct ArrowArrayStream *out,
                                      holdall_error *err);

/* Appends the rows of an Arrow stream, which is always taken over, and released when read. Its
 * fields must be all columns of the table, by name, in any order. Every value must convert
 * exactly; docs/languages.md lists the conversions. After an error nothing is appended.
 *
 * Returns:
 * - HOLDALL_E_TYPE: columns or a value (err->position: the row) do not fit; the message names
 *   column and row.
 * - HOLDALL_E_ARGUMENT: inconsistent offsets, lengths, counts; missing buffers.
 * - HOLDALL_E_CALLBACK: the stream failed, with its message.
 * - HOLDALL_E_STATE: a stream of this table is not released. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_append_arrow(holdall_table *table,
                                          struct ArrowArrayStream *stream,
                                          holdall_error *err);

/* Exports count records from start on as an Arrow stream with one binary field, "record"; see
 * holdall_table_to_arrow(). batch: records per batch (fewer over 2 GiB); 0: about 16 MB. A
 * corrupt record ends the stream with an error that names it, or is null with
 * HOLDALL_OPT_SKIP_DAMAGED. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_to_arrow(const holdall_bag *bag,
                                    uint64_t start,
                                    uint64_t count,
                                    uint64_t batch,
                                    struct ArrowArrayStream *out,
                                    holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_ARROW_H */
