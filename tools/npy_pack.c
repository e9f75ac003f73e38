/*
 * holdall pack and append of a file of NumPy (.npy): it becomes an array, or rows of one.
 *
 * The items go into chunks as they stand in the file; what is in front of them, a Python dictionary, becomes
 * the metadata that make a superchunk an array. The library judges the type, nothing is run or built here.
 */
#include "npy.h"
#include "options.h"
#include "packing.h"
#include "report.h"
#include "info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest header that is read: types with many fields have long ones. */
enum { HEADER_MOST = 16 << 20 };
/* Room for the fixed text of the metadata, and for a number of the shape. */
enum { FIXED = 128, NUMBER = 24 };

static bool no_npy(const struct input *in, const char *why) {
    return complain("%s: no file of NumPy: %s (--raw packs its bytes)", in->name, why), false;
}

/* ---- the header ---- */

/* Text of versions 1 and 2 is Latin-1. */
static char *as_utf8(const unsigned char *bytes, size_t n, bool latin1) {
    char *text = malloc(2 * n + 1), *to = text;
    if (!text) return NULL;
    for (size_t i = 0; i < n; i++) {
        if (latin1 && bytes[i] >= 0x80) {
            *to++ = (char)(0xC0 | bytes[i] >> 6);
            *to++ = (char)(0x80 | (bytes[i] & 0x3F));
        } else {
            *to++ = (char)bytes[i];
        }
    }
    *to = '\0';
    return text;
}

/* Reads the dictionary, to be freed. */
static char *read_header(struct input *in) {
    unsigned char lead[12];
    size_t got, size = 0;
    if (!input_read(in, lead, 10, &got)) return NULL;
    if (got < 10 || memcmp(lead, "\x93NUMPY", 6) != 0) return no_npy(in, "it does not begin as one"), NULL;
    unsigned version = lead[6];
    if (version < 1 || version > 3) return no_npy(in, "its version is none of 1, 2 and 3"), NULL;
    size_t end = version == 1 ? 10 : 12;
    if (end > 10 && !input_read(in, lead + 10, 2, &got)) return NULL;
    if (end > 10 && got < 2) return no_npy(in, "it ends within its header"), NULL;
    for (size_t i = end; i-- > 8;) size = size << 8 | lead[i];
    if (size > HEADER_MOST) return no_npy(in, "its header is too long"), NULL;
    unsigned char *bytes = malloc(size + 1);
    char *text = NULL;
    if (!bytes) {
        complain("out of memory");
    } else if (input_read(in, bytes, size, &got)) {
        bool whole = got == size && !memchr(bytes, 0, size);
        text = whole ? as_utf8(bytes, size, version < 3) : NULL;
        if (!whole) no_npy(in, "it ends within its header");
    }
    free(bytes);
    return text;
}

/* A part of the dictionary. */
struct part {
    const char *text;
    size_t n;
};

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct part trimmed(const char *from, const char *to) {
    while (from < to && is_space(*from)) from++;
    while (to > from && is_space(to[-1])) to--;
    return (struct part){from, (size_t)(to - from)};
}

static bool is(struct part part, const char *text) {
    return part.n == strlen(text) && memcmp(part.text, text, part.n) == 0;
}

/* The end of a value or key: the first of `stops` outside of strings and brackets. */
static const char *part_end(const char *at, const char *stops) {
    int depth = 0;
    for (char quote = '\0'; *at; at++) {
        if (quote) {
            if (*at == '\\' && at[1]) at++;
            else if (*at == quote) quote = '\0';
        } else if (depth == 0 && strchr(stops, *at)) {
            return at;
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
        } else if (strchr("([{", *at)) {
            depth++;
        } else if (strchr(")]}", *at)) {
            depth--;
        }
    }
    return NULL;
}

