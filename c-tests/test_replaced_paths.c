/* Renamed paths under an open writer: containers, their parent folders, their locks and the files
 * beside or in them are swapped with those of another container, which has its own writer. Either a
 * commit changes the container that the writer opened, or it fails; the other container and its
 * writer are not affected. */
#include "formats.h"

enum { ONE = 40, ONE_MORE = 20, TWO = 30, TWO_MORE = 25 };

/* When names are swapped; in the last case they are swapped back after the commit, and there is
 * another commit. */
enum { OPENED, WRITTEN, BACK, MOMENTS };
static const char *const moments[] = {"after opening", "before the commit",
                                      "until after the commit"};

/* What is swapped: parts of two folders, one/ and two/, with a container of the same name in
 * each. */
static const struct {
    const char *what, *path;
} swaps[] = {
    {"folders", ""},
    {"containers", "/%s"},
    {"locks", "/%s.holdall-lock"},
    {"locks in it", "/%s/dataset.holdall-lock"},
    {"limits", "/limits.%s"},
    {"checksums", "/checksums.%s"},
    {"waiting files", "/%s.holdall-part"},
    {"new files", "/%s.holdall-new"},
    {"data", "/%s/data"},
    {"meta", "/%s/meta"},
    {"sizes", "/%s/meta/sizes"},
    {"a column", "/%s/x"},
    {"data of a column", "/%s/x/data"},
    {"meta of a column", "/%s/x/meta"},
    {"names of columns", "/%s/__rootdirs__"},
    {"indexes", "/%s/chunks.b2frame"},
    {"chunks", "/%s/00000000.chunk"},
    {"locks of a folder", "/%s/chunks.b2frame.holdall-lock"},
};
enum { SWAPS = sizeof swaps / sizeof swaps[0] };

static void path_of(char *path, const char *folder, const char *pattern, int form)
{
    char rest[256];
    snprintf(rest, sizeof rest, pattern, forms[form].name);
    snprintf(path, 512, "%s%s", in_tmp(folder), rest);
}

static void move(const char *from, const char *to)
{
    CHECK(rename(from, to) == 0 || errno == ENOENT);
}

/* Returns whether there was something to swap. */
static bool swap(int form, int which)
{
    char one[512], two[512], other[512];
    path_of(one, "one", swaps[which].path, form);
    path_of(two, "two", swaps[which].path, form);
    snprintf(other, sizeof other, "%s", in_tmp("other"));
    if (!there(one) && !there(two))
        return false;
    move(one, other);
    move(two, one);
    move(other, two);
    return true;
}

static holdall_status write_and_swap(int form, int which, int moment, writer *w)
{
    if (moment == OPENED)
        swap(form, which);
    holdall_status s = append(w, ONE, ONE_MORE);
    if (moment == WRITTEN || moment == BACK)
        swap(form, which);
    if (s >= 0)
        s = commit(w);
    return s;
}

static uint64_t rows_in(int form, const char *folder)
{
    char path[512];
    path_of(path, folder, "/%s", form);
    return look(form, path);
}

static void check_swap(int form, int which, int moment)
{
    char one[512], two[512];
    CHECK(mkdir(in_tmp("one"), 0755) == 0 && mkdir(in_tmp("two"), 0755) == 0);
    path_of(one, "one", "/%s", form);
    path_of(two, "two", "/%s", form);
    add(form, one, true, 0, ONE);
    add(form, two, true, 0, TWO);
    writer w, other;
    GAVE(HOLDALL_OK, open_writer_of(form, one, false, &w));
    GAVE(HOLDALL_OK, open_writer_of(form, two, false, &other));
    GAVE(HOLDALL_OK, append(&other, TWO, TWO_MORE));
    if (!swap(form, which)) {
        close_writer(&w);
        close_writer(&other);
        return;
    }
    swap(form, which);
    holdall_status s = write_and_swap(form, which, moment, &w);
    if (s < 0)
        CHECK(s == HOLDALL_E_STATE || s == HOLDALL_E_MISSING || s == HOLDALL_E_FORMAT ||
              s == HOLDALL_E_EXISTS);
    if (moment == BACK) {
        swap(form, which);
        holdall_status again = commit(&w);
        s = s < 0 ? again : s;
    }
    close_writer(&w);
    if (moment != BACK)
        swap(form, which);
    /* the other writer continues normally, unless its own files were missing when it checked
     * them */
    EQUAL(rows_in(form, "two"), TWO);
    EQUAL(rows_in(form, "one"), s < 0 ? ONE : ONE + ONE_MORE);
    GAVE(HOLDALL_OK, commit(&other));
    close_writer(&other);
    EQUAL(rows_in(form, "two"), TWO + TWO_MORE);
    add(form, one, false, s < 0 ? ONE : ONE + ONE_MORE, 1);
    EQUAL(rows_in(form, "one"), (s < 0 ? ONE : ONE + ONE_MORE) + 1);
}

int main(void)
{
    for (int form = 0; form < FORMS; form++)
        for (int which = 0; which < SWAPS; which++)
            for (int moment = 0; moment < MOMENTS; moment++) {
                if (getenv("SHOW"))
                    printf("%s: %s %s\n", forms[form].name, swaps[which].what, moments[moment]),
                        fflush(stdout);
                check_swap(form, which, moment);
                remove_all();
            }
    return 0;
}
