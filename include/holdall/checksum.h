/* holdall/checksum.h - checksums of bytes. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_CHECKSUM_H
#define HOLDALL_CHECKSUM_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes a checksum of n bytes into dst. kind: HOLDALL_CHECKSUM_*, but _ZSTD. 32-bit values
 * are little-endian. *checksum_size is the size in bytes; dst NULL requests it alone and reads
 * nothing. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_checksum_compute(int32_t kind,
                                        const void *bytes,
                                        size_t n,
                                        void *dst,
                                        size_t dst_size,
                                        size_t *checksum_size,
                                        holdall_error *err);

/* An incremental checksum. */
typedef struct holdall_checksum holdall_checksum;

/* Starts an incremental checksum: see holdall_checksum_compute(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_checksum_new(int32_t kind,
                                    holdall_checksum **out,
                                    holdall_error *err);

/* Adds n bytes.
 *
 * Returns:
 * - HOLDALL_E_STATE: holdall_checksum_finish() already returned the checksum. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_checksum_update(holdall_checksum *checksum,
                                       const void *bytes,
                                       size_t n,
                                       holdall_error *err);

/* Returns the checksum of all bytes. dst NULL requests the size, at any time. After
 * HOLDALL_E_BUFFER call again.
 *
 * Returns:
 * - HOLDALL_E_STATE: it was already returned. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_checksum_finish(holdall_checksum *checksum,
                                       void *dst,
                                       size_t dst_size,
                                       size_t *checksum_size,
                                       holdall_error *err);

/* Frees an incremental checksum. */
HOLDALL_API void holdall_checksum_free(holdall_checksum *checksum);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_CHECKSUM_H */
