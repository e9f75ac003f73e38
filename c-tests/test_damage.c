/* Corruption: bytes of small bags are changed, each in turn, and files are truncated at each
 * length. A record is read as written or is an error. The number of records is right, or the bag
 * does not open. Errors name the record, and the others can be read. */
#include "folder.h"

enum { MOST = 8, LONGEST = 64 };

/* The records of a bag, which must be read back. */
typedef struct {
    const char *name;
    uint64_t n;
    size_t sizes[MOST];
    /* Similar to limits: increasing 64-bit numbers. */
    bool numbers;
    uint8_t bytes[MOST][LONGEST];
} model;

/* With checksums a frame has 13 bytes more than its record: with 3 and 11 bytes, multiples of 8. */
static model models[] = {
    {.name = "mixed", .n = 6, .sizes = {13, 1, 30, 7, 22, 5}},
    {.name = "with empty ones", .n = 7, .sizes = {0, 13, 0, 0, 9, 21, 0}},
    {.name = "one", .n = 1, .sizes = {20}},
    {.name = "one empty", .n = 1, .sizes = {0}},
    {.name = "all empty", .n = 4, .sizes = {0, 0, 0, 0}},
    {.name = "multiples of 8", .n = 7, .sizes = {11, 3, 11, 11, 3, 3, 11}},
    {.name = "all alike in size", .n = 6, .sizes = {3, 3, 3, 3, 3, 3}},
    {.name = "two", .n = 2, .sizes = {3, 3}},
    {.name = "like limits", .n = 5, .sizes = {16, 8, 24, 16, 8}, .numbers = true},
    {.name = "like limits, framed", .n = 4, .sizes = {19, 27, 19, 19}, .numbers = true},
};
enum { MODELS = sizeof models / sizeof models[0] };

static void make_models(void)
{
    for (int m = 0; m < MODELS; m++)
        for (uint64_t i = 0; i < models[m].n; i++)
            for (size_t k = 0; k < models[m].sizes[i]; k++)
                models[m].bytes[i][k] = models[m].numbers ? (uint8_t)(k % 8 == 0 ? 10 * i + k : 0)
                                                          : (uint8_t)(17 * i + 29 * k + 5);
}

typedef struct {
    const char *name;
    int64_t codec, limits;
} form;

static const form forms[] = {
    {"raw, tail", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_TAIL},
    {"zstd, tail", HOLDALL_CODEC_ZSTD, HOLDALL_BAG_LIMITS_TAIL},
    {"raw, separate", HOLDALL_CODEC_NONE, HOLDALL_BAG_LIMITS_SEPARATE},
    {"zstd, separate", HOLDALL_CODEC_ZSTD, HOLDALL_BAG_LIMITS_SEPARATE},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

/* The files of a bag on disk, by the prefixes of their names. */
static const char *const prefixes[] = {"", "limits.", "checksums."};

static const char *file_of(const char *bag, const char *prefix)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", prefix, bag);
    return in_tmp(name);
}

static void load_folder(folder *f, const char *bag)
{
    for (int k = 0; k < 3; k++)
        if (there(file_of(bag, prefixes[k]))) {
            size_t n;
            uint8_t *bytes = load(file_of(bag, prefixes[k]), &n);
            folder_put(f, prefixes[k], bytes, n);
            free(bytes);
        }
}

static void save_folder(const folder *f, const char *bag)
{
    for (int k = 0; k < f->n; k++)
        save(file_of(bag, f->files[k].name), f->files[k].bytes, f->files[k].size);
}

static void remove_files(const char *bag)
{
    for (int k = 0; k < 3; k++)
        remove(file_of(bag, prefixes[k]));
}

/* A bag of these records, as files of a folder. */
static void write_model(folder *f, const form *form, const model *m)
{
    holdall_bag_writer *w = open_writer(in_tmp("model"), HOLDALL_REPLACE,
                                        WITH(HOLDALL_OPT_CODEC, form->codec, HOLDALL_OPT_BAG_LIMITS,
                                             form->limits, HOLDALL_OPT_DURABILITY, 0));
    for (uint64_t i = 0; i < m->n; i++)
        OK(holdall_bag_writer_append(w, m->bytes[i], m->sizes[i], &err));
    OK(holdall_bag_writer_commit(w, &err));
    holdall_bag_writer_close(w);
    load_folder(f, "model");
    EQUAL(f->n,
          1 + (form->limits == HOLDALL_BAG_LIMITS_SEPARATE) + (form->codec == HOLDALL_CODEC_NONE));
}

