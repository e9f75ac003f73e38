/* holdall/array.h - arrays: items of one type in N dimensions. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_ARRAY_H
#define HOLDALL_ARRAY_H

#include "base.h"
#include "container.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum number of dimensions of an array. */
#define HOLDALL_MAX_NDIM 16

/* The last index varies fastest (row-major). */
#define HOLDALL_ORDER_C 601
/* The first index varies fastest (column-major). */
#define HOLDALL_ORDER_F 602

/* An open array: items of one dtype in 0 to HOLDALL_MAX_NDIM dimensions. Indices are those of
 * the array and buffers are in C order, whatever the storage order. Values keep the byte order
 * of the dtype. Items that were never written read as the fill value, or as zeros. */
typedef struct holdall_array holdall_array;

/* Describes a new array. */
typedef struct holdall_array_spec {
    /* sizeof(holdall_array_spec). */
    size_t struct_size;
    /* As in NumPy, stored as spelled: "<f8", "|S16" (padded with NUL), "<U4" (4 UCS-4
     * characters), "<M8[ns]" (int64 since 1970, NaT is INT64_MIN), "[('a','<i4'),('b','<f8')]".
     * Without < or > little-endian. */
    const char *dtype;
    /* ndim lengths, 0 or more. Frames, and folders whose chunks have any shape, grow along any
     * dimension, others along the first one. */
    const uint64_t *shape;
    /* ndim lengths, or NULL for about HOLDALL_OPT_CHUNK_BYTES: long chunks along a dimension of
     * length 0. Frames, HOLDALL_FORMAT_BLZ_RFC: any shape. Others: chunks span all dimensions
     * but the first. */
    const uint64_t *chunk_shape;
    /* ndim lengths, or NULL for about HOLDALL_OPT_BLOCK_BYTES. Frames: longer blocks are padded.
     * Others: must be NULL. */
    const uint64_t *block_shape;
    /* HOLDALL_FORMAT_BLOSCPACK, _BCOLZ, _BLZ, _BLZ_RFC, _B2ND or _CATERVA. */
    holdall_format format;
    /* Number of dimensions. */
    uint32_t ndim;
} holdall_array_spec;

/* What is known about an array. */
typedef struct holdall_array_info {
    /* sizeof(holdall_array_info). */
    size_t struct_size;
    /* As in NumPy, spelled as at creation. */
    const char *dtype;
    /* ndim lengths. */
    const uint64_t *shape;
    /* ndim lengths of a chunk, which reads best as a whole. Bloscpack: the whole rows (of the
     * slowest dimension) in it, at least 1. */
    const uint64_t *chunk_shape;
    /* ndim lengths of a block of the first chunk (without chunks: of a chunk), the smallest unit
     * that is decoded. */
    const uint64_t *block_shape;
    /* Bytes per item; 0: Python objects, or items without bytes. */
    size_t itemsize;
    /* Bytes of all items. */
    uint64_t nbytes;
    /* Bytes on disk at the last commit; before the first, of the chunks. Folders: as the writer
     * recorded (bcolz and BLZ: estimated). */
    uint64_t stored_bytes;
    /* See base.h. Of a column: commits of its table. */
    uint64_t generation;
    /* One of HOLDALL_FORMAT_*. HOLDALL_FORMAT_B2FRAME: a frame without array metalayers. */
    holdall_format format;
    /* Number of dimensions. */
    uint32_t ndim;
    /* HOLDALL_ORDER_C or _F. The slowest dimension is the first in C order, the last in Fortran
     * order. */
    int32_t order;
    /* One of HOLDALL_CODEC_*. Bloscpack: of all chunks (_LZ4 includes LZ4HC). BLZ: of the first
     * chunk. Others: as recorded, for new chunks. */
    int32_t codec;
    /* Recorded compression level; -1: none is (Bloscpack). */
    int32_t level;
    /* One of HOLDALL_CHECKSUM_*, of the chunks. */
    int32_t checksum;
    /* Number of filters. */
    uint32_t filter_count;
    /* Number of attributes. */
    uint32_t attr_count;
    /* HOLDALL_FILTER_*, in order of application; 0: one that this library does not have.
     * Bloscpack: of the last chunk. */
    uint8_t filters[8];
    /* As HOLDALL_OPT_PRECISION, of new items; 0: exact. */
    int32_t precision;
    /* Frames: number of attributes in the header, of fixed length. They are the first ones. */
    uint32_t fixed_attr_count;
} holdall_array_info;

