/* Files that all versions of Bloscpack wrote, and files in the layout of the BLZ RFC: opened, read,
 * verified; their copies are appended to, changed, committed, truncated, and read again. Corruption
 * is an error, or the remaining content is read. */
#include "schunk.h"

/* Returns the text after the first "key": in an entry of the manifest, or NULL. */
static const char *value_after(const char *entry, const char *key)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *at = strstr(entry, pattern);
    return at == NULL ? NULL : at + strlen(pattern) + strspn(at + strlen(pattern), " ");
}

/* Copies the value at that position, up to the next quote, comma or brace. */
static bool field(const char *entry, const char *key, char *value, size_t size)
{
    const char *at = value_after(entry, key);
    if (at == NULL)
        return false;
    at += *at == '"';
    size_t n = strcspn(at, "\",}");
    CHECK(n < size);
    memcpy(value, at, n);
    value[n] = '\0';
    return true;
}

static bool has(const char *entry, const char *key, const char *want)
{
    char value[512];
    return field(entry, key, value, sizeof value) && strcmp(value, want) == 0;
}

/* Returns the end of the object that begins here. */
static char *end_of(char *entry)
{
    int depth = 0;
    bool quoted = false;
    for (char *p = entry; *p; p++) {
        if (quoted && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (!quoted && *p == '{')
            depth++;
        else if (!quoted && *p == '}' && --depth == 0)
            return p + 1;
    }
    CHECK(!"an object that ends");
    return NULL;
}

/* Does its content have this SHA-256, as the manifest has it? Arrays in Fortran order are compared
 * in C order. */
static bool is_sha256(const holdall_schunk *s, const char *entry, const char *want)
{
    size_t n = (size_t)holdall_schunk_nbytes(s);
    uint8_t *bytes = malloc(n + 1), *other = malloc(n + 1), digest[32];
    CHECK(bytes != NULL && other != NULL);
    OK(holdall_schunk_read(s, 0, bytes, n, &err));
    char number[32], hex[65] = "";
    size_t rows = 0, columns = 0;
    if (has(entry, "order", "F") &&
        sscanf(value_after(entry, "shape"), "[%zu , %zu ]", &rows, &columns) == 2 &&
        field(entry, "itemsize", number, sizeof number)) {
        size_t item = strtoul(number, NULL, 10);
        EQUAL(rows * columns * item, n);
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < columns; c++)
                memcpy(other + (r * columns + c) * item, bytes + (c * rows + r) * item, item);
        memcpy(bytes, other, n);
    }
    size_t digest_size;
    OK(holdall_checksum_compute(HOLDALL_CHECKSUM_SHA256, bytes, n, digest, sizeof digest,
                                &digest_size, &err));
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    free(bytes), free(other);
    return strcmp(hex, want) == 0;
}

/* Reads the content of a file without interpreting it. */
static uint8_t *all_of(const holdall_schunk *s, size_t *n)
{
    *n = (size_t)holdall_schunk_nbytes(s);
    uint8_t *bytes = malloc(*n + 1);
    CHECK(bytes != NULL);
    OK(holdall_schunk_read(s, 0, bytes, *n, &err));
    return bytes;
}

static void check_all(const char *path, const uint8_t *want, size_t n)
{
    holdall_schunk *s = open_schunk(path, HOLDALL_READ, NULL);
    size_t got_n;
    uint8_t *got = all_of(s, &got_n);
    CHECK(n == got_n && memcmp(got, want, n) == 0);
    free(got);
    holdall_schunk_close(s);
    /* an array whose content was changed as a superchunk is no longer an array, and its chunks are
     * intact */
    uint64_t corrupt = 9;
    holdall_status verified = verify_counts(path, NULL, NULL, NULL, NULL, &corrupt, NULL, &err);
    CHECK(corrupt == 0 &&
          (verified == HOLDALL_OK || (verified == HOLDALL_E_FORMAT && says("in the shape"))));
}

/* Changes of all kinds to a copy; those before a commit are visible after it. */
static void change_copy(const char *copy)
{
    holdall_schunk *s = open_schunk(copy, HOLDALL_APPEND, NULL);
    size_t n, more = 3 * schunk_info(s).chunk_size + 5, meta_size = 0;
    more = more < 100000 ? more : 100000;
    uint8_t *old = all_of(s, &n), *content = malloc(n + more + 1);
    const void *meta;
    char *meta_copy = NULL;
    if (holdall_schunk_attr_get(s, "", &meta, &meta_size, &err) == HOLDALL_OK) {
        meta_copy = malloc(meta_size + 1);
        CHECK(meta_copy != NULL);
        memcpy(meta_copy, meta, meta_size);
    }
    CHECK(content != NULL);
    memcpy(content, old, n);
    make_content(0, content + n, more, 5);
    for (size_t at = 0; at < more;) {
        size_t piece = more - at < 7001 ? more - at : 7001;
        OK(holdall_schunk_append(s, content + n + at, piece, &err));
        at += piece;
    }
    /* not before the commit */
    check_all(copy, old, n);
    OK(holdall_schunk_commit(s, &err));
    check_all(copy, content, n + more);
    n += more;
    size_t at = n / 3, part = n / 2 < 5000 ? n / 2 : 5000;
    make_content(at, content + at, part, 6);
    OK(holdall_schunk_write(s, at, content + at, part, &err));
    OK(holdall_schunk_commit(s, &err));
    check_all(copy, content, n);
    n -= more / 2;
    OK(holdall_schunk_truncate(s, n, &err));
    finish(s);
    check_all(copy, content, n);

    s = open_schunk(copy, HOLDALL_READ, NULL);
    size_t size;
    holdall_status status = holdall_schunk_attr_get(s, "", &meta, &size, &err);
    if (meta_copy != NULL)
        CHECK(status == HOLDALL_OK && size == meta_size && memcmp(meta, meta_copy, size) == 0);
    else
        CHECK(status == HOLDALL_NOT_FOUND);
    holdall_schunk_close(s);
    free(old), free(content), free(meta_copy);
}

