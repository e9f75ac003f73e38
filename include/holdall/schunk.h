/* holdall/schunk.h - superchunks: a byte sequence in compressed chunks. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_SCHUNK_H
#define HOLDALL_SCHUNK_H

#include "base.h"
#include "container.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open superchunk: a sequence of bytes, the content, in compressed chunks numbered from 0. */
typedef struct holdall_schunk holdall_schunk;

/* What is known about a superchunk. */
typedef struct holdall_schunk_info {
    /* sizeof(holdall_schunk_info). */
    size_t struct_size;
    /* HOLDALL_FORMAT_BLOSCPACK or HOLDALL_FORMAT_B2FRAME, also for a frame that is an array. */
    int32_t format;
    /* Version of the header. Frames: 2 or 3. Bloscpack: 0 (unversioned), 1, 2, 3, or 103 (BLZ
     * RFC layout with metadata). */
    int32_t version;
    /* Bytes per item; in Bloscpack 1 for items of more than 255 bytes. */
    size_t typesize;
    /* Bytes of content per chunk; the last chunk and inserted ones may differ. 0: a frame with
     * chunks of any length. */
    uint64_t chunk_size;
    /* Number of chunks. */
    uint64_t chunk_count;
    /* Bytes of content. */
    uint64_t nbytes;
    /* As in holdall_array_info. */
    uint64_t stored_bytes;
    /* As in holdall_array_info. */
    int32_t codec;
    /* As in holdall_array_info. */
    int32_t level;
    /* As in holdall_array_info. */
    int32_t checksum;
    /* 1: a frame in a folder, with one file per chunk. Otherwise 0. */
    int32_t is_sparse;
    /* Number of filters. */
    uint32_t filter_count;
    /* As in holdall_array_info. */
    uint8_t filters[8];
    /* Number of attributes. */
    uint32_t attr_count;
    /* See base.h. */
    uint64_t generation;
    /* As in holdall_array_info. */
    int32_t precision;
    /* As in holdall_array_info. */
    uint32_t fixed_attr_count;
} holdall_schunk_info;

/* What is known about a chunk. */
typedef struct holdall_chunk_info {
    /* sizeof(holdall_chunk_info). */
    size_t struct_size;
    /* Bytes of content. */
    size_t nbytes;
    /* Bytes as stored, without the checksum; 0: pending, or one value that a frame stores in its
     * index. */
    size_t stored_bytes;
    /* One of HOLDALL_CODEC_*: _NONE (not compressed, or one value), _LZ4 (also LZ4HC), _MIXED
     * (unknown). Of a pending chunk: the codec to be used. */
    int32_t codec;
    /* 1: not encoded yet; the commit does it at the latest. Otherwise 0. */
    int32_t is_pending;
} holdall_chunk_info;

/* Opens a superchunk at its last commit. mode: HOLDALL_READ, HOLDALL_APPEND. path: a Bloscpack
 * file of any version, a Blosc2 frame, or the folder of one.
 *
 * New Bloscpack chunks have codec and filters of the last one, unless the options set them. A
 * frame that is an array no longer opens as one after a change to its content here.
 *
 * Returns:
 * - HOLDALL_E_MISSING: also if a folder has only an uncommitted frame.
 * - HOLDALL_E_FORMAT: also missing or misplaced chunks (err->position: the first): see
 *   HOLDALL_OPT_SKIP_DAMAGED and holdall_repair().
 * - HOLDALL_E_UNSUPPORTED: HOLDALL_APPEND to an unversioned Bloscpack file. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_open(const char *path,
                                   holdall_mode mode,
                                   const holdall_options *options,
                                   holdall_schunk **out,
                                   holdall_error *err);

/* Creates a superchunk and opens it for changes.
 * - mode: HOLDALL_CREATE, or HOLDALL_REPLACE (no file by a folder, nor the reverse).
 * - format: HOLDALL_FORMAT_BLOSCPACK, HOLDALL_FORMAT_B2FRAME.
 * - typesize: bytes per item, at least 1, for filters. Content need not be whole items.
 *
 * Returns:
 * - HOLDALL_E_EXISTS: see mode.
 * - HOLDALL_E_UNSUPPORTED: the options cannot be combined. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_create(const char *path,
                                     holdall_mode mode,
                                     holdall_format format,
                                     size_t typesize,
                                     const holdall_options *options,
                                     holdall_schunk **out,
                                     holdall_error *err);

/* Closes a superchunk. */
HOLDALL_API void holdall_schunk_close(holdall_schunk *schunk);

