/* holdall_mpi.h - the ranks of an MPI program write one container with one commit, and read it.
 *
 * This library is header-only, on top of MPI and holdall.h: link only these two. It needs POSIX
 * (with -std=c11 and similar, define _XOPEN_SOURCE as 700), and MPI with at least
 * MPI_THREAD_FUNNELED. If every processor of a node has a rank, set HOLDALL_OPT_THREADS or the
 * environment variable HOLDALL_THREADS to 1: as many threads as ranks on a node are enough.
 *
 * RULES, in addition to those of holdall.h:
 *  - Every function is collective unless stated otherwise: all ranks of `comm` call it, with the
 *    same arguments unless stated otherwise.
 *  - All ranks return the same status. On failure, they have the message of the first rank that
 *    failed.
 *  - Ranks write their parts to files that are not visible to readers. Then only rank 0 makes them
 *    visible, in one step. If any rank is killed before that step, the last commit remains.
 *  - Killed ranks leave files without effect: parts in NAME.holdall-mpi, shards of a set without a
 *    first shard, superchunks that a dataset does not include. The next writer with the same name
 *    removes or replaces them.
 *
 * Containers of other kinds, such as tables, are written in parts: holdall_mpi_parts_commit().
 *
 * docs/mpi.md describes the cost of each function on many ranks; examples/mpi has programs.
 */
#ifndef HOLDALL_MPI_H
#define HOLDALL_MPI_H

#include <holdall.h>
#include <mpi.h>

/* A writer of ranks that append rows to an array with one commit; see holdall_mpi_writer_open(). */
typedef struct holdall_mpi_writer holdall_mpi_writer;

/* Begins a set with as many files as ranks, such as "train@8.bagz" with 8 ranks. Rank r gets a
 * writer of file r, which it appends to (`options`: those of holdall_bag_writer_open()) and commits
 * only with holdall_mpi_bag_commit(). A set is written once. Files of an interrupted run are
 * replaced, if its first file is missing.
 * HOLDALL_E_EXISTS: the first file of the set exists. HOLDALL_E_BUSY: another program writes the
 * set. HOLDALL_E_ARGUMENT: the spec has another number of files. */
static inline holdall_status holdall_mpi_bag_writer_open(MPI_Comm comm, const char *spec,
    const holdall_options *options, holdall_bag_writer **out, holdall_error *err);

/* Commits the set: first all shards except the first, in parallel, then the first. Nothing is
 * visible before. If it fails, there is no set. Close the writers on each rank, as after
 * success. */
static inline holdall_status holdall_mpi_bag_commit(MPI_Comm comm, holdall_bag_writer *writer, holdall_error *err);

/* Opens a set, or one bag, for all ranks. Each rank gets its share as a separate bag, whose records
 * start at record *first of all shards in order (`first` may be NULL). Only rank 0 looks up names.
 * One rank opens each shard to count its records; then the ranks whose share includes it open it.
 * With as many ranks as shards, each shard is opened about three times, not once per rank.
 * Options: those of holdall_bag_open(), without HOLDALL_BAG_SHARDS_INTERLEAVED. */
static inline holdall_status holdall_mpi_bag_open(MPI_Comm comm, const char *spec, const holdall_options *options,
    holdall_bag **out, uint64_t *first, holdall_error *err);

/* Opens an existing, committed array (for example, one that one rank created without rows), so that
 * all ranks append rows: a dataset in the BLZ RFC layout (HOLDALL_FORMAT_BLZ_RFC), or an array in
 * a frame, which may be a folder. Options: those of holdall_array_open() with HOLDALL_APPEND.
 * `parts` is a folder for the data that the ranks write until the commit; NULL selects
 * NAME.holdall-mpi beside the array. For a dataset, it must be on the same file system, because its
 * files are renamed. For a frame, it may be any folder, even one on each node, such as /dev/shm.
 * HOLDALL_E_BUSY: another writer is active. HOLDALL_E_STATE: the rows do not fill the last
 * superchunk, or in a frame the last chunk along the first axis. HOLDALL_E_UNSUPPORTED: the array
 * is of another kind. */
static inline holdall_status holdall_mpi_writer_open(MPI_Comm comm, const char *path, const char *parts,
    const holdall_options *options, holdall_mpi_writer **out, holdall_error *err);