static void check_intact_file(const char *path, const char *entry, const char *sha256, bool changes)
{
    char nbytes[32];
    CHECK(field(entry, "nbytes", nbytes, sizeof nbytes));
    for (int io = 0; io < 2; io++) {
        holdall_schunk *s = open_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_IO, IO(io)));
        EQUAL(holdall_schunk_nbytes(s), strtoull(nbytes, NULL, 10));
        EQUAL(schunk_info(s).stored_bytes, file_size(path));
        CHECK(is_sha256(s, entry, sha256));
        CHECK(holdall_schunk_attr_count(s) == 0 || holdall_schunk_attr_name(s, 0) != NULL);
        holdall_schunk_close(s);
    }
    uint64_t intact = 0, corrupt = 0, unchecked = 0;
    holdall_format format;
    OK(holdall_identify(path, &format, NULL, &err));
    EQUAL(format, HOLDALL_FORMAT_BLOSCPACK);
    holdall_status verified =
        verify_counts(path, NULL, NULL, NULL, &intact, &corrupt, &unchecked, &err);
    /* a writer that died before it wrote the chunk offsets has left complete chunks; it is reported
     * nevertheless */
    CHECK(corrupt == 0 && intact + unchecked > 0 &&
          (verified == HOLDALL_OK || verified == HOLDALL_E_FORMAT));
    if (!changes)
        return;
    const char *copy = in_tmp("copy.blp");
    size_t n;
    uint8_t *bytes = load(path, &n);
    save(copy, bytes, n);
    free(bytes);
    holdall_schunk *s;
    if (has(entry, "dialect", "v0"))
        GIVES(HOLDALL_E_UNSUPPORTED, holdall_schunk_open(copy, HOLDALL_APPEND, NULL, &s, &err));
    else
        change_copy(copy);
}

/* A writer died. The existing content can be read on request, and a repair makes the file
 * consistent. */
static void damaged_file(const char *path, const char *entry, const char *sha256)
{
    holdall_schunk *s;
    uint64_t retained = 0, dropped = 0;
    GIVES(HOLDALL_E_FORMAT, holdall_schunk_open(path, HOLDALL_READ, NULL, &s, &err));
    CHECK(err.position >= 0);
    int64_t first = err.position;
    s = open_schunk(path, HOLDALL_READ, WITH(HOLDALL_OPT_SKIP_DAMAGED, 1));
    EQUAL(holdall_schunk_chunk_count(s), first);
    CHECK(is_sha256(s, entry, sha256));
    holdall_schunk_close(s);
    CHECK(verify_counts(path, NULL, NULL, NULL, NULL, &dropped, NULL, &err) < 0 && dropped > 0);
    const char *copy = in_tmp("copy.blp");
    size_t n;
    uint8_t *bytes = load(path, &n);
    save(copy, bytes, n);
    free(bytes);
    GIVES(HOLDALL_E_FORMAT, holdall_schunk_open(copy, HOLDALL_APPEND, NULL, &s, &err));
    OK(repair_counts(copy, NULL, &retained, &dropped, &err));
    EQUAL(retained, first);
    CHECK(dropped > 0);
    s = open_schunk(copy, HOLDALL_READ, NULL);
    CHECK(is_sha256(s, entry, sha256));
    holdall_schunk_close(s);
    change_copy(copy);
}

int main(void)
{
    const char *given = fixtures("blpk");
    if (given == NULL)
        return 0;
    char folder[1024], path[2048], name[512], sha256[80];
    snprintf(folder, sizeof folder, "%s", given);
    snprintf(path, sizeof path, "%s/files.tar.gz", folder);
    if (there(path)) {
        char command[4096];
        snprintf(command, sizeof command, "mkdir '%s' && tar xzf '%s' -C '%s'", in_tmp("files"),
                 path, in_tmp("files"));
        CHECK(system(command) == 0);
        snprintf(folder, sizeof folder, "%s", in_tmp("files"));
    }
    snprintf(path, sizeof path, "%s/manifest.json", given);
    size_t n, all = 0, damaged = 0;
    char *manifest = (char *)load(path, &n);
    manifest[n] = '\0';
    char *entry = strchr(strstr(manifest, "\"fixtures\""), '[') + 1;
    while (entry += strcspn(entry, "{]"), *entry == '{') {
        char *end = end_of(entry), after = *end;
        *end = '\0';
        if (has(entry, "kind", "bloscpack")) {
            CHECK(field(entry, "path", name, sizeof name) &&
                  field(entry, "sha256", sha256, sizeof sha256));
            field(entry, "sha256_stored", sha256, sizeof sha256);
            now("%s", name);
            snprintf(path, sizeof path, "%s/%s", folder, name);
            all++;
            if (has(entry, "expect", "damaged")) {
                damaged++;
                damaged_file(path, entry, sha256);
            } else {
                check_intact_file(path, entry, sha256, !slow() || all % 7 == 0);
            }
        }
        *end = after;
        entry = end;
    }
    free(manifest);
    CHECK(all > 80 && damaged > 0);
    TIDY();
    return 0;
}