/* ---- allowed results of a corrupt bag ---------------------------------------------------------*/

/* The possible effects of the corruption. */
typedef struct {
    /* The open may fail. */
    bool closed;
    /* These records may be errors; all others must be intact. */
    bool lost[MOST];
    /* Records from this number on may be missing without an error: the format cannot detect it. */
    uint64_t gone_from;
} allowed;

static bool same(const model *m, uint64_t i, const void *bytes, size_t n)
{
    return n == m->sizes[i] && memcmp(bytes, m->bytes[i], n) == 0;
}

static bool same_in_batch(const model *m, uint64_t i, const holdall_records *records, size_t k)
{
    const uint64_t *at = holdall_records_offsets(records);
    return same(m, i, holdall_records_data(records) + at[k], (size_t)(at[k + 1] - at[k]));
}

/* Checks the result of a batch: all records are right, or the error names a corrupt record.
 * numbers: the requested records. */
static void check_batch(const model *m, holdall_status s, holdall_records *records,
                        const uint64_t *numbers, size_t n, const bool *corrupt, bool by_position)
{
    if (s == HOLDALL_OK) {
        EQUAL(holdall_records_count(records), n);
        for (size_t k = 0; k < n; k++)
            CHECK(!corrupt[numbers[k]] && same_in_batch(m, numbers[k], records, k));
        EQUAL(holdall_records_damaged_count(records), 0);
        holdall_records_free(records);
        return;
    }
    CHECK(s < 0 && records == NULL);
    CHECK(err.position >= 0);
    if (by_position) {
        /* the first one that cannot be read */
        CHECK((uint64_t)err.position < n && corrupt[numbers[err.position]]);
        for (int64_t k = 0; k < err.position; k++)
            CHECK(!corrupt[numbers[k]]);
    } else {
        CHECK((uint64_t)err.position < m->n && corrupt[err.position]);
    }
}

static void check_skipping(folder *f, const int64_t *pairs, const model *m, uint64_t n,
                           const bool *corrupt)
{
    holdall_bag *bag;
    holdall_records *records;
    uint8_t got[256];
    OK(try_folder_bag(f,
                      WITH(HOLDALL_OPT_CODEC, pairs[1], HOLDALL_OPT_BAG_LIMITS, pairs[3],
                           HOLDALL_OPT_SKIP_DAMAGED, 1),
                      &bag));
    bool any = false;
    for (uint64_t i = 0; i < n; i++)
        any = any || corrupt[i];
    GIVES(any ? HOLDALL_DAMAGED : HOLDALL_OK, holdall_bag_read_range(bag, 0, n, &records, &err));
    EQUAL(holdall_records_count(records), n);
    const uint64_t *at = holdall_records_offsets(records),
                   *damaged = holdall_records_damaged_positions(records);
    size_t listed = 0;
    for (uint64_t i = 0; i < n; i++) {
        size_t size = 99;
        holdall_status s = holdall_bag_read(bag, i, got, sizeof got, &size, &err);
        if (corrupt[i]) {
            CHECK(listed < holdall_records_damaged_count(records) && damaged[listed] == i);
            EQUAL(at[i + 1] - at[i], 0);
            CHECK(s == HOLDALL_DAMAGED && size == 0);
            listed++;
        } else {
            CHECK(same_in_batch(m, i, records, (size_t)i));
            CHECK(s == HOLDALL_OK && same(m, i, got, size));
        }
    }
    EQUAL(holdall_records_damaged_count(records), listed);
    holdall_records_free(records);
    holdall_bag_close(bag);
}

