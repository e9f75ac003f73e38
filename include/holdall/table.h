/* holdall/table.h - tables: named columns of equal length. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_TABLE_H
#define HOLDALL_TABLE_H

#include "base.h"
#include "container.h"
#include "options.h"
#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open table: named columns of equal length, each an array. The tool makes tables of CSV
 * files: holdall convert trips.csv trips.bcolz. */
typedef struct holdall_table holdall_table;

/* Describes a new table. */
typedef struct holdall_table_spec {
    /* sizeof(holdall_table_spec). */
    size_t struct_size;
    /* column_count names: UTF-8, unique, valid as folder names: no slash, not "", ".", ".." or a
     * file of the table. */
    const char *const *names;
    /* column_count dtypes: see holdall_array_spec; "('<f4', (3,))" gives rows of that shape; "T"
     * is text of any length, of which any may be null, only in HOLDALL_FORMAT_CTABLE. */
    const char *const *dtypes;
    /* HOLDALL_FORMAT_BCOLZ, _BLZ, _BLZ_RFC or _CTABLE. */
    holdall_format format;
    /* Number of columns, 1 or more. */
    uint32_t column_count;
} holdall_table_spec;

/* What is known about a table. */
typedef struct holdall_table_info {
    /* sizeof(holdall_table_info). */
    size_t struct_size;
    /* Number of rows. */
    uint64_t row_count;
    /* Bytes of all items. */
    uint64_t nbytes;
    /* Sum of holdall_array_info::stored_bytes of the columns. */
    uint64_t stored_bytes;
    /* See base.h. */
    uint64_t generation;
    /* HOLDALL_FORMAT_BCOLZ, _BLZ, _BLZ_RFC or _CTABLE. */
    holdall_format format;
    /* Number of columns. */
    uint32_t column_count;
    /* Number of attributes. */
    uint32_t attr_count;
    /* 0. */
    uint32_t reserved;
} holdall_table_info;

/* Opens a table, a folder of bcolz, BLZ or the BLZ RFC layout with separate fields, at its last
 * commit, or a CTable (docs/stores.md). mode: HOLDALL_READ, HOLDALL_APPEND. It is as long as its
 * shortest column; the next commit removes excess rows (holdall_table_column_row_count()).
 *
 * Returns:
 * - HOLDALL_E_BUSY: also if another writer has a column open.
 * - HOLDALL_E_MISSING, _FORMAT: a column is missing or corrupt (see the message), or its name
 *   leads out of the folder.
 * - HOLDALL_E_UNSUPPORTED: HOLDALL_APPEND, and a column has Python objects, or values that a
 *   CTable only reads. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_open(const char *path,
                                  holdall_mode mode,
                                  const holdall_options *options,
                                  holdall_table **out,
                                  holdall_error *err);

/* Creates a table without rows and opens it for changes. Options apply to all columns.
 *
 * - mode: HOLDALL_CREATE, or HOLDALL_REPLACE: the first commit replaces a table of the same
 *   layout.
 * - spec->format: see docs/choosing.md. The path of HOLDALL_FORMAT_CTABLE ends in ".b2d".
 * - Set HOLDALL_OPT_EXPECTED_ROWS: without it chunks have 16 KiB (_BLZ: 4 KiB, _CTABLE: 65,536
 *   rows).
 *
 * Returns:
 * - HOLDALL_E_EXISTS: the path exists, or a name is repeated.
 * - HOLDALL_E_ARGUMENT: no columns, or an invalid name.
 * - HOLDALL_E_TYPE: unknown dtype.
 * - HOLDALL_E_UNSUPPORTED: a dtype that the format does not have, or another format. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_create(const char *path,
                                    holdall_mode mode,
                                    const holdall_table_spec *spec,
                                    const holdall_options *options,
                                    holdall_table **out,
                                    holdall_error *err);

/* Closes a table and its columns. */
HOLDALL_API void holdall_table_close(holdall_table *table);