/* Returns the number of chunks. Committed Bloscpack files without content have one, which is
 * empty. */
HOLDALL_API uint64_t holdall_schunk_chunk_count(const holdall_schunk *schunk);

/* Returns the bytes of content. */
HOLDALL_API uint64_t holdall_schunk_nbytes(const holdall_schunk *schunk);

/* Gets information about a superchunk. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_get_info(const holdall_schunk *schunk,
                                       holdall_schunk_info *info,
                                       holdall_error *err);

/* Gets information about a chunk without decoding it. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_get_chunk_info(const holdall_schunk *schunk,
                                             uint64_t chunk,
                                             holdall_chunk_info *info,
                                             holdall_error *err);

/* Reads dst_size bytes of content at offset start into dst. Returns as holdall_array_read(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_read(const holdall_schunk *schunk,
                                   uint64_t start,
                                   void *dst,
                                   size_t dst_size,
                                   holdall_error *err);

/* Reads the content of a chunk into dst; *n is its size in bytes. Returns as
 * holdall_schunk_read(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_read_chunk(const holdall_schunk *schunk,
                                         uint64_t chunk,
                                         void *dst,
                                         size_t dst_size,
                                         size_t *n,
                                         holdall_error *err);

/* Gets where the blocks of a chunk begin in its content: block i has the bytes offsets[i] to
 * offsets[i+1]. offsets: room for `capacity` numbers, or NULL to get only *count, the number of
 * blocks.
 *
 * Returns:
 * - HOLDALL_E_BUFFER: `capacity` is less than *count + 1.
 * - HOLDALL_E_CHECKSUM, _FORMAT: as holdall_schunk_read_raw(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_block_offsets(const holdall_schunk *schunk,
                                            uint64_t chunk,
                                            uint64_t *offsets,
                                            size_t capacity,
                                            size_t *count,
                                            holdall_error *err);

/* Reads one block of a chunk, *n bytes. Returns as holdall_schunk_read_raw(), or HOLDALL_DAMAGED
 * for corruption elsewhere. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_read_block(const holdall_schunk *schunk,
                                         uint64_t chunk,
                                         size_t block,
                                         void *dst,
                                         size_t dst_size,
                                         size_t *n,
                                         holdall_error *err);

/* Reads a chunk as stored, *n bytes, after verifying its checksum, which is not included.
 *
 * Returns:
 * - HOLDALL_E_CHECKSUM, _FORMAT: it is corrupt, also with HOLDALL_OPT_SKIP_DAMAGED. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_read_raw(const holdall_schunk *schunk,
                                       uint64_t chunk,
                                       void *dst,
                                       size_t dst_size,
                                       size_t *n,
                                       holdall_error *err);

/* Computes a checksum of all content, as holdall_checksum_compute() does of a buffer. Array
 * items are in stored order (holdall_array_info::order). Returns as holdall_schunk_read(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_checksum(const holdall_schunk *schunk,
                                       int32_t kind,
                                       void *dst,
                                       size_t dst_size,
                                       size_t *checksum_size,
                                       holdall_error *err);

/* Appends src_size bytes of content; fills up the last chunk first, unless chunks have any
 * length. After a failure holdall_schunk_nbytes() includes what was appended. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_append(holdall_schunk *schunk,
                                     const void *src,
                                     size_t src_size,
                                     holdall_error *err);

/* Appends one encoded chunk of src_size bytes without checksum, unchanged. Decodes it once to
 * verify it.
 *
 * Returns:
 * - HOLDALL_E_FORMAT: not one complete chunk.
 * - HOLDALL_E_CODEC: a codec or filter that this library does not have.
 * - HOLDALL_E_UNSUPPORTED: a Blosc2 chunk for Bloscpack, or a Blosc1 chunk for a frame.
 * - HOLDALL_E_STATE, _UNSUPPORTED: blocks of any length beside those of one length, or the
 *   reverse. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_append_raw(holdall_schunk *schunk,
                                         const void *src,
                                         size_t src_size,
                                         holdall_error *err);

/* Overwrites src_size bytes of content at offset start. After a failure some may be written. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_write(holdall_schunk *schunk,
                                    uint64_t start,
                                    const void *src,
                                    size_t src_size,
                                    holdall_error *err);

/* Inserts src_size bytes of content as one chunk before chunk, or at the end if chunk is the
 * number of chunks. Another length than that of the others gives a frame variable chunk lengths
 * (readable from c-blosc2 3 on).
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: src_size is 0 (frames), or 2 GiB or more. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_insert(holdall_schunk *schunk,
                                     uint64_t chunk,
                                     const void *src,
                                     size_t src_size,
                                     holdall_error *err);

/* Inserts one chunk of `count` blocks before chunk, or at the end. Block i is data[offsets[i]]
 * to data[offsets[i+1]], not empty and without filters. An empty frame gets blocks of any
 * length, as BatchArray of python-blosc2 (whose attribute with lengths stays as it is): then
 * holdall_schunk_insert() and _append() add a chunk of one block, _write() and _truncate()
 * retain blocks.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: no block; an empty one; offsets do not ascend; 2 GiB or more.
 * - HOLDALL_E_STATE: there are blocks of one length.
 * - HOLDALL_E_UNSUPPORTED: a Bloscpack file. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_insert_blocks(holdall_schunk *schunk,
                                            uint64_t chunk,
                                            const void *data,
                                            const uint64_t *offsets,
                                            size_t count,
                                            holdall_error *err);

/* Removes a chunk with its content and shifts the following chunks down by one. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_remove(holdall_schunk *schunk,
                                     uint64_t chunk,
                                     holdall_error *err);

/* Truncates the content to nbytes bytes. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_truncate(holdall_schunk *schunk,
                                       uint64_t nbytes,
                                       holdall_error *err);

/* Returns the number of attributes, including corrupt ones. Bloscpack: the JSON metadata, named
 * "", if any. Frames: the metalayers of the header, then those of variable length. */