/* Returns the array of the rows that this rank appends after those of the ranks before it. It has
 * no rows at first and is of the same kind. Change it as any other array (holdall_array_append(),
 * _write(), ...), but neither commit nor close it. It is valid until the writer is closed. Not
 * collective. */
static inline holdall_array *holdall_mpi_writer_array(holdall_mpi_writer *w);

/* Returns the number of rows of the last commit. The rows of the ranks follow them. Not
 * collective. */
static inline uint64_t holdall_mpi_writer_rows(const holdall_mpi_writer *w);

/* Returns the unit of rows: each rank must append a multiple of it, if a later rank appends rows.
 * It is the number of rows of a superchunk, or of a chunk of a frame. holdall_mpi_share() accepts
 * it. Not collective. */
static inline uint64_t holdall_mpi_writer_unit(const holdall_mpi_writer *w);

/* Commits: the rows of the last commit are followed by those of rank 0, then those of rank 1, and
 * so on. A writer has one commit. Close it afterwards, and open another one for the next commit.
 * HOLDALL_E_ARGUMENT: the rows of a rank that is followed by rows of another are no multiple of
 * holdall_mpi_writer_unit(). HOLDALL_E_STATE: the writer has already committed. */
static inline holdall_status holdall_mpi_writer_commit(holdall_mpi_writer *w, holdall_error *err);

/* Closes a writer and removes its parts; NULL is allowed. Uncommitted rows are discarded.
 * Collective, so that the folder is removed last. */
static inline void holdall_mpi_writer_close(holdall_mpi_writer *w);

/* Commits parts that ranks wrote: records or rows are appended in the order of the ranks, boxes of
 * an array replace its items. All of them are committed, or none. `path`, `options`: those of
 * holdall_parts_commit(), which rank 0 calls. `token` is that of this rank's part
 * (holdall_part_finish()); NULL: it has none. The call may be repeated after a failure, with the
 * same tokens. After ranks were killed, repair the container: this removes their parts.
 * Statuses: those of holdall_parts_commit(). */
static inline holdall_status holdall_mpi_parts_commit(MPI_Comm comm, const char *path, const void *token,
    const holdall_options *options, holdall_error *err);

/* Opens an array in local files for reading, on all ranks. Only rank 0 reads the metadata and sends
 * them to the others. Each rank then reads by itself. No writer may be active while the array is
 * open, because files are identified by name: reads of changed files are errors, if the files have
 * checksums. Options: those of holdall_array_open() except HOLDALL_OPT_IO. The call sets and
 * removes their storage: no other thread may use them meanwhile. */
static inline holdall_status holdall_mpi_array_open(MPI_Comm comm, const char *path, holdall_options *options,
    holdall_array **out, holdall_error *err);

/* Opens a superchunk for reading, on all ranks, as holdall_mpi_array_open() opens an array. */
static inline holdall_status holdall_mpi_schunk_open(MPI_Comm comm, const char *path, holdall_options *options,
    holdall_schunk **out, holdall_error *err);

/* Opens a table for reading, on all ranks, as holdall_mpi_array_open() opens an array. */
static inline holdall_status holdall_mpi_table_open(MPI_Comm comm, const char *path, holdall_options *options,
    holdall_table **out, holdall_error *err);

/* Computes the share of a rank of n items: *count items from *first on, in complete units of `unit`
 * except at the end, and as evenly as possible. The shares of all ranks are in the order of their
 * ranks and cover each item once. Not collective. */
static inline void holdall_mpi_share(uint64_t n, uint64_t unit, int rank, int ranks, uint64_t *first, uint64_t *count);

/* Collective: combines the results of all ranks. If one or more ranks failed (their `status` is
 * less than 0, and *err has the message), all ranks return the status and the message of the first
 * of them, with its rank prepended. Otherwise each rank returns its own status. */
static inline holdall_status holdall_mpi_agree(MPI_Comm comm, holdall_status status, holdall_error *err);

/* Implementation. */
#include "holdall_mpi/agree.h"
#include "holdall_mpi/arrays.h"
#include "holdall_mpi/bags.h"
#include "holdall_mpi/open.h"
#include "holdall_mpi/parts.h"

#endif /* HOLDALL_MPI_H */