/* Finds the three values of the dictionary. */
static bool find_values(const char *text, struct part *descr, struct part *order, struct part *shape) {
    while (is_space(*text)) text++;
    if (*text++ != '{') return false;
    for (;;) {
        const char *colon = part_end(text, ":}"), *end;
        if (!colon || *colon == '}') return colon && trimmed(text, colon).n == 0;
        if (!(end = part_end(colon + 1, ",}"))) return false;
        struct part key = trimmed(text, colon), value = trimmed(colon + 1, end);
        if (is(key, "'descr'") || is(key, "\"descr\"")) *descr = value;
        if (is(key, "'fortran_order'") || is(key, "\"fortran_order\"")) *order = value;
        if (is(key, "'shape'") || is(key, "\"shape\"")) *shape = value;
        if (*end == '}') return true;
        text = end + 1;
    }
}

/* A tuple of numbers; Python 2 appended an L to some. */
static bool parse_shape(struct part part, struct npy *npy) {
    const char *at = part.text + 1, *end = part.text + part.n - 1;
    if (part.n < 2 || *part.text != '(' || *end != ')') return false;
    for (;;) {
        while (at < end && is_space(*at)) at++;
        if (at == end) return true;
        if (npy->ndim == HOLDALL_MAX_NDIM || *at < '0' || *at > '9') return false;
        uint64_t n = 0;
        for (; *at >= '0' && *at <= '9'; at++) {
            if (n > (UINT64_MAX - 9) / 10) return false;
            n = n * 10 + (uint64_t)(*at - '0');
        }
        npy->shape[npy->ndim++] = n;
        at += *at == 'L';
        while (is_space(*at)) at++;
        if (at == end) return true;
        if (*at++ != ',') return false;
    }
}

static bool parse_header(const struct input *in, const char *text, struct npy *npy) {
    struct part descr = {"", 0}, order = descr, shape = descr;
    if (!find_values(text, &descr, &order, &shape) || descr.n == 0) return no_npy(in, "its header is no dictionary of one");
    npy->fortran_order = is(order, "True");
    if (!npy->fortran_order && !is(order, "False")) return no_npy(in, "fortran_order is neither True nor False");
    if (!parse_shape(shape, npy)) return no_npy(in, "its shape is no tuple of at most 16 numbers");
    npy->descr = malloc(descr.n + 1);
    if (!npy->descr) return complain("out of memory"), false;
    memcpy(npy->descr, descr.text, descr.n);
    npy->descr[descr.n] = '\0';
    return true;
}

bool npy_read_header(struct input *in, struct npy *npy) {
    *npy = (struct npy){.descr = NULL};
    char *text = read_header(in);
    bool good = text && parse_header(in, text, npy);
    free(text);
    return good;
}

/* ---- rows for an array that is there ---- */

/* The next significant character of a type: skips spaces between tokens, and unifies quotes. */
static char next_of_type(const char **at, char *quote) {
    while (!*quote && is_space(**at)) ++*at;
    char c = **at;
    if (c == '\0') return c;
    ++*at;
    if (*quote ? c != *quote : c != '\'' && c != '"') return c;
    *quote = *quote ? '\0' : c;
    return '\'';
}

/* The library has a type that is no list without its quotes. */
static bool same_type(const char *descr, const char *dtype) {
    char one = '\0', other = '\0', c;
    while (is_space(*descr)) descr++;
    if (*descr == '\'' || *descr == '"') {
        size_t n = strlen(dtype);
        return strncmp(descr + 1, dtype, n) == 0 && descr[n + 1] == *descr;
    }
    while ((c = next_of_type(&descr, &one)) == next_of_type(&dtype, &other)) {
        if (c == '\0') return true;
    }
    return false;
}

static const char *shape_text(char *text, const uint64_t *shape, uint32_t ndim) {
    char *to = text + sprintf(text, "(");
    for (uint32_t d = 0; d < ndim; d++) to += sprintf(to, "%s%" PRIu64 "%s", d ? ", " : "", shape[d], ndim == 1 ? "," : "");
    sprintf(to, ")");
    return text;
}

