/* holdall/arrow.h - Arrow: export and import of tables and bags. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_ARROW_H
#define HOLDALL_ARROW_H

#include "base.h"
#include "container.h"
#include "options.h"
#include "table.h"
#include "bag.h"

#ifdef __cplusplus
extern "C" {
#endif

/* https://arrow.apache.org/docs/format/CDataInterface.html */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/* A type. */
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

/* A batch. */
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

/* https://arrow.apache.org/docs/format/CStreamInterface.html */
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
/* A stream of batches. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* Exports count rows from start on as an Arrow stream with one field per column: "<i8" is l,
 * "<f8" g, "|b1" b, "|S5" and "<U5" u, "<M8[ms]" tsm:, rows of N items +w:N; others:
 * docs/languages.md. batch: rows per batch (fewer over 2 GiB of text); 0: about 16 MB.
 *
 * The stream is a handle of its own, for any one thread at a time, and may outlive the table.
 * Until its release, changing the table is HOLDALL_E_STATE, and a table opened for writing stays
 * locked. Its functions return errno values; get_last_error() names column, row and reason. If
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

/* Exports only these columns, as holdall_table_to_arrow(). names, column_count: as for
 * holdall_table_read_rows(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_columns_to_arrow(const holdall_table *table,
                                              uint64_t start,
                                              uint64_t count,
                                              uint32_t column_count,
                                              const char *const *names,
                                              uint64_t batch,
                                              struct ArrowArrayStream *out,
                                              holdall_error *err);

/* Exports those of count rows from start on for which a predicate is true, at most limit
 * (UINT64_MAX: all), in their order, as holdall_table_columns_to_arrow(). predicate: as for
 * holdall_table_where(); NULL: true for all. Columns that are compared are read first, and
 * others only where rows pass; with a predicate a batch may have fewer rows than requested.
 * names NULL: all columns, of which column_count is the number.
 *
 * Returns:
 * - others: as holdall_table_where(), but not HOLDALL_DAMAGED, and holdall_table_to_arrow(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_scan(const holdall_table *table,
                                  const char *predicate,
                                  uint64_t start,
                                  uint64_t count,
                                  uint64_t limit,
                                  uint32_t column_count,
                                  const char *const *names,
                                  uint64_t batch,
                                  struct ArrowArrayStream *out,
                                  holdall_error *err);

/* Exports the row_count rows with these numbers, in this order and with repetitions, as
 * holdall_table_columns_to_arrow(). rows is copied.
 *
 * Returns:
 * - HOLDALL_E_RANGE: there is no such row (err->position: its position in rows). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_points_to_arrow(const holdall_table *table,
                                             const uint64_t *rows,
                                             size_t row_count,
                                             uint32_t column_count,
                                             const char *const *names,
                                             uint64_t batch,
                                             struct ArrowArrayStream *out,
                                             holdall_error *err);

/* Appends the rows of an Arrow stream, which is always taken over, and released when read. Its
 * fields must be all columns of the table, by name, in any order. Every value must convert
 * exactly; docs/languages.md lists the conversions. A null becomes NaN or NaT. After an error
 * nothing is appended.
 *
 * Returns:
 * - HOLDALL_E_TYPE: columns or a value, also another null (err->position: the row) do not fit.
 * - HOLDALL_E_ARGUMENT: inconsistent offsets, lengths, counts; missing buffers.
 * - HOLDALL_E_CALLBACK: the stream failed, with its message.
 * - HOLDALL_E_STATE: a stream of this table is not released. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_append_arrow(holdall_table *table,
                                          struct ArrowArrayStream *stream,
                                          holdall_error *err);

/* Creates a table with the columns and rows of an Arrow stream, which is always taken over,
 * commits it, and opens it for changes. A CTable keeps the types of the fields: numbers,
 * Booleans, timestamps and rows of them; text, dictionaries of text, bytes, lists and
 * structures; and nulls. Other formats have no values of any length, and no nulls. path, mode,
 * format: as for holdall_table_create().
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: the format has no column for a field.
 * - others: as holdall_table_create(), holdall_table_append_arrow(), holdall_table_commit(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_from_arrow(const char *path,
                                        holdall_mode mode,
                                        holdall_format format,
                                        struct ArrowArrayStream *stream,
                                        const holdall_options *options,
                                        holdall_table **out,
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