/* Reads a possibly corrupt bag in every way. Returns whether every record was right. */
static bool check_damaged(folder *f, const form *form, const model *m, const allowed *may)
{
    const int64_t *pairs =
        WITH(HOLDALL_OPT_CODEC, form->codec, HOLDALL_OPT_BAG_LIMITS, form->limits);
    holdall_bag *bag;
    if (try_folder_bag(f, pairs, &bag) < 0) {
        CHECK(may->closed);
        CHECK(bag == NULL);
        return false;
    }
    uint64_t n = holdall_bag_record_count(bag);
    CHECK(n <= m->n && n >= may->gone_from);

    bool corrupt[MOST] = {false}, any = false;
    uint8_t got[256];
    for (uint64_t i = 0; i < n; i++) {
        size_t size = 0;
        memset(got, 0xA5, sizeof got);
        holdall_status s = holdall_bag_read(bag, i, got, sizeof got, &size, &err);
        CHECK(s <= 0);
        corrupt[i] = s < 0;
        any = any || corrupt[i];
        if (s == HOLDALL_OK)
            CHECK(same(m, i, got, size));
        else {
            EQUAL(err.position, i);
            CHECK(may->lost[i]);
        }
    }

    holdall_records *records;
    uint64_t up[2 * MOST], down[MOST];
    for (uint64_t i = 0; i < n; i++) {
        up[i] = up[2 * n - 1 - i] = i;
        down[i] = n - 1 - i;
    }
    holdall_status s = holdall_bag_read_range(bag, 0, n, &records, &err);
    check_batch(m, s, records, up, (size_t)n, corrupt, true);
    s = holdall_bag_read_indices(bag, up, (size_t)(2 * n), &records, &err);
    check_batch(m, s, records, up, (size_t)(2 * n), corrupt, false);
    for (uint64_t i = 0; i < n; i++) {
        s = holdall_bag_read_range(bag, i, 1, &records, &err);
        CHECK((s == HOLDALL_OK) == !corrupt[i]);
        if (s == HOLDALL_OK)
            check_batch(m, s, records, &up[i], 1, corrupt, true);
        else
            EQUAL(err.position, i);
    }
    holdall_bag *slice;
    if (n > 0) {
        OK(holdall_bag_slice(bag, n - 1, n, -1, &slice, &err));
        s = holdall_bag_read_range(slice, 0, n, &records, &err);
        check_batch(m, s, records, down, (size_t)n, corrupt, true);
        s = holdall_bag_read(slice, n - 1, got, sizeof got, &(size_t){0}, &err);
        CHECK((s == HOLDALL_OK) == !corrupt[0] &&
              (s == HOLDALL_OK || err.position == (int64_t)n - 1));
        holdall_bag_close(slice);
    }
    holdall_bag_close(bag);
    check_skipping(f, pairs, m, n, corrupt);
    return !any && n == m->n;
}

/* ---- the layout of a bag ----------------------------------------------------------------------*/

static uint64_t word_at(const uint8_t *p)
{
    uint64_t w = 0;
    for (int k = 7; k >= 0; k--)
        w = w << 8 | p[k];
    return w;
}

/* Returns the possible effects of a changed byte `at` of a file of an intact bag. *limit: is it the
 * lowest byte of a limit? */
static allowed allow(const folder *intact, const form *form, const model *m,
                     const folder_file *file, size_t at, bool *limit)
{
    allowed may = {.gone_from = m->n};
    bool tail = form->limits == HOLDALL_BAG_LIMITS_TAIL;
    const folder_file *limits = folder_find((folder *)(uintptr_t)intact, tail ? "" : "limits.");
    size_t first = limits->size - 8 * (size_t)m->n;
    *limit = false;
    if (strcmp(file->name, "checksums.") == 0) {
        may.lost[at / 4] = true;
    } else if (file == limits && at >= first) {
        uint64_t i = (at - first) / 8;
        *limit = (at - first) % 8 == 0;
        may.lost[i] = true;
        if (i + 1 < m->n)
            may.lost[i + 1] = true;
        else
            may.closed = tail;
    } else {
        for (uint64_t i = 0, from = 0; i < m->n; i++) {
            uint64_t to = word_at(limits->bytes + first + 8 * i);
            may.lost[i] = at >= from && at < to;
            from = to;
        }
    }
    return may;
}

static const char *shown(const folder_file *file)
{
    return file->name[0] ? file->name : "records";
}

