/* trips FOLDER: creates a bag, an array and a table with attributes in the empty folder FOLDER,
 * opens them again, and prints parts of them.
 *
 * The programs in other languages beside it print the same lines and write the same files.
 *   cc trips.c -o trips $(pkg-config --cflags --libs holdall) */
#include <holdall.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIPS = 1000, DAYS = 200, HOURS = 100 };

static holdall_error err;

/* Ends the program with the message of a failure. */
static void check(holdall_status status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "trips: %s (%s)\n", err.message, holdall_status_name(status));
    exit(1);
}

/* Returns the path of a container of this name. */
static const char *in(const char *folder, const char *name)
{
    static char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        exit(2);
    return path;
}

static int32_t stops(int trip) { return trip * trip % 97; }
static double km(int trip) { return 2.25 * stops(trip) + 0.5; }

static void bag(const char *path)
{
    holdall_bag_writer *writer;
    char record[64];
    check(holdall_bag_writer_open(path, HOLDALL_CREATE, NULL, &writer, &err));
    for (int i = 0; i < TRIPS; i++) {
        int n = snprintf(record, sizeof record, "trip %d: %" PRId32 " stops", i, stops(i));
        check(holdall_bag_writer_append(writer, record, (size_t)n, &err));
    }
    check(holdall_bag_writer_commit(writer, &err));
    holdall_bag_writer_close(writer);

    holdall_bag *all, *some;
    size_t n;
    check(holdall_bag_open(path, NULL, &all, &err));
    printf("bag: %" PRIu64 " records\n", holdall_bag_record_count(all));
    check(holdall_bag_slice(all, TRIPS - 1, 4, -333, &some, &err));
    for (uint64_t i = 0; i < holdall_bag_record_count(some); i++) {
        check(holdall_bag_read(some, i, record, sizeof record, &n, &err));
        printf("%.*s\n", (int)n, record);
    }
    holdall_status status = holdall_bag_read(all, TRIPS, record, sizeof record, &n, &err);
    printf("one more: %s\n", holdall_status_name(status));
    holdall_bag_close(some);
    holdall_bag_close(all);
}

static void array(const char *path)
{
    static double field[DAYS][HOURS];
    for (int day = 0; day < DAYS; day++)
        for (int hour = 0; hour < HOURS; hour++)
            field[day][hour] = day + hour / 4.0;

    const uint64_t shape[] = {DAYS, HOURS};
    const holdall_array_spec spec = {.struct_size = sizeof spec,
                                     .format = HOLDALL_FORMAT_B2ND,
                                     .dtype = "<f8",
                                     .ndim = 2,
                                     .shape = shape};
    holdall_array *a;
    check(holdall_array_create(path, HOLDALL_CREATE, &spec, NULL, &a, &err));
    check(holdall_array_write(a, NULL, NULL, NULL, field, sizeof field, NULL, &err));
    check(holdall_array_commit(a, &err));
    holdall_array_close(a);

    const uint64_t start[] = {10, 4}, count[] = {2, 3}, step[] = {50, 2};
    double box[2][3];
    check(holdall_array_open(path, HOLDALL_READ, NULL, &a, &err));
    const uint64_t *is = holdall_array_shape(a);
    printf("array: %" PRIu64 " x %" PRIu64 " of %s\n", is[0], is[1], holdall_array_dtype(a));
    check(holdall_array_read(a, start, count, step, box, sizeof box, NULL, &err));
    for (int i = 0; i < 2; i++)
        printf("%.2f %.2f %.2f\n", box[i][0], box[i][1], box[i][2]);
    holdall_array_close(a);
}

static void say_attr(const holdall_table *t, const char *name)
{
    const void *value;
    size_t n;
    check(holdall_table_attr_get(t, name, &value, &n, &err));
    printf("%s: %.*s\n", name, (int)n, (const char *)value);
}

static void table(const char *path)
{
    static int32_t all_stops[TRIPS];
    static double all_km[TRIPS];
    for (int i = 0; i < TRIPS; i++) {
        all_stops[i] = stops(i);
        all_km[i] = km(i);
    }
    const char *names[] = {"stops", "km"}, *dtypes[] = {"<i4", "<f8"};
    const void *columns[] = {all_stops, all_km};
    const size_t sizes[] = {sizeof all_stops, sizeof all_km};
    const holdall_table_spec spec = {.struct_size = sizeof spec,
                                     .format = HOLDALL_FORMAT_BCOLZ,
                                     .column_count = 2,
                                     .names = names,
                                     .dtypes = dtypes};
    holdall_table *t;
    check(holdall_table_create(path, HOLDALL_CREATE, &spec, NULL, &t, &err));
    check(holdall_table_append(t, TRIPS, columns, sizes, &err));
    check(holdall_table_attr_set(t, "city", "\"Turin\"", 7, &err));
    check(holdall_table_attr_set(t, "year", "2013", 4, &err));
    check(holdall_table_commit(t, &err));
    holdall_table_close(t);

    check(holdall_table_open(path, HOLDALL_READ, NULL, &t, &err));
    printf("table: %" PRIu64 " rows\n", holdall_table_row_count(t));
    say_attr(t, "city");
    say_attr(t, "year");
    int32_t some_stops[3];
    double some_km[3];
    void *dsts[] = {some_stops, some_km};
    const size_t dst_sizes[] = {sizeof some_stops, sizeof some_km};
    check(holdall_table_read_rows(t, TRIPS - 3, 3, 1, 2, names, dsts, dst_sizes, &err));
    for (int i = 0; i < 3; i++)
        printf("%" PRId32 " stops, %.2f km\n", some_stops[i], some_km[i]);
    holdall_table_close(t);
}

static void verify(const char *path, const char *name)
{
    holdall_verify_result found = {.struct_size = sizeof found};
    check(holdall_verify(path, NULL, NULL, NULL, &found, &err));
    printf("%s: %" PRIu64 " intact, %" PRIu64 " corrupt\n", name, found.intact, found.corrupt);
}

int main(int argc, char **argv)
{
    const char *names[] = {"trips.bagz", "field.b2nd", "trips.bcolz"};
    if (argc != 2)
        return 2;
    printf("holdall %s\n", holdall_version_text());
    bag(in(argv[1], names[0]));
    array(in(argv[1], names[1]));
    table(in(argv[1], names[2]));
    for (int i = 0; i < 3; i++)
        verify(in(argv[1], names[i]), names[i]);
    return 0;
}