/* Returns the number of rows. */
HOLDALL_API uint64_t holdall_table_row_count(const holdall_table *table);

/* Returns the number of columns. */
HOLDALL_API uint32_t holdall_table_column_count(const holdall_table *table);

/* Returns the name of column i, or NULL past the last. Borrowed until the table is closed or a
 * column is added or removed. */
HOLDALL_API const char *holdall_table_column_name(const holdall_table *table, uint32_t i);

/* Returns column i as an array, or NULL past the last. Borrowed like its name. Changing it is
 * HOLDALL_E_STATE: change the table. */
HOLDALL_API
const holdall_array *holdall_table_column(const holdall_table *table,
                                          uint32_t i);

/* Returns the column of this name as holdall_table_column() does, or NULL if there is none. */
HOLDALL_API
const holdall_array *holdall_table_find_column(const holdall_table *table,
                                               const char *name);

/* Returns the rows in the files of column i at the last commit; 0 for newer columns. More than
 * the table has if a writer was interrupted between columns. */
HOLDALL_API uint64_t holdall_table_column_row_count(const holdall_table *table, uint32_t i);

/* Gets information about a table. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_get_info(const holdall_table *table,
                                      holdall_table_info *info,
                                      holdall_error *err);

/* Divides the rows as holdall_array_splits() does. The ranges begin at chunks of the column with
 * the largest stored size, and of the other columns as far as enough rows are the start of a
 * chunk in each. bytes[i]: of all columns. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_splits(const holdall_table *table,
                                    size_t most,
                                    uint64_t *firsts,
                                    uint64_t *counts,
                                    uint64_t *bytes,
                                    size_t *n,
                                    holdall_error *err);

/* Reads the rows start, start + step, ... (count of them) of some columns.
 *
 * - names: column_count names of columns; NULL: all columns, in order, and column_count must be
 *   their number.
 * - dsts[i], dst_sizes[i]: a buffer for the items of column i.
 *
 * Returns:
 * - HOLDALL_DAMAGED, others: as holdall_array_read().
 * - HOLDALL_E_ARGUMENT: step is 0. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_read_rows(const holdall_table *table,
                                       uint64_t start,
                                       uint64_t count,
                                       uint64_t step,
                                       uint32_t column_count,
                                       const char *const *names,
                                       void *const *dsts,
                                       const size_t *dst_sizes,
                                       holdall_error *err);

/* Sets nulls[i] to 1 if row start + i of a column is null, otherwise to 0, for count rows. Only
 * CTables have nulls. Reads return what is stored in such rows; Arrow has them as nulls.
 *
 * Returns:
 * - HOLDALL_NOT_FOUND: the column has no nulls; all are 0.
 * - HOLDALL_E_RANGE: as holdall_table_read_rows(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_read_nulls(const holdall_table *table,
                                        const char *column,
                                        uint64_t start,
                                        size_t count,
                                        uint8_t *nulls,
                                        holdall_error *err);

/* Reads n rows of some columns, in any order, repeats allowed. names, dsts and dst_sizes: as for
 * holdall_table_read_rows().
 *
 * Returns:
 * - HOLDALL_E_RANGE: a row (err->position: which of rows) is past the last.
 * - others: as holdall_table_read_rows(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_read_points(const holdall_table *table,
                                         const uint64_t *rows,
                                         size_t n,
                                         uint32_t column_count,
                                         const char *const *names,
                                         void *const *dsts,
                                         const size_t *dst_sizes,
                                         holdall_error *err);

/* Finds the rows from *start to end for which a predicate is true: stores at most `capacity`
 * numbers in rows, ascending. *start becomes the first row that was not tested.
 * - predicate, as in SQL: `delay > 60 and not (carrier in ('UA', 'AA') or "x y" is null)`.
 *   Tests: = <> < <= > >=, between A and B, starts_with(name, 'A'), contains(name, 'A'), a
 *   Boolean alone. Constants: numbers, nan, inf, true, 'texts', 'times' (2013-01-31T05:30:00.5).
 * - As in DuckDB, comparisons with null are neither true nor false, NaN is the greatest number,
 *   texts compare by bytes of UTF-8. For floats, constants are rounded.
 *
 * Returns:
 * - HOLDALL_DAMAGED: corrupt values were tested as zeros.
 * - HOLDALL_E_ARGUMENT: a malformed predicate (err->position: the byte); no such column.
 * - HOLDALL_E_TYPE: values that cannot be compared with this constant.
 * - HOLDALL_E_RANGE: a constant that the column cannot have; a row past the last. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_where(const holdall_table *table,
                                   const char *predicate,
                                   uint64_t *start,
                                   uint64_t end,
                                   uint64_t *rows,
                                   size_t capacity,
                                   size_t *count,
                                   holdall_error *err);

/* Opens the count rows start, start + step, ... of some columns as a read-only table that shares
 * the files. step may be negative. names, column_count: as for holdall_table_read_rows(). Rules
 * and errors as of holdall_array_slice(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_slice(const holdall_table *table,
                                   uint64_t start,
                                   uint64_t count,
                                   int64_t step,
                                   uint32_t column_count,
                                   const char *const *names,
                                   holdall_table **out,
                                   holdall_error *err);

/* Copies the table or slice, as this handle sees it, to a new table of any format: rows,
 * columns, and attributes. The copy appears complete or not at all. path, mode, format: as for
 * holdall_table_create(); docs/choosing.md has the defaults.
 *
 * Returns:
 * - HOLDALL_DAMAGED: as holdall_schunk_copy().
 * - HOLDALL_E_UNSUPPORTED: Python objects; attributes or further files in meta of columns in
 *   HOLDALL_FORMAT_BLZ_RFC, and those files of the table in other formats; a codec or filter
 *   that HOLDALL_FORMAT_BLZ does not have: set another one.
 * - others: as holdall_table_create(), holdall_table_read_rows(), holdall_table_commit(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_copy(const holdall_table *table,
                                  const char *path,
                                  holdall_mode mode,
                                  holdall_format format,
                                  const holdall_options *options,
                                  holdall_error *err);

/* Gets the names of the further files in the folder meta of a table in the BLZ RFC layout, as
 * holdall_array_meta_file_names() does. Other tables have none: their columns do. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_meta_file_names(const holdall_table *table,
                                             char *dst,
                                             size_t dst_size,
                                             size_t *n,
                                             holdall_error *err);

/* Reads such a file. Returns as holdall_array_meta_file_read(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_meta_file_read(const holdall_table *table,
                                            const char *name,
                                            void *dst,
                                            size_t dst_size,
                                            size_t *n,
                                            holdall_error *err);

/* Sets or removes such a file, as holdall_array_meta_file_write(). holdall_table_copy() to the
 * BLZ RFC layout includes it.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: other tables. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_meta_file_write(holdall_table *table,
                                             const char *name,
                                             const void *value,
                                             size_t n,
                                             holdall_error *err);

/* Returns the number of attributes of the table. Columns have their own. */
HOLDALL_API uint32_t holdall_table_attr_count(const holdall_table *table);