/* Each byte of each file is changed to several other values. */
static void flip(const form *form, const model *m)
{
    folder intact = FOLDER, f = FOLDER;
    write_model(&intact, form, m);
    allowed nothing = {.gone_from = m->n};
    CHECK(check_damaged(&intact, form, m, &nothing));
    folder_copy(&f, &intact);
    for (int k = 0; k < intact.n; k++) {
        const folder_file *file = &intact.files[k];
        for (size_t at = 0; at < file->size; at++) {
            bool limit;
            allowed may = allow(&intact, form, m, file, at, &limit);
            uint8_t *byte = &folder_find(&f, file->name)->bytes[at], old = *byte;
            /* the lowest byte of a limit takes every fifth value; another byte three bits in turn
             * and the extremes */
            for (int v = 0; v < 256; v++) {
                int x = v ^ old;
                bool one_of_three = x == 1 << at % 8 || x == 1 << (at + 3) % 8 ||
                                    x == 1 << (at + 6) % 8;
                if (x == 0 || !(limit || one_of_three || v == 0 || v == 255) ||
                    (v + (int)at) % (slow() ? 199 : 5) != 0)
                    continue;
                now("%s, %s: %s at %zu becomes %d", form->name, m->name, shown(file), at, v);
                *byte = (uint8_t)v;
                bool right = check_damaged(&f, form, m, &may);
                /* a CRC-32 detects every changed byte */
                if (form->codec == HOLDALL_CODEC_NONE)
                    CHECK(!right);
            }
            *byte = old;
        }
    }
    folder_clear(&f);
    folder_clear(&intact);
}

/* One limit takes the value of another limit, or of any position in the file, which a changed byte
 * does only by chance in a small file. */
static void move_limits(const form *form, const model *m)
{
    folder intact = FOLDER, f = FOLDER;
    write_model(&intact, form, m);
    folder_copy(&f, &intact);
    bool tail = form->limits == HOLDALL_BAG_LIMITS_TAIL;
    const folder_file *file = folder_find(&intact, tail ? "" : "limits.");
    size_t first = file->size - 8 * (size_t)m->n;
    for (uint64_t i = 0; i < m->n; i++) {
        size_t at = first + 8 * (size_t)i;
        uint8_t *limit = folder_find(&f, file->name)->bytes + at, old[8];
        memcpy(old, limit, 8);
        bool lowest;
        allowed may = allow(&intact, form, m, file, at, &lowest);
        for (uint64_t to = (uint64_t)i % 3; to < 240; to += slow() ? 61 : 3) {
            now("%s, %s: limit %" PRIu64 " becomes %" PRIu64, form->name, m->name, i, to);
            for (int k = 0; k < 8; k++)
                limit[k] = (uint8_t)(to >> 8 * k);
            if (memcmp(limit, old, 8) != 0)
                check_damaged(&f, form, m, &may);
        }
        memcpy(limit, old, 8);
    }
    folder_clear(&f);
    folder_clear(&intact);
}

/* A range of bytes becomes 0 or 255, as in a lost disk sector. */
static void overwrite_runs(const form *form, const model *m)
{
    static const size_t lengths[] = {2, 10, 16, 24, 32};
    folder intact = FOLDER, f = FOLDER;
    write_model(&intact, form, m);
    allowed may = {.closed = true, .gone_from = m->n};
    for (uint64_t i = 0; i < m->n; i++)
        may.lost[i] = true;
    for (int k = 0; k < intact.n; k++)
        for (int which = 0; which < 10; which++) {
            const folder_file *file = &intact.files[k];
            const size_t n = lengths[which / 2];
            for (size_t at = (size_t)which % 5; at + n <= file->size; at += slow() ? 59 : 6) {
                int value = which % 2 ? 255 : 0;
                now("%s, %s: %zu bytes of %s from %zu on become %d", form->name, m->name, n,
                    shown(file), at, value);
                folder_copy(&f, &intact);
                folder_file *hit = folder_find(&f, file->name);
                memset(hit->bytes + at, value, n);
                size_t zeros = 0;
                while (zeros < hit->size && hit->bytes[zeros] == 0)
                    zeros++;
                /* Separate limits that are all 0 describe as many empty records, and nothing
                 * contradicts them. The same holds if all bytes from the first frame's header into
                 * the limits are zeroed. */
                bool detected = zeros < hit->size || strcmp(file->name, "limits.") != 0;
                if (form->limits == HOLDALL_BAG_LIMITS_TAIL && file->name[0] == '\0')
                    detected = at >= 9 || at + n <= file->size - 8 * (size_t)m->n;
                if (detected)
                    check_damaged(&f, form, m, &may);
                folder_clear(&f);
            }
        }
    folder_clear(&intact);
}