/* One value of any length: text (dtype "T"), which is UTF-8 without a terminating zero; bytes; a
 * list, structure or any object in MessagePack. */
typedef struct holdall_value {
    /* Its bytes; NULL: a null, whatever size is. */
    const void *data;
    /* Their number. */
    size_t size;
} holdall_value;

/* Values of any length that one call has read. */
typedef struct holdall_values holdall_values;

/* Opens an array at its last commit. mode: HOLDALL_READ, HOLDALL_APPEND. path:
 *
 * - A Bloscpack file with array metadata.
 * - A frame (file or folder): the array of the metalayer that fits the chunks, `b2nd` first.
 *   Caterva has no dtype: items are "|V8" and the like. Without metalayers: one dimension of
 *   bytes or such items, changed only at its end. holdall_schunk_open() of the path gives header
 *   version and chunk count.
 * - A folder of bcolz, BLZ or the BLZ RFC layout, or a column of one. Python objects are
 *   read-only.
 *
 * Returns:
 * - HOLDALL_E_TYPE: also an unknown dtype; with HOLDALL_OPT_SKIP_DAMAGED corrupt metadata.
 * - HOLDALL_E_FORMAT: metadata do not match the chunks (HOLDALL_OPT_SKIP_DAMAGED: a plausible
 *   missing end reads as zeros); names or links lead out of a folder.
 * - HOLDALL_E_UNSUPPORTED: too many dimensions; HOLDALL_APPEND on a read-only folder. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_open(const char *path,
                                  holdall_mode mode,
                                  const holdall_options *options,
                                  holdall_array **out,
                                  holdall_error *err);

/* Creates an array of zeros (HOLDALL_OPT_FILL_VALUE), in C order, and opens it for changes.
 * mode: HOLDALL_CREATE, HOLDALL_REPLACE. docs/choosing.md compares the formats.
 *
 * Returns:
 * - HOLDALL_E_EXISTS: see mode; or a file would replace a folder, or the reverse.
 * - HOLDALL_E_ARGUMENT: too many dimensions (folders: none); a chunk length of 0; more than 2^64
 *   bytes; chunks of 2 GiB, blocks of 512 MiB or more; a shape of chunks or blocks is also an
 *   option.
 * - HOLDALL_E_TYPE: unknown dtype.
 * - HOLDALL_E_UNSUPPORTED: Python objects; chunks, blocks, a codec or filter that the format
 *   does not have; items of 0 bytes in a frame.
 * - HOLDALL_E_LIMIT: too many chunks for a frame. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_create(const char *path,
                                    holdall_mode mode,
                                    const holdall_array_spec *spec,
                                    const holdall_options *options,
                                    holdall_array **out,
                                    holdall_error *err);

/* Closes an array. No effect on a column of a table. */
HOLDALL_API void holdall_array_close(holdall_array *array);

/* Returns the number of dimensions. */
HOLDALL_API uint32_t holdall_array_ndim(const holdall_array *array);

/* Returns the ndim lengths. */
HOLDALL_API const uint64_t *holdall_array_shape(const holdall_array *array);

/* Returns the dtype, spelled as at creation. */
HOLDALL_API const char *holdall_array_dtype(const holdall_array *array);

/* Returns the bytes per item, which may be 0. */
HOLDALL_API size_t holdall_array_itemsize(const holdall_array *array);

/* Returns the bytes of all items. */
HOLDALL_API uint64_t holdall_array_nbytes(const holdall_array *array);

