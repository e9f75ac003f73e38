/* The loops of bench_records.py that time LMDB and zstd, from C: each value is a zstd frame, or
 * uncompressed.
 *
 * usage: peer_lmdb DATA OFFSETS INDICES
 *
 * Commands, each answered with its seconds; ZSTD is 0 or 1:
 *   write PATH ZSTD     all records in one transaction, not synced
 *   single PATH ZSTD    the records of INDICES, one by one
 *   range PATH ZSTD     all records in order, with a cursor */
#include "common.h"

#include <lmdb.h>
#include <zstd.h>

enum { LEVEL = 3 };

static uint8_t *data;
static uint64_t *offsets, *indices, records, count, largest;

static void done(int result, const char *call)
{
    if (result) {
        fprintf(stderr, "%s: %s\n", call, mdb_strerror(result));
        exit(3);
    }
}

static size_t coded(size_t n)
{
    if (ZSTD_isError(n))
        die(ZSTD_getErrorName(n));
    return n;
}

/* An open database in a transaction. */
struct db {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
};

static struct db open_db(const char *path, unsigned flags)
{
    struct db db;
    done(mdb_env_create(&db.env), "create");
    done(mdb_env_set_mapsize(db.env, 2 * offsets[records] + (1 << 28)), "size");
    done(mdb_env_open(db.env, path, MDB_NOSUBDIR | MDB_NOLOCK | flags, 0644), "open");
    done(mdb_txn_begin(db.env, NULL, flags & MDB_RDONLY, &db.txn), "begin");
    done(mdb_dbi_open(db.txn, NULL, 0, &db.dbi), "open");
    return db;
}

static MDB_val key_of(uint64_t i, uint64_t *key)
{
    *key = __builtin_bswap64(i);
    return (MDB_val){ sizeof *key, key };
}

static double write_all(const char *path, int zstd)
{
    size_t room_of_frame = ZSTD_compressBound(largest);
    uint8_t *frame = room(room_of_frame);
    double begin = now();
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    struct db db = open_db(path, MDB_NOSYNC);
    for (uint64_t i = 0; i < records; i++) {
        uint64_t number;
        size_t n = offsets[i + 1] - offsets[i];
        MDB_val key = key_of(i, &number), value = { n, data + offsets[i] };
        if (zstd) {
            value.mv_size = coded(
                ZSTD_compressCCtx(ctx, frame, room_of_frame, data + offsets[i], n, LEVEL));
            value.mv_data = frame;
        }
        done(mdb_put(db.txn, db.dbi, &key, &value, MDB_APPEND), "put");
    }
    done(mdb_txn_commit(db.txn), "commit");
    mdb_env_close(db.env);
    ZSTD_freeCCtx(ctx);
    double took = now() - begin;
    free(frame);
    return took;
}

/* Decodes or copies a value; returns its length. */
static size_t get(ZSTD_DCtx *ctx, uint8_t *dst, const MDB_val *value, int zstd)
{
    if (zstd)
        return coded(ZSTD_decompressDCtx(ctx, dst, largest, value->mv_data, value->mv_size));
    memcpy(dst, value->mv_data, value->mv_size);
    return value->mv_size;
}

static double read_records(const char *path, int zstd, int all)
{
    uint8_t *dst = room(largest);
    memset(dst, 1, largest);
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    struct db db = open_db(path, MDB_RDONLY);
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t sum = 0, number;
    done(mdb_cursor_open(db.txn, db.dbi, &cursor), "cursor");
    double begin = now();
    if (all) {
        while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS)
            sum += get(ctx, dst, &value, zstd);
    } else {
        for (uint64_t k = 0; k < count; k++) {
            key = key_of(indices[k], &number);
            done(mdb_get(db.txn, db.dbi, &key, &value), "get");
            sum += get(ctx, dst, &value, zstd);
        }
    }
    double took = now() - begin;
    if (all && sum != offsets[records])
        die("records are missing");
    sink = sum;
    mdb_cursor_close(cursor);
    mdb_txn_abort(db.txn);
    mdb_env_close(db.env);
    ZSTD_freeDCtx(ctx);
    free(dst);
    return took;
}

static double answer_to(char **w, int n)
{
    if (n == 3 && !strcmp(w[0], "write"))
        return write_all(w[1], atoi(w[2]));
    if (n == 3 && (!strcmp(w[0], "single") || !strcmp(w[0], "range")))
        return read_records(w[1], atoi(w[2]), w[0][0] == 'r');
    return unknown(w, n);
}

int main(int argc, char **argv)
{
    uint64_t size;
    if (argc < 4)
        return 2;
    data = load(argv[1], &size);
    offsets = load(argv[2], &size);
    records = size / sizeof *offsets - 1;
    indices = load(argv[3], &size);
    count = size / sizeof *indices;
    for (uint64_t i = 0; i < records; i++)
        if (offsets[i + 1] - offsets[i] > largest)
            largest = offsets[i + 1] - offsets[i];
    return commands(argv + 4, argc - 4, answer_to);
}