bool npy_fits(struct npy *npy, const struct input *in, const holdall_array *array) {
    char ours[HOLDALL_MAX_NDIM * NUMBER], theirs[HOLDALL_MAX_NDIM * NUMBER];
    const uint64_t *shape = holdall_array_shape(array);
    uint32_t ndim = holdall_array_ndim(array);
    if (!same_type(npy->descr, holdall_array_dtype(array))) {
        complain("%s: its items are of %s, those of the array are of %s (--raw takes its bytes)", in->name, npy->descr,
                 holdall_array_dtype(array));
        return false;
    }
    bool fits = npy->ndim == ndim;
    for (uint32_t d = 1; fits && d < ndim; d++) fits = npy->shape[d] == shape[d];
    if (!fits) {
        complain("%s: its shape is %s, that of the array is %s: only the first dimension may be another one", in->name,
                 shape_text(ours, npy->shape, npy->ndim), shape_text(theirs, shape, ndim));
        return false;
    }
    if (npy->fortran_order && ndim > 1) {
        complain("%s: its items are in Fortran order, rows of the array are not (pack it, and append what cat gives of that)",
                 in->name);
        return false;
    }
    npy->nbytes = holdall_array_itemsize(array);
    for (uint32_t d = 0; d < ndim; d++) {
        if (npy->shape[d] > 0 && npy->nbytes > UINT64_MAX / npy->shape[d]) return no_npy(in, "it cannot have so many bytes");
        npy->nbytes *= npy->shape[d];
    }
    return true;
}

/* ---- what it becomes ---- */

/* Puts the slowest dimension first. */
static void put_slowest_first(const struct npy *npy, const uint64_t *from, uint64_t *to) {
    for (uint32_t d = 0; d < npy->ndim; d++) to[d] = from[npy->fortran_order ? npy->ndim - 1 - d : d];
}

bool npy_lay_out(struct npy *npy, const struct args *args, const char *out, holdall_mode mode, holdall_options *options) {
    /* the library cuts chunks between indices of the first dimension */
    uint64_t shape[HOLDALL_MAX_NDIM] = {0}, room[HOLDALL_MAX_NDIM], chunks[HOLDALL_MAX_NDIM];
    const uint64_t *given;
    put_slowest_first(npy, npy->shape, shape);
    if (!numbers_as_shape(&args->chunks, "chunks", out, npy->ndim, room, &given)) return false;
    if (given) put_slowest_first(npy, given, chunks);
    holdall_array *array;
    holdall_error error;
    /* it is never committed */
    holdall_array_spec spec = {.struct_size = sizeof spec, .format = HOLDALL_FORMAT_BLOSCPACK, .dtype = npy->descr, .ndim = npy->ndim,
                               .shape = shape, .chunk_shape = given ? chunks : NULL};
    if (holdall_array_create(out, mode, &spec, options, &array, &error) < 0) {
        complain_create(out, &error, mode == HOLDALL_REPLACE);
        return false;
    }
    npy->itemsize = holdall_array_itemsize(array);
    npy->nbytes = holdall_array_nbytes(array);
    npy->chunk_size = npy->itemsize;
    for (uint32_t d = 0; d < npy->ndim; d++) npy->chunk_size *= info_of_array(array).chunk_shape[d];
    holdall_array_close(array);
    if (npy->chunk_size == 0) npy->chunk_size = npy->itemsize > 0 ? npy->itemsize : 1; /* there is no content */
    return true;
}

/* Text in the quotes of JSON. */
static char *put_quoted(char *to, const char *text) {
    *to++ = '"';
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20) {
            to += sprintf(to, "\\u%04x", (unsigned)*text);
            continue;
        }
        if (*text == '"' || *text == '\\') *to++ = '\\';
        *to++ = *text;
    }
    *to++ = '"';
    return to;
}

char *npy_metadata(const struct npy *npy) {
    char *json = malloc(6 * strlen(npy->descr) + FIXED + (size_t)npy->ndim * NUMBER), *to = json;
    if (!json) return complain("out of memory"), NULL;
    to += sprintf(to, "{\"dtype\":");
    to = put_quoted(to, npy->descr);
    to += sprintf(to, ",\"shape\":[");
    for (uint32_t d = 0; d < npy->ndim; d++) to += sprintf(to, "%s%" PRIu64, d ? "," : "", npy->shape[d]);
    sprintf(to, "],\"order\":\"%s\",\"container\":\"numpy\"}", npy->fortran_order ? "F" : "C");
    return json;
}
