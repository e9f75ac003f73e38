/* holdall/schunk_stream.h - superchunks that are written from front to back. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_SCHUNK_STREAM_H
#define HOLDALL_SCHUNK_STREAM_H

#include "base.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A writer of a Bloscpack file from front to back, for a pipe or a socket. Memory use does not
 * depend on the length; there is no commit. */
typedef struct holdall_schunk_stream holdall_schunk_stream;

/* Writes all n bytes. Returns 0 or n on success, -errno on failure. */
typedef int64_t (*holdall_write_fn)(void *ctx, const void *src, size_t n);

/* Creates a stream that passes its output to write, in order, on the thread that calls the
 * stream. ctx must stay valid. typesize and options: as for holdall_schunk_create(). length:
 * bytes of content; UINT64_MAX: unknown, which the original Bloscpack reads as empty.
 *
 * Returns:
 * - HOLDALL_E_UNSUPPORTED: the length is unknown, and HOLDALL_OPT_FORMAT_VERSION is 1. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_stream_new(holdall_write_fn write,
                                         void *ctx,
                                         size_t typesize,
                                         uint64_t length,
                                         const holdall_options *options,
                                         holdall_schunk_stream **out,
                                         holdall_error *err);

/* Sets the metadata, n bytes of JSON: attribute "" of the superchunk.
 *
 * Returns:
 * - HOLDALL_E_ARGUMENT: not JSON.
 * - HOLDALL_E_STATE: after the first holdall_schunk_stream_write(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_stream_set_metadata(holdall_schunk_stream *stream,
                                                  const void *json,
                                                  size_t n,
                                                  holdall_error *err);

/* Appends src_size bytes of content and writes the chunks that are complete.
 *
 * Returns:
 * - HOLDALL_E_RANGE: more content than length; nothing was written.
 * - HOLDALL_E_CALLBACK: write failed; err->os_code is its errno.
 * - HOLDALL_E_STATE: finished, an earlier call failed, or called by write. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_stream_write(holdall_schunk_stream *stream,
                                           const void *src,
                                           size_t src_size,
                                           holdall_error *err);

/* Writes the rest. Without it the file is truncated, which readers report as an error.
 *
 * Returns:
 * - HOLDALL_E_STATE: less content than length, which may still be written; others as
 *   holdall_schunk_stream_write(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_schunk_stream_finish(holdall_schunk_stream *stream,
                                            holdall_error *err);

/* Frees a stream, without writing anything. Does nothing if write calls it. */
HOLDALL_API void holdall_schunk_stream_free(holdall_schunk_stream *stream);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_SCHUNK_STREAM_H */