/* Eight bytes from another offset of the bag replace limits. */
static void copy_into_limits(const form *form, const model *m)
{
    folder intact = FOLDER, f = FOLDER;
    write_model(&intact, form, m);
    allowed may = {.closed = true, .gone_from = m->n};
    for (uint64_t i = 0; i < m->n; i++)
        may.lost[i] = true;
    const folder_file *from = folder_find(&intact, ""),
                      *to = folder_find(&intact,
                                        form->limits == HOLDALL_BAG_LIMITS_TAIL ? "" : "limits.");
    for (size_t at = to->size - 8 * (size_t)m->n; at + 8 <= to->size; at++)
        for (size_t source = at % 6; source + 8 <= from->size; source += slow() ? 300 : 6) {
            now("%s, %s: 8 bytes from %zu on lie at %zu of %s", form->name, m->name, source, at,
                shown(to));
            folder_copy(&f, &intact);
            memmove(folder_find(&f, to->name)->bytes + at, from->bytes + source, 8);
            check_damaged(&f, form, m, &may);
            folder_clear(&f);
        }
    folder_clear(&intact);
}

/* Each file is truncated at each length. */
static void truncate_files(const form *form, const model *m)
{
    folder intact = FOLDER, f = FOLDER;
    write_model(&intact, form, m);
    bool raw = form->codec == HOLDALL_CODEC_NONE, tail = form->limits == HOLDALL_BAG_LIMITS_TAIL;
    for (int k = 0; k < intact.n; k++) {
        const folder_file *file = &intact.files[k];
        for (size_t size = 0; size < file->size; size += slow() ? 7 : 1) {
            now("%s, %s: %s cut to %zu of %zu", form->name, m->name, shown(file), size, file->size);
            folder_copy(&f, &intact);
            folder_resize(folder_find(&f, file->name), size);
            allowed may = {.closed = true, .gone_from = m->n};
            for (uint64_t i = 0; i < m->n; i++)
                may.lost[i] = true;
            /* The format accepts these as bags: an empty file, and limits of fewer records. Only a
             * file of checksums shows the difference. */
            if (!raw && tail && size == 0)
                may.gone_from = 0;
            if (!raw && strcmp(file->name, "limits.") == 0 && size % 8 == 0)
                may.gone_from = size / 8;
            CHECK(!check_damaged(&f, form, m, &may));
            folder_clear(&f);
        }
    }
    folder_clear(&intact);
}

/* ---- holdall_verify ---------------------------------------------------------------------------*/

typedef struct {
    uint64_t faults, records;
    bool corrupt[MOST];
    holdall_error first;
} faults;

static int note(void *ctx, const char *part, const holdall_error *fault)
{
    faults *all = ctx;
    CHECK(fault->status < 0 && fault->message[0] && is_text(fault->message, sizeof fault->message));
    if (all->faults++ == 0)
        all->first = *fault;
    uint64_t i;
    if (sscanf(part, "record %" SCNu64, &i) == 1) {
        EQUAL(fault->position, i);
        CHECK(i < MOST && !all->corrupt[i]);
        all->corrupt[i] = true;
        all->records++;
    } else {
        CHECK(strstr(part, "damaged") != NULL);
        EQUAL(fault->position, -1);
    }
    return 0;
}