HOLDALL_API uint32_t holdall_schunk_attr_count(const holdall_schunk *schunk);

/* Returns the name of attribute i. */
HOLDALL_API const char *holdall_schunk_attr_name(const holdall_schunk *schunk, uint32_t i);

/* Gets an attribute: see base.h.
 *
 * Returns:
 * - HOLDALL_DAMAGED: it is corrupt; *value is NULL, *n is 0.
 * - HOLDALL_E_CHECKSUM, _FORMAT: it is corrupt. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_attr_get(const holdall_schunk *schunk,
                                       const char *name,
                                       const void **value,
                                       size_t *n,
                                       holdall_error *err);

/* Sets an attribute to n bytes.
 * - Bloscpack: name "" and JSON only; none in versions 1 and 2.
 * - Frames: as holdall_array_attr_set().
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: the format does not allow it, as above.
 * - HOLDALL_E_ARGUMENT: not JSON (Bloscpack); an invalid name. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_attr_set(holdall_schunk *schunk,
                                       const char *name,
                                       const void *value,
                                       size_t n,
                                       holdall_error *err);

/* Sets an attribute of fixed length to n bytes: as holdall_array_attr_set_fixed(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_attr_set_fixed(holdall_schunk *schunk,
                                             const char *name,
                                             const void *value,
                                             size_t n,
                                             holdall_error *err);

/* Makes all changes durable and visible, atomically: see base.h. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_commit(holdall_schunk *schunk,
                                     holdall_error *err);

/* Copies content and attributes, as this handle sees them, to a new superchunk of another codec,
 * chunk size, version or format (between formats: content only). The copy is complete or absent.
 * path, mode, format and options: as for holdall_schunk_create(); docs/choosing.md has the
 * defaults.
 *
 * Returns:
 * - HOLDALL_DAMAGED: corrupt data became zeros, or are missing at the end or as attributes.
 * - HOLDALL_E_ARGUMENT: path is the file of this superchunk.
 * - HOLDALL_E_UNSUPPORTED: the requested version has no metadata, and there are some.
 * - others: as holdall_schunk_create(), _read() and _commit(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_copy(const holdall_schunk *schunk,
                                   const char *path,
                                   holdall_mode mode,
                                   holdall_format format,
                                   const holdall_options *options,
                                   holdall_error *err);

/* Returns the generation: see base.h. */
HOLDALL_API uint64_t holdall_schunk_generation(const holdall_schunk *schunk);

/* Moves to the newest commit: see base.h. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_refresh(holdall_schunk *schunk,
                                      holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_SCHUNK_H */
