/* holdall/container.h - formats and modes; identify, verify, repair. */
/* Generated from src/capi/; do not edit. */
#ifndef HOLDALL_CONTAINER_H
#define HOLDALL_CONTAINER_H

#include "base.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of HOLDALL_FORMAT_*. */
typedef int32_t holdall_format;

/* A Bloscpack file. */
#define HOLDALL_FORMAT_BLOSCPACK 301
/* A folder in the layout of bcolz. */
#define HOLDALL_FORMAT_BCOLZ 302
/* A folder in the layout of BLZ. */
#define HOLDALL_FORMAT_BLZ 303
/* A folder in the BLZ RFC layout: superchunk files `__1__.bin` of many chunks each. */
#define HOLDALL_FORMAT_BLZ_RFC 304
/* A Blosc2 frame, in a file or a folder (HOLDALL_OPT_SPARSE). */
#define HOLDALL_FORMAT_B2FRAME 305
/* A frame with the metalayer `caterva`: an array without a dtype. */
#define HOLDALL_FORMAT_CATERVA 306
/* A frame with the metalayer `b2nd`: an array. */
#define HOLDALL_FORMAT_B2ND 307
/* A Bagz file. */
#define HOLDALL_FORMAT_BAGZ 308
/* A store of python-blosc2 (see store.h) in a folder, `.b2d`. */
#define HOLDALL_FORMAT_B2D 309
/* In a zip archive, `.b2z`. */
#define HOLDALL_FORMAT_B2Z 310
/* In a frame, `.b2e`. */
#define HOLDALL_FORMAT_B2E 311
/* A CTable, the nodes of a store below one path. */
#define HOLDALL_FORMAT_CTABLE 312

/* One of HOLDALL_KIND_*. */
typedef int32_t holdall_kind;

/* A sequence of bytes in compressed chunks. */
#define HOLDALL_KIND_SCHUNK 201
/* Items of one type in a grid. */
#define HOLDALL_KIND_ARRAY 202
/* Named columns of equal length. */
#define HOLDALL_KIND_TABLE 203
/* Records of any length. */
#define HOLDALL_KIND_BAG 204
/* A tree of arrays and superchunks. */
#define HOLDALL_KIND_STORE 205

/* One of HOLDALL_READ, _APPEND, _CREATE, _REPLACE. */
typedef int32_t holdall_mode;

/* Opens an existing container for reading. */
#define HOLDALL_READ 101
/* Opens an existing container for reading and writing. */
#define HOLDALL_APPEND 102
/* Creates a container. HOLDALL_E_EXISTS: the path exists. Until the first commit, opening it is
 * HOLDALL_E_MISSING (folders: HOLDALL_E_FORMAT). */
#define HOLDALL_CREATE 103
/* Creates a container. An existing one stays until the first commit replaces it. */
#define HOLDALL_REPLACE 104

/* Returns the version of the library; that of the header is HOLDALL_VERSION_NUMBER. */
HOLDALL_API uint32_t holdall_version_number(void);

/* Returns the versions of the library and its codecs, such as "0.2.0 zstd/1.5.7". Static. */
HOLDALL_API const char *holdall_version_text(void);

/* Returns the name of a status, such as "HOLDALL_E_IO". Static, never NULL. */
HOLDALL_API const char *holdall_status_name(holdall_status status);

/* Returns the name of a constant that is no status or option, such as "zstd" for
 * HOLDALL_CODEC_ZSTD. Static; NULL if there is no such constant. */
HOLDALL_API const char *holdall_constant_name(int32_t constant);