/* Verification finds the same corruption as reading, and reports each record. */
static void verify_finds_all(const form *form, const model *m)
{
    folder intact = FOLDER, f = FOLDER;
    write_model(&intact, form, m);
    folder_copy(&f, &intact);
    holdall_options *o =
        options_of(WITH(HOLDALL_OPT_CODEC, form->codec, HOLDALL_OPT_BAG_LIMITS, form->limits));
    uint64_t n = 0, corrupt = 0, unchecked = 0;
    save_folder(&f, "damaged");
    OK(verify_counts(in_tmp("damaged"), o, NULL, NULL, &n, &corrupt, &unchecked, &err));
    EQUAL(n, m->n);
    EQUAL(corrupt + unchecked, 0);
    for (int k = 0; k < intact.n; k++)
        for (size_t at = 0; at < intact.files[k].size; at += slow() ? 37 : 1) {
            now("verify %s, %s: %s at %zu", form->name, m->name, shown(&intact.files[k]), at);
            uint8_t *byte = &folder_find(&f, intact.files[k].name)->bytes[at];
            *byte ^= (uint8_t)(1 << at % 8);
            save_folder(&f, "damaged");
            faults all = {0};
            n = corrupt = unchecked = 99;
            preset_error();
            holdall_status s =
                verify_counts(in_tmp("damaged"), o, note, &all, &n, &corrupt, &unchecked, &err);
            CHECK(s <= 0 && (s < 0) == (all.faults > 0));
            if (s < 0) {
                CHECK(s == err.status && s == all.first.status &&
                      err.position == all.first.position);
                CHECK(strcmp(err.message, all.first.message) == 0);
            }
            holdall_bag *bag;
            if (try_folder_bag(
                    &f, WITH(HOLDALL_OPT_CODEC, form->codec, HOLDALL_OPT_BAG_LIMITS, form->limits),
                    &bag) < 0) {
                CHECK(s < 0 && all.faults == 1 && all.records == 0 && n + corrupt + unchecked == 0);
            } else {
                EQUAL(corrupt, all.records);
                EQUAL(n + corrupt + unchecked, m->n);
                EQUAL(unchecked, 0);
                for (uint64_t i = 0; i < m->n; i++) {
                    uint8_t got[256];
                    size_t size;
                    CHECK((holdall_bag_read(bag, i, got, sizeof got, &size, &err) < 0) ==
                          all.corrupt[i]);
                }
                holdall_bag_close(bag);
            }
            *byte ^= (uint8_t)(1 << at % 8);
        }
    holdall_options_free(o);
    folder_clear(&f);
    folder_clear(&intact);
    remove_files("damaged");
}

/* ---- holdall_repair ---------------------------------------------------------------------------*/

/* After any corruption, a repair makes no record silently wrong. */
static void repair_does_no_harm(const form *form, const model *m)
{
    folder intact = FOLDER, f = FOLDER;
    write_model(&intact, form, m);
    folder_copy(&f, &intact);
    holdall_options *o = options_of(WITH(HOLDALL_OPT_CODEC, form->codec, HOLDALL_OPT_BAG_LIMITS,
                                         form->limits, HOLDALL_OPT_DURABILITY, 0));
    for (int k = 0; k < intact.n; k++)
        for (size_t at = 0; at < intact.files[k].size; at++) {
            if (slow() && at % 101 != 0)
                continue;
            uint8_t *byte = &folder_find(&f, intact.files[k].name)->bytes[at], old = *byte;
            bool limit;
            allow(&intact, form, m, &intact.files[k], at, &limit);
            for (int bit = 0; bit < 8; bit++) {
                if (!limit && (size_t)bit != at % 8)
                    continue;
                *byte = (uint8_t)(old ^ 1 << bit);
                now("repair %s, %s: %s at %zu becomes %d", form->name, m->name,
                    shown(&intact.files[k]), at, *byte);
                save_folder(&f, "damaged");
                uint64_t retained = 99, dropped = 99;
                preset_error();
                holdall_status s = repair_counts(in_tmp("damaged"), o, &retained, &dropped, &err);
                CHECK(s == HOLDALL_OK ||
                      (s < 0 && err.status == s && retained == 99 && dropped == 99));
                folder after = FOLDER;
                load_folder(&after, "damaged");
                allowed may = {.closed = s < 0, .gone_from = s == HOLDALL_OK ? retained : 0};
                for (uint64_t i = 0; i < m->n; i++)
                    may.lost[i] = true;
                check_damaged(&after, form, m, &may);
                folder_clear(&after);
            }
            *byte = old;
        }
    holdall_options_free(o);
    folder_clear(&f);
    folder_clear(&intact);
    remove_files("damaged");
    TIDY();
}

int main(void)
{
    make_models();
    for (int f = 0; f < FORMS; f++)
        for (int m = 0; m < MODELS; m++) {
            flip(&forms[f], &models[m]);
            move_limits(&forms[f], &models[m]);
            overwrite_runs(&forms[f], &models[m]);
            copy_into_limits(&forms[f], &models[m]);
            truncate_files(&forms[f], &models[m]);
            if (m < 2)
                verify_finds_all(&forms[f], &models[m]);
            if (m == 5 || (m == 1 && forms[f].limits == HOLDALL_BAG_LIMITS_TAIL))
                repair_does_no_harm(&forms[f], &models[m]);
        }
    return 0;
}
