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

#include "holdall_mpi/agree.h"
#include "holdall_mpi/arrays.h"
#include "holdall_mpi/bags.h"
#include "holdall_mpi/open.h"


#endif /* HOLDALL_MPI_H */