/* Gets information about an array. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_get_info(const holdall_array *array,
                                      holdall_array_info *info,
                                      holdall_error *err);

/* Reads a box; start, count and step NULL: the whole array.
 *
 * - start, count, step: ndim values; along dimension d, count[d] items from start[d], step[d]
 *   apart. NULL: 0; all from start on; 1.
 * - strides: bytes between neighbors in dst along each dimension; NULL: packed. The box starts
 *   at dst; along a negative stride the first item is at the far end. Bytes between items are
 *   not written.
 *
 * Each touched chunk is decoded once, only as far as needed.
 *
 * Returns:
 * - HOLDALL_DAMAGED: corrupt chunks were read as zeros.
 * - HOLDALL_E_CHECKSUM, _FORMAT, _CODEC, _VERSION, _UNSUPPORTED: a chunk (err->position: the
 *   first) is corrupt or of an unknown kind.
 * - HOLDALL_E_MISSING: a chunk file is missing.
 * - HOLDALL_E_ARGUMENT: a step is 0.
 * - HOLDALL_E_TYPE: Python objects. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_read(const holdall_array *array,
                                  const uint64_t *start,
                                  const uint64_t *count,
                                  const uint64_t *step,
                                  void *dst,
                                  size_t dst_size,
                                  const int64_t *strides,
                                  holdall_error *err);

/* Writes a box, with the parameters of holdall_array_read(); a stride of 0 repeats an item.
 *
 * Returns:
 * - HOLDALL_E_BUFFER, _RANGE, _ARGUMENT: as for reading; nothing was written.
 * - others: part may be written: write again, or continue from the last commit. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_write(holdall_array *array,
                                   const uint64_t *start,
                                   const uint64_t *count,
                                   const uint64_t *step,
                                   const void *src,
                                   size_t src_size,
                                   const int64_t *strides,
                                   holdall_error *err);

/* Reads all combinations of counts[d] positions of each dimension d, as numpy.ix_ does.
 * positions[d]: any order, repeats allowed; NULL: the whole dimension, whatever counts[d].
 * Returns as holdall_array_read(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_read_orthogonal(const holdall_array *array,
                                             const uint64_t *const *positions,
                                             const uint64_t *counts,
                                             void *dst,
                                             size_t dst_size,
                                             holdall_error *err);

/* Writes all combinations of positions, with the parameters of holdall_array_read_orthogonal().
 * Of a repeated position the last value is stored. Returns as holdall_array_write(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_write_orthogonal(holdall_array *array,
                                              const uint64_t *const *positions,
                                              const uint64_t *counts,
                                              const void *src,
                                              size_t src_size,
                                              holdall_error *err);

/* Reads n items in any order. coordinates: n * ndim values.
 *
 * Returns:
 * - HOLDALL_E_RANGE: an item (err->position: which) is outside.
 * - others: as holdall_array_read(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_read_points(const holdall_array *array,
                                         const uint64_t *coordinates,
                                         size_t n,
                                         void *dst,
                                         size_t dst_size,
                                         holdall_error *err);

/* Appends `count` positions to dimension axis: holdall_array_insert() at its end. Along the
 * slowest dimension no items move. Returns as holdall_array_insert().
 *
 * In a frame each commit rewrites a last chunk that is not full, and leaves the old one as
 * unused space until a copy or repair. To commit step by step, give chunks the length of one
 * step along this axis (holdall_array_spec::chunk_shape). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_append(holdall_array *array,
                                    uint32_t axis,
                                    uint64_t count,
                                    const void *src,
                                    size_t src_size,
                                    holdall_error *err);

/* Inserts `count` positions into dimension axis before position start. src: the new items. After
 * an error nothing is inserted. Later items move: see docs/commits.md.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: another dimension than the first of a folder; a frame without
 *   metalayers, but at its end. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_insert(holdall_array *array,
                                    uint32_t axis,
                                    uint64_t start,
                                    uint64_t count,
                                    const void *src,
                                    size_t src_size,
                                    holdall_error *err);

/* Removes `count` positions of dimension axis from start on. After an error nothing is removed.
 * Later items move. Returns as holdall_array_insert(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_remove(holdall_array *array,
                                    uint32_t axis,
                                    uint64_t start,
                                    uint64_t count,
                                    holdall_error *err);

/* Copies the array or slice, as this handle sees it, to a new container, with other chunks,
 * codec, checksum or format. The copy appears complete or not at all. What spec and options
 * leave out is as here: see docs/choosing.md. Attributes are copied; docs/old-data.md says how
 * between formats.
 *
 * Returns:
 * - HOLDALL_DAMAGED: as holdall_schunk_copy().
 * - HOLDALL_E_ARGUMENT: another dtype or shape; path is the array's own file (an own folder can
 *   be replaced); a name exceeds a frame's 31 bytes.
 * - HOLDALL_E_UNSUPPORTED: HOLDALL_OPT_FORMAT_VERSION 1 or 2; Fortran order in a folder.
 * - others: as holdall_array_create(), holdall_array_read(), holdall_array_commit(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_copy(const holdall_array *array,
                                  const char *path,
                                  holdall_mode mode,
                                  const holdall_array_spec *spec,
                                  const holdall_options *options,
                                  holdall_error *err);

/* Divides the rows, the indices of the first dimension, into ranges that begin at chunks, as
 * holdall_bag_splits() does. bytes[i]: the share of the rows in the stored size: by chunk in
 * Bloscpack files and in frames whose index is in memory, otherwise by rows.
 *
 * Returns:
 * - HOLDALL_E_TYPE: no dimensions. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_splits(const holdall_array *array,
                                    size_t most,
                                    uint64_t *firsts,
                                    uint64_t *counts,
                                    uint64_t *bytes,
                                    size_t *n,
                                    holdall_error *err);

/* Computes a checksum (see holdall_checksum_compute()) of dtype, shape and items, however they
 * are stored: of the dtype ("<f8", as NumPy prints it), a NUL, ndim and the lengths as 8 bytes
 * each, little-endian, and the items in C order. Returns as holdall_array_read(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_checksum(const holdall_array *array,
                                      int32_t kind,
                                      void *dst,
                                      size_t dst_size,
                                      size_t *checksum_size,
                                      holdall_error *err);

/* Opens a box as a read-only array that shares the files: count[d] positions of each dimension d
 * from start[d] on, step[d] apart, which may be negative. NULL: from the first position on (step
 * negative: the last); all from start on; 1. A slice of a slice uses its positions. Attributes
 * are those of the array.
 *
 * The array can be closed first. While slices are open, it cannot be changed (HOLDALL_E_STATE),
 * and stays locked if it was opened for changes; holdall_array_refresh() leaves them at the
 * earlier commit.
 *
 * Returns:
 * - HOLDALL_E_RANGE: positions outside of the array.
 * - HOLDALL_E_ARGUMENT: a step of 0. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_slice(const holdall_array *array,
                                   const uint64_t *start,
                                   const uint64_t *count,
                                   const int64_t *step,
                                   holdall_array **out,
                                   holdall_error *err);

/* Opens the array without dimension axis, whose length must be 1, as holdall_array_slice() does.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: no such dimension, or another length. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_squeeze(const holdall_array *array,
                                     uint32_t axis,
                                     holdall_array **out,
                                     holdall_error *err);

/* Opens the array with a new dimension axis of length 1, as holdall_array_slice() does.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: axis exceeds the number of dimensions, or there would be too many. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_expand_dims(const holdall_array *array,
                                         uint32_t axis,
                                         holdall_array **out,
                                         holdall_error *err);

/* Changes the shape to ndim lengths: removes what is outside, adds the fill value. For its cost
 * see docs/commits.md. Only an I/O error may leave an uncommitted shape in between.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: more than 2^64 bytes.
 * - others: as holdall_array_insert(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_resize(holdall_array *array,
                                    const uint64_t *shape,
                                    holdall_error *err);

/* Makes all changes durable and visible, content and shape together: see base.h. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_commit(holdall_array *array,
                                    holdall_error *err);

/* Returns the generation: see base.h. */
HOLDALL_API uint64_t holdall_array_generation(const holdall_array *array);

