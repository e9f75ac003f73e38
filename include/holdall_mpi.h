/* holdall_mpi.h - many ranks of an MPI program write one container, with one commit, and read it.
 *
 * All of it is inline, over MPI and holdall.h: there is nothing to link but these two. It needs POSIX (with -std=c11 and the like,
 * define _XOPEN_SOURCE as 700), and MPI with MPI_THREAD_FUNNELED at least; as many threads as ranks on a node are enough, so
 * give HOLDALL_OPT_THREADS 1, or the environment HOLDALL_THREADS, where all of its processors have a rank.
 *
 * RULES, besides those of holdall.h:
 *  - Every function here is collective: all ranks of `comm` call it, with the same arguments where nothing else is said.
 *  - All ranks come back with one status, and where it is a failure with the words of the first rank that failed.
 *  - Ranks write what is theirs to where nobody sees it. Then rank 0 alone makes it count, in one step: whoever is killed
 *    before that, and at whatever moment, leaves the last commit.
 *  - What ranks are killed at leaves files that mean nothing: parts in NAME.holdall-mpi, shards of a set that has no first
 *    one, superchunks that a dataset does not count. The next writer with the same name clears them away or replaces them.
 *
 * docs/mpi.md tells what each of them costs on many ranks; examples/mpi has programs.
 */
#ifndef HOLDALL_MPI_H
#define HOLDALL_MPI_H

#include <holdall.h>
#include <mpi.h>

/* Ranks that put rows behind an array, with one commit; see holdall_mpi_writer_open(). */
typedef struct holdall_mpi_writer holdall_mpi_writer;

/* Begins a set with as many files as there are ranks, "train@8.bagz" with 8 of them: rank r gets a writer of file r, to append to it
 * as it likes (`options`: those of holdall_bag_writer_open()), and to commit by holdall_mpi_bag_commit() alone.
 * A set is written once. HOLDALL_E_EXISTS: its first file is there. The others may be, from a run that was cut off, and are
 * replaced. HOLDALL_E_BUSY: another program is at it. HOLDALL_E_ARGUMENT: the spec has another number of files. */
static inline holdall_status holdall_mpi_bag_writer_open(MPI_Comm comm, const char *spec,
    const holdall_options *options, holdall_bag_writer **out, holdall_error *err);

/* Commits the set: first all shards but the first, side by side, then that one. Nothing counts before. Where it fails there is no set;
 * close the writers, on each rank, as one does after success. */
static inline holdall_status holdall_mpi_bag_commit(MPI_Comm comm, holdall_bag_writer *writer, holdall_error *err);

/* Opens a set, or one bag, for all ranks, each of which gets its share as a bag of its own: its records are those from *first on (which may
 * be NULL) of all, shard after shard. Names are looked up by rank 0 alone, each shard is opened by one rank to count its records,
 * and then by those whose share touches it: on as many ranks as shards some three times, never once for each rank.
 * Options: those of holdall_bag_open(), without HOLDALL_BAG_SHARDS_INTERLEAVED. */
static inline holdall_status holdall_mpi_bag_open(MPI_Comm comm, const char *spec, const holdall_options *options,
    holdall_bag **out, uint64_t *first, holdall_error *err);

/* Opens an array that is there (made by one rank, without rows say, and committed) so that all ranks put rows behind its last: a dataset in
 * the papers' form (HOLDALL_FORMAT_BLZ_PAPER), or an array in a frame, which may be a folder. Options: those of
 * holdall_array_open() with HOLDALL_APPEND. `parts`: a folder for what the ranks write until the commit; NULL: NAME.holdall-mpi
 * beside the array. For a dataset it must be on the same file system, for its files are renamed; for a frame any will do,
 * also one that each node has for itself, such as /dev/shm.
 * HOLDALL_E_BUSY: somebody else is writing. HOLDALL_E_STATE: its rows do not fill its last superchunk, or in a frame its last chunk
 * along the first axis. HOLDALL_E_UNSUPPORTED: it is of another kind. */
static inline holdall_status holdall_mpi_writer_open(MPI_Comm comm, const char *path, const char *parts,
    const holdall_options *options, holdall_mpi_writer **out, holdall_error *err);

/* What this rank puts behind the rows of the ranks before it: an array without rows, of the same kind, to be changed as any other
 * (holdall_array_append(), _write(), ...), but neither committed nor closed. It lives until the writer is closed. Not collective. */
static inline holdall_array *holdall_mpi_writer_array(holdall_mpi_writer *w);

/* How many rows the last commit has, behind which those of the ranks come. Not collective. */
static inline uint64_t holdall_mpi_writer_rows(const holdall_mpi_writer *w);

/* Of how many rows each rank is to put a multiple behind the others, if there are rows of a rank behind it: those of a superchunk, or of a
 * chunk of a frame. holdall_mpi_share() takes it. Not collective. */
static inline uint64_t holdall_mpi_writer_unit(const holdall_mpi_writer *w);

/* Commits: behind the rows of the last commit there are those of rank 0, then those of rank 1, and so on. A writer has one commit; close
 * it then, and open another for the next.
 * HOLDALL_E_ARGUMENT: a rank that has another with rows behind it has no multiple of holdall_mpi_writer_unit(). HOLDALL_E_STATE: there
 * was a commit. */
static inline holdall_status holdall_mpi_writer_commit(holdall_mpi_writer *w, holdall_error *err);

/* Closes a writer and removes its parts; NULL is fine. What was not committed is gone. Collective, so that the folder goes last. */
static inline void holdall_mpi_writer_close(holdall_mpi_writer *w);

/* Opens an array in local files for reading, on all ranks: rank 0 looks at the metadata, the others get them from it. Any rank then reads
 * what it wants, by itself. As files are known by name, no writer may be at work while it is open: what was changed is
 * then an error, by the checksums, where there are any. Options: those of holdall_array_open() but HOLDALL_OPT_IO. */
static inline holdall_status holdall_mpi_array_open(MPI_Comm comm, const char *path, const holdall_options *options,
    holdall_array **out, holdall_error *err);

/* What holdall_mpi_array_open() is to arrays, of a superchunk. */
static inline holdall_status holdall_mpi_schunk_open(MPI_Comm comm, const char *path, const holdall_options *options,
    holdall_schunk **out, holdall_error *err);

/* What holdall_mpi_array_open() is to arrays, of a table. */
static inline holdall_status holdall_mpi_table_open(MPI_Comm comm, const char *path, const holdall_options *options,
    holdall_table **out, holdall_error *err);

/* Which of n things fall to a rank: *count of them from *first on, in whole units of `unit` but at the end, and as evenly as that
 * allows. All ranks together have each once, in the order of their ranks. Not collective. */
static inline void holdall_mpi_share(uint64_t n, uint64_t unit, int rank, int ranks, uint64_t *first, uint64_t *count);

/* Collective: how each rank fared becomes how all did. Where one or more failed (their `status` is less than 0, and *err has its
 * words), all return the status and have the words of the first of them, its rank before; else each its own status. */
static inline holdall_status holdall_mpi_agree(MPI_Comm comm, holdall_status status, holdall_error *err);

/* What these are made of. */
#include "holdall_mpi/agree.h"
#include "holdall_mpi/arrays.h"
#include "holdall_mpi/bags.h"
#include "holdall_mpi/open.h"

#endif /* HOLDALL_MPI_H */