/* Returns the name of attribute i. */
HOLDALL_API const char *holdall_table_attr_name(const holdall_table *table, uint32_t i);

/* Gets an attribute, JSON. Returns as holdall_array_attr_get(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_attr_get(const holdall_table *table,
                                      const char *name,
                                      const void **value,
                                      size_t *n,
                                      holdall_error *err);

/* Sets an attribute to n bytes of JSON.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: invalid JSON. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_attr_set(holdall_table *table,
                                      const char *name,
                                      const void *value,
                                      size_t n,
                                      holdall_error *err);

/* Sets or removes an attribute of a column, as holdall_table_attr_set().
 * holdall_array_attr_get() reads it.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: HOLDALL_FORMAT_BLZ_RFC. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_column_attr_set(holdall_table *table,
                                             const char *column,
                                             const char *name,
                                             const void *value,
                                             size_t n,
                                             holdall_error *err);

/* Appends rows. columns[i]: `count` rows of column i, sizes[i] bytes, for every column: items,
 * or holdall_value for a column of values of any length (itemsize 0), which are copied. After an
 * error nothing is appended to any column.
 *
 * Returns:
 * - HOLDALL_E_TYPE: a null for a column without nulls, text that is not UTF-8, or MessagePack of
 *   another type (err->position: which value). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_append(holdall_table *table,
                                    uint64_t count,
                                    const void *const *columns,
                                    const size_t *sizes,
                                    holdall_error *err);

/* Inserts `count` rows before row start: columns, sizes as for holdall_table_append(). Later
 * rows move: see docs/commits.md. After an error nothing is inserted.
 *
 * Returns:
 * - HOLDALL_E_RANGE: start is past the end.
 * - HOLDALL_E_UNSUPPORTED: a column of Python objects.
 * - others: if only some columns could be changed, all further changes return HOLDALL_E_STATE. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_insert(holdall_table *table,
                                    uint64_t start,
                                    uint64_t count,
                                    const void *const *columns,
                                    const size_t *sizes,
                                    holdall_error *err);

/* Removes `count` rows from row start on. Later rows move. After an error nothing is removed.
 * Returns as holdall_table_insert(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_remove(holdall_table *table,
                                    uint64_t start,
                                    uint64_t count,
                                    holdall_error *err);

/* Overwrites `count` rows of a column from row start on, given as for holdall_table_append().
 * Returns as holdall_array_write() and holdall_table_append(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_write(holdall_table *table,
                                   const char *column,
                                   uint64_t start,
                                   uint64_t count,
                                   const void *src,
                                   size_t src_size,
                                   holdall_error *err);

/* Inserts a column before column `at`; the number of columns appends it. name, dtype: see
 * holdall_table_spec. src: an item (or row, or holdall_value) per row of the table, or NULL for
 * the fill value in each row; holdall_table_write() then writes in parts. Options are those of
 * opening; codec, level and checksum default to the first column's. After an error nothing is
 * changed.
 *
 * Returns:
 * - HOLDALL_E_EXISTS: the name exists.
 * - HOLDALL_E_ARGUMENT: an invalid name.
 * - HOLDALL_E_TYPE: unknown dtype.
 * - HOLDALL_E_UNSUPPORTED: Python objects. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_column_add(holdall_table *table,
                                        uint32_t at,
                                        const char *name,
                                        const char *dtype,
                                        const void *src,
                                        size_t src_size,
                                        holdall_error *err);

/* Removes a column. The commit removes its files; their readers then get HOLDALL_E_MISSING.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: the only column. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_column_remove(holdall_table *table,
                                           const char *name,
                                           holdall_error *err);

/* Adds indexes to columns of a CTable: the minimum and maximum of each block, by which tables
 * that are opened for reading skip blocks in conditions. Commits store and maintain them. names
 * NULL: all columns of Booleans, integers, floats or times, one for each row.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: another table or column. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_index_build(holdall_table *table,
                                         uint32_t column_count,
                                         const char *const *names,
                                         holdall_error *err);

/* Removes all but the first row_count rows. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_truncate(holdall_table *table,
                                      uint64_t row_count,
                                      holdall_error *err);

/* Makes all changes durable and visible, all or none: rows, columns, attributes. See base.h.
 *
 * Returns:
 * - HOLDALL_E_STATE: also if a writer without the lock changed the table since it was opened. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_commit(holdall_table *table,
                                    holdall_error *err);

/* Returns the generation: see base.h. */
HOLDALL_API uint64_t holdall_table_generation(const holdall_table *table);

/* Moves to the newest commit: see base.h. Columns may be others: get them again. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_table_refresh(holdall_table *table,
                                     holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_TABLE_H */