/* Moves to the newest commit: see base.h.
 *
 * Returns:
 * - HOLDALL_E_TYPE: another dtype or number of dimensions: open again.
 * - HOLDALL_E_STATE: also a column: refresh the table. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_refresh(holdall_array *array,
                                     holdall_error *err);

/* Gets the fill value: what never written or skipped items read as (bcolz, BLZ: `dflt`). *n
 * bytes: one item, or one row if its items differ; zeros: *value is NULL, *n 0.
 *
 * Returns:
 * - HOLDALL_E_FORMAT: the stored value does not match the dtype. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_fill_value_get(const holdall_array *array,
                                            const void **value,
                                            size_t *n,
                                            holdall_error *err);

/* Sets the fill value for later growth; stored items stay. src: src_size bytes, one item or row;
 * 0 bytes: zeros. Padding of structures and NaN payloads are lost.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: Bloscpack files and frames have none; long doubles, and imaginary
 *   parts that the files cannot express.
 * - HOLDALL_E_ARGUMENT: another size, or invalid characters. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_fill_value_set(holdall_array *array,
                                            const void *src,
                                            size_t src_size,
                                            holdall_error *err);

/* Reads item i of an array with itemsize 0 and one dimension. Of Python objects (dtype "object"
 * or "O"): its pickle, not interpreted. Unpickling runs code that the writer of the file chose.
 * In CTables: texts (dtype "T") as UTF-8, bytes as they are, lists, structures and any objects
 * in MessagePack.
 *
 * Returns:
 * - HOLDALL_E_TYPE: other arrays. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_read_object(const holdall_array *array,
                                         uint64_t i,
                                         void *dst,
                                         size_t dst_size,
                                         size_t *n,
                                         holdall_error *err);

/* Reads count items from start on, as holdall_array_read_object() reads one: a column of values
 * of any length. To be freed with holdall_values_free().
 *
 * Returns:
 * - HOLDALL_E_TYPE: other arrays. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_read_values(const holdall_array *array,
                                         uint64_t start,
                                         uint64_t count,
                                         holdall_values **out,
                                         holdall_error *err);

/* Returns the values, as many as were read. Valid until they are freed. */
HOLDALL_API const holdall_value *holdall_values_items(const holdall_values *values);

