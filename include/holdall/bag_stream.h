/* holdall/bag_stream.h - streams with read-ahead; shuffled epochs; batches. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_BAG_STREAM_H
#define HOLDALL_BAG_STREAM_H

#include "base.h"
#include "options.h"
#include "bag.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stream of records of a bag in any order, read ahead in parallel. */
typedef struct holdall_bag_stream holdall_bag_stream;

/* The shuffled record numbers of an epoch, for one rank. */
typedef struct holdall_epoch holdall_epoch;

/* Stores the number of the next requested record in *index and returns HOLDALL_OK; returns
 * HOLDALL_END (or any value above 0) at the end, or less than 0 on failure. */
typedef int (*holdall_next_index_fn)(void *ctx, uint64_t *index);

/* Allocates n bytes and returns them. Returns NULL on failure, and may if n is 0. */
typedef void *(*holdall_allocate_fn)(void *ctx, size_t n);

/* Opens a stream of the records whose numbers next returns, in that order, with repetitions,
 * possibly endless. next NULL: all records in order. HOLDALL_OPT_THREADS, _MEMORY_LIMIT and
 * _SKIP_DAMAGED default to those of the bag.
 *
 * next runs only while records are taken, on that thread, one call at a time, and in advance: to
 * resume, count the records used, not the numbers returned. See docs/threads.md. ctx must stay
 * valid. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_stream_open(const holdall_bag *bag,
                                       holdall_next_index_fn next,
                                       void *ctx,
                                       const holdall_options *options,
                                       holdall_bag_stream **out,
                                       holdall_error *err);

/* Gets the next record: n bytes (never NULL), borrowed until the next call that takes from the
 * stream or closes it. Failures come in the order of records; the next call continues after
 * them.
 *
 * Returns:
 * - HOLDALL_END: the end, also later; *record and *n are unchanged.
 * - HOLDALL_DAMAGED: the record is corrupt and therefore empty.
 * - HOLDALL_E_RANGE: next returned a number that the bag does not have.
 * - HOLDALL_E_CALLBACK: next failed; it is called again.
 * - HOLDALL_E_LIMIT: a record exceeds three quarters of the memory limit.
 * - HOLDALL_E_STATE: called by next, or forked while another thread was taking.
 * - others: as holdall_bag_read(), for the record err->position. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_stream_next(holdall_bag_stream *stream,
                                       const void **record,
                                       size_t *n,
                                       holdall_error *err);

/* Takes the next n records as a batch that the caller owns, with holdall_records_numbers(). It
 * has fewer at the end, or before a failure, which the next call returns. n 0: as many as were
 * read together, without a copy. Many threads may take from one stream; each record goes to one
 * of them.
 *
 * Returns:
 * - HOLDALL_END: the end; *out is NULL.
 * - HOLDALL_DAMAGED: as holdall_bag_read_range().
 * - others: as holdall_bag_stream_next(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_stream_take(const holdall_bag_stream *stream,
                                       size_t n,
                                       holdall_records **out,
                                       holdall_error *err);

/* Returns the number of the last record from holdall_bag_stream_next(); UINT64_MAX before the
 * first. */
HOLDALL_API uint64_t holdall_bag_stream_number(const holdall_bag_stream *stream);

/* Returns how many records so far were corrupt and therefore empty. */
HOLDALL_API uint64_t holdall_bag_stream_damaged_count(const holdall_bag_stream *stream);

/* Closes a stream at any time. Waits until reading ahead stops, at its next record; nothing uses
 * the bag, its storage or next afterwards. Does nothing if next calls it. */
HOLDALL_API void holdall_bag_stream_close(holdall_bag_stream *stream);

/* Creates a shuffled epoch: every number below n (which may be 0) once, in an order that depends
 * only on n, seed and epoch, in every version of the library. Rank rank of world gets its
 * positions rank, rank + world, rank + 2 * world, ... (see docs/threads.md). A stream ends with
 * its epoch:
 *
 *     for (uint64_t e = 0; e < epochs; e++) {
 *         holdall_epoch_seek(epoch, e, 0, err);
 *         holdall_bag_stream_open(bag, holdall_epoch_next, epoch, NULL, &stream, err);
 *         while (holdall_bag_stream_next(stream, &record, &n, err) == HOLDALL_OK) use(record, n);
 *         holdall_bag_stream_close(stream);
 *     } */
HOLDALL_API HOLDALL_USE
holdall_status holdall_epoch_new(uint64_t n,
                                 uint64_t seed,
                                 uint64_t epoch,
                                 uint32_t rank,
                                 uint32_t world,
                                 holdall_epoch **out,
                                 holdall_error *err);

/* Returns how many numbers this rank has in each epoch. */
HOLDALL_API uint64_t holdall_epoch_count(const holdall_epoch *epoch);

/* Gets the next number of an epoch: a holdall_next_index_fn whose context is the holdall_epoch
 * *.
 *
 * Returns:
 * - HOLDALL_END: the end; *index is unchanged. */
HOLDALL_API HOLDALL_USE int holdall_epoch_next(void *epoch, uint64_t *index);

/* Moves to epoch number, of the same seed, and a position of this rank in it: 0 to
 * holdall_epoch_count(), the end. Must not be called while an open stream uses the epoch. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_epoch_seek(holdall_epoch *epoch,
                                  uint64_t number,
                                  uint64_t position,
                                  holdall_error *err);

/* Frees an epoch. No record may be taken afterwards from a stream that uses it. */
HOLDALL_API void holdall_epoch_free(holdall_epoch *epoch);

/* Like holdall_bag_read_range(), into memory of the caller, who owns it also after a failure.
 * allocate is called once with the total size. offsets has space for count + 1 values: see
 * holdall_records_offsets().
 *
 * Returns:
 * - HOLDALL_DAMAGED: corrupt records are empty, so less memory is used; holdall_bag_read()
 *   identifies them.
 * - HOLDALL_E_CALLBACK: allocate returned NULL.
 * - others: as holdall_bag_read_range(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_read_range_to(const holdall_bag *bag,
                                         uint64_t start,
                                         size_t count,
                                         holdall_allocate_fn allocate,
                                         void *ctx,
                                         uint64_t *offsets,
                                         holdall_error *err);

/* Like holdall_bag_read_indices(), into memory of the caller: see holdall_bag_read_range_to(). */
HOLDALL_API HOLDALL_USE
holdall_status holdall_bag_read_indices_to(const holdall_bag *bag,
                                           const uint64_t *indices,
                                           size_t n,
                                           holdall_allocate_fn allocate,
                                           void *ctx,
                                           uint64_t *offsets,
                                           holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_BAG_STREAM_H */