/* Identifies the format and kind of a path or spec (see holdall_bag_open()) by content, as
 * docs/old-data.md describes. Outputs may be NULL. A path that also opens as another kind has
 * one kind here: a Bloscpack file, or a frame without array metalayers, is HOLDALL_KIND_SCHUNK.
 *
 * Returns:
 * - HOLDALL_E_FORMAT: no known format.
 * - others: a corrupt or never committed folder or frame whose format is undeterminable; *kind
 *   is set. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_identify(const char *path,
                                holdall_format *format,
                                holdall_kind *kind,
                                holdall_error *err);

/* Callback for each fault that holdall_verify() finds; of a bag, after each batch of records. A
 * nonzero result stops the call, which returns the first fault and the counts so far.
 *
 * part: "record N", "chunk N" or the path; in a table "COLUMN/data/__N.blp" or "COLUMN". Both
 * pointers are valid during the call. */
typedef int (*holdall_fault_fn)(void *ctx, const char *part, const holdall_error *fault);

/* What holdall_verify() found. */
typedef struct holdall_verify_result {
    /* sizeof(holdall_verify_result). */
    size_t struct_size;
    /* Intact records or chunks. */
    uint64_t intact;
    /* Corrupt or missing ones; may be 0 if a header or metadata is corrupt. */
    uint64_t corrupt;
    /* Those without a checksum that applies, or of an unknown codec, filter or version (which
     * are reported). */
    uint64_t unchecked;
} holdall_verify_result;

/* Reads and decodes everything at a path or spec, verifies all lengths and checksums, and calls
 * fault (may be NULL) for each fault. result may be NULL.
 *
 * Returns:
 * - HOLDALL_OK: intact.
 * - HOLDALL_E_CANCELLED, _ARGUMENT (of an option), _BUSY (commits at each attempt for 5
 *   seconds): no verdict, no result.
 * - HOLDALL_E_UNSUPPORTED: storage of the caller.
 * - the status of the first fault, with the counts in *result; failing to open is one. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_verify(const char *path,
                              const holdall_options *options,
                              holdall_fault_fn fault,
                              void *ctx,
                              holdall_verify_result *result,
                              holdall_error *err);

/* What holdall_repair() did. */
typedef struct holdall_repair_result {
    /* sizeof(holdall_repair_result). */
    size_t struct_size;
    /* Records or chunks retained. */
    uint64_t retained;
    /* Records, chunks, metadata, trailers, commits, names and columns lost. 1 may stand for an
     * unknown number of records. */
    uint64_t lost;
    /* Parts removed that were never committed (see part.h). */
    uint64_t parts_removed;
} holdall_repair_result;

/* Repairs a container: completes or rolls back an interrupted change and restores the last
 * consistent state. Intact records and chunks keep their positions. result may be NULL.
 * docs/damage.md has the rules by format. Corrupt content:
 *
 * - Folders: refused, or with HOLDALL_OPT_SKIP_DAMAGED replaced by the fill value. Files
 *   `*.holdall-damaged` have the removed bytes.
 * - Superchunks: each corrupt chunk becomes zeros and is not saved: copy the file first, or use
 *   HOLDALL_OPT_DRY_RUN.
 * - Bags: a corrupt record stays and counts as retained. Despite HOLDALL_OK holdall_verify()
 *   still reports it. To remove it write a new bag. A corrupt dictionary is restored from
 *   another file of the spec, or from HOLDALL_OPT_DICTIONARY, if that is proved to be the same.
 *
 * Returns:
 * - HOLDALL_E_FORMAT: not repairable, or only with HOLDALL_OPT_SKIP_DAMAGED (see the message);
 *   unchanged.
 * - HOLDALL_E_CHECKSUM, _MISSING: `meta/storage` is corrupt or lost.
 * - HOLDALL_E_BUSY: a writer is active.
 * - HOLDALL_E_CODEC, _VERSION, _UNSUPPORTED: chunks of unknown kind; Python objects; bcolz
 *   columns that are superchunks; storage of the caller. */
HOLDALL_API HOLDALL_USE
holdall_status holdall_repair(const char *path,
                              const holdall_options *options,
                              holdall_repair_result *result,
                              holdall_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HOLDALL_CONTAINER_H */