/* Frees values. */
HOLDALL_API void holdall_values_free(holdall_values *values);

/* Gets the names of the further files in the folder meta of a dataset, as the BLZ RFC allows
 * them, in order, each followed by a NUL. Other formats have none. Columns of a table in the BLZ
 * RFC layout have those of the table. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_meta_file_names(const holdall_array *array,
                                             char *dst,
                                             size_t dst_size,
                                             size_t *n,
                                             holdall_error *err);

/* Reads such a file as it is now. HOLDALL_NOT_FOUND: it does not exist.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: no such file can have this name.
 * - HOLDALL_E_LIMIT: it is larger than HOLDALL_OPT_MEMORY_LIMIT. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_meta_file_read(const holdall_array *array,
                                            const char *name,
                                            void *dst,
                                            size_t dst_size,
                                            size_t *n,
                                            holdall_error *err);

/* Sets the n bytes of such a file, or removes it (NULL). The commit writes it with all other
 * changes. Copies to datasets include it.
 *
 * A name has 1 to 200 bytes, no slash and no leading dot, and is none of sizes, storage and
 * attributes.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: another name.
 * - HOLDALL_E_UNSUPPORTED: other formats. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_meta_file_write(holdall_array *array,
                                             const char *name,
                                             const void *value,
                                             size_t n,
                                             holdall_error *err);

/* Returns the number of attributes. Bloscpack: one, "", the JSON metadata. Folders: JSON as
 * Python writes it (NaN and Infinity are numbers). Frames: metalayers but `b2nd` and `caterva`,
 * any bytes (python-blosc2: MessagePack). */
HOLDALL_API uint32_t holdall_array_attr_count(const holdall_array *array);

/* Returns the name of attribute i. */
HOLDALL_API const char *holdall_array_attr_name(const holdall_array *array, uint32_t i);

/* Gets an attribute: see base.h.
 *
 * Returns:
 * - HOLDALL_E_FORMAT, _CHECKSUM, _LIMIT: the attribute file is corrupt or too large; changes
 *   fail too. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_attr_get(const holdall_array *array,
                                      const char *name,
                                      const void **value,
                                      size_t *n,
                                      holdall_error *err);

/* Sets an attribute to n bytes.
 *
 * - Bloscpack: only "", a JSON object; dtype, shape, order and container must stay, other
 *   members are free. Cannot be removed.
 * - Folders: any name, any JSON.
 * - Frames: names of 1 to 31 bytes, any bytes. New ones have variable length; those of the
 *   header are changed as by holdall_array_attr_set_fixed(), and cannot be removed.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: invalid JSON or name; metadata of another array, or removal; `b2nd`,
 *   `caterva`, or holdall.crc32, which the library maintains.
 * - HOLDALL_E_UNSUPPORTED: Bloscpack: another name; frames: removal from the header. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_attr_set(holdall_array *array,
                                      const char *name,
                                      const void *value,
                                      size_t n,
                                      holdall_error *err);

/* Sets an attribute of fixed length to n bytes: a metalayer in the header of a frame, as `meta`
 * of python-blosc2. At most 16 with those of the array. A value of the same length is changed in
 * place; a new attribute or another length makes the commit rewrite a file that has chunks: set
 * it first.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: an invalid name, or one of an attribute of variable length; too many.
 * - HOLDALL_E_UNSUPPORTED: not a frame. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_array_attr_set_fixed(holdall_array *array,
                                            const char *name,
                                            const void *value,
                                            size_t n,
                                            holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_ARRAY_H */
