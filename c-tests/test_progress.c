/* Progress and cancellation of reads, changes and commits, for each form of container. */
#include "formats.h"

#include <pthread.h>

/* The reports since the last reset. */
static struct {
    uint64_t calls, last, total;
    /* reports with fewer bytes than the one before */
    uint64_t descents;
    /* the report that stops the call; 0: none does */
    uint64_t stop_at;
} reports;
static pthread_t caller;

static int report(void *ctx, uint64_t done, uint64_t total)
{
    CHECK(ctx == &reports && pthread_equal(caller, pthread_self()) && done <= total);
    reports.calls++;
    reports.descents += done < reports.last;
    reports.last = done;
    reports.total = total;
    return reports.calls == reports.stop_at;
}

static void reset(uint64_t stop_at)
{
    memset(&reports, 0, sizeof reports);
    reports.stop_at = stop_at;
}

/* One call must have reported this many bytes. */
static void expect(uint64_t bytes)
{
    CHECK(reports.calls > 0 || bytes == 0);
    EQUAL(reports.total, bytes);
    EQUAL(reports.last, bytes);
    EQUAL(reports.descents, 0);
    reset(0);
}

static uint64_t row_bytes(int form)
{
    return forms[form].kind == TABLE ? 8 : 4;
}

static void changes_report_bytes_of_content(int form, const char *path)
{
    writer w;
    GAVE(HOLDALL_OK, open_writer_of(form, path, true, &w));
    reset(0);
    GAVE(HOLDALL_OK, append(&w, 0, NEW));
    /* single records do not report */
    expect(w.kind == BAG ? 0 : NEW * row_bytes(form));
    GAVE(HOLDALL_OK, rewrite(&w));
    EQUAL(reports.last, w.kind == BAG ? 0 : (TO - FROM) * 4);
    reset(0);
    if (w.kind == BAG) {
        uint64_t offsets[MORE + 1] = {0, 4, 8, 12};
        OK(holdall_bag_writer_append_many(w.bag, rows(NEW, MORE, false), offsets, MORE, &err));
        expect(MORE * 4);
    }
    GAVE(HOLDALL_OK, commit(&w));
    expect(reports.total);
    close_writer(&w);
}

static void reads_report_bytes_of_content(int form, const char *path)
{
    reader r;
    int32_t got[ROWS], other[ROWS];
    uint64_t n;
    GAVE(HOLDALL_OK, open_reader(form, path, &r));
    reset(0);
    GAVE(HOLDALL_OK, read_all(&r, got, &n));
    expect(r.kind == BAG ? 0 : n * 4);
    if (r.kind == TABLE) {
        void *dsts[] = {got, other};
        size_t sizes[] = {n * 4, n * 4};
        OK(holdall_table_read_rows(r.table, 0, n, 1, 2, NULL, dsts, sizes, &err));
        expect(n * 8);
    } else if (r.kind == BAG) {
        holdall_records *records;
        OK(holdall_bag_read_range(r.bag, 0, n, &records, &err));
        holdall_records_free(records);
        expect(n * 4);
    }
    /* the first report stops the call */
    reset(1);
    if (r.kind == BAG) {
        holdall_records *records;
        GIVES(HOLDALL_E_CANCELLED, holdall_bag_read_range(r.bag, 0, n, &records, &err));
        CHECK(records == NULL);
    } else {
        GAVE(HOLDALL_E_CANCELLED, read_all(&r, got, &n));
        CHECK(says("progress callback"));
    }
    /* the handle remains usable */
    reset(0);
    GAVE(HOLDALL_OK, read_all(&r, got, &n));
    check_rows(form, got, n < NEW ? n : NEW);
    close_reader(&r);
}

/* Changes a container; the change is stopped at report `stop`, unless that is the last of its call. Returns the number of
 * reports. */
static uint64_t stop_at(int form, const char *path, uint64_t stop, uint64_t *stops)
{
    writer w;
    add(form, path, true, 0, OLD);
    GAVE(HOLDALL_OK, open_writer_of(form, path, false, &w));
    reset(stop);
    holdall_status s = append(&w, OLD, NEW - OLD);
    if (s == HOLDALL_OK)
        s = rewrite(&w);
    bool in_commit = s == HOLDALL_OK;
    if (in_commit)
        s = commit(&w);
    bool stopped = s != HOLDALL_OK;
    if (stopped) {
        GAVE(HOLDALL_E_CANCELLED, s);
        EQUAL(reports.calls, stop);
        reset(0);
        EQUAL(look(form, path), OLD);
        reset(0);
        /* a stopped commit can be repeated */
        if (in_commit)
            GAVE(HOLDALL_OK, commit(&w));
    } else {
        in_commit = true;
    }
    uint64_t calls = reports.calls;
    reset(0);
    *stops += stopped;
    close_writer(&w);
    EQUAL(look(form, path), in_commit ? NEW : OLD);
    remove_all();
    return calls;
}

int main(void)
{
    caller = pthread_self();
    progress_callback = report;
    progress_ctx = &reports;
    for (int form = 0; form < ALL_FORMS; form++) {
        char path[1024];
        snprintf(path, sizeof path, "%s", in_tmp(forms[form].name));
        now("%s", forms[form].name);
        changes_report_bytes_of_content(form, path);
        reads_report_bytes_of_content(form, path);
        remove_all();
        uint64_t stops = 0, all = stop_at(form, path, 0, &stops);
        for (uint64_t stop = 1; stop <= all; stop++)
            stop_at(form, path, stop, &stops);
        now("%s: stopped at %d of %d reports", forms[form].name, (int)stops, (int)all);
        CHECK(stops > 0);
    }
    TIDY();
    return 0;
}
