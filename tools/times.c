/*
 * A time is a count of years, months, weeks or days, or of a part of a day that divides the next larger one.
 */
#include "times.h"
#include "days.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of a second, or seconds of the unit; years, months and weeks are reckoned otherwise. */
static const struct {
    const char *unit;
    int64_t per_second; /* 0: a unit of seconds */
    int64_t seconds;
    int digits; /* after the point */
} units[] = {
    {"D", 0, 86400, 0},       {"h", 0, 3600, 0},         {"m", 0, 60, 0},
    {"s", 1, 1, 0},           {"ms", 1000, 1, 3},        {"us", 1000000, 1, 6},
    {"ns", 1000000000, 1, 9}, {"ps", INT64_C(1000000000000), 1, 12}, {"fs", INT64_C(1000000000000000), 1, 15},
    {"as", INT64_C(1000000000000000000), 1, 18},
};
enum { UNITS = sizeof units / sizeof *units };
#define DAY INT64_C(86400)

static int unit_of(const struct type *type) {
    for (int i = 0; i < UNITS; i++) {
        if (strcmp(units[i].unit, type->unit) == 0) return i;
    }
    return -1;
}

static int64_t floor_div(int64_t n, int64_t by) {
    return n / by - (n % by < 0);
}

/* Digits of a year that is printed and read; a longer number alone is the count. */
enum { YEAR_MOST = 16 };

/* Counts beyond this have a longer year. */
static int64_t furthest(const struct type *type) {
    static const struct {
        const char *unit;
        int64_t count;
    } units[] = {{"Y", INT64_C(9000000000000000)}, {"M", INT64_C(100000000000000000)}, {"W", INT64_C(500000000000000000)},
                 {"D", INT64_C(3600000000000000000)}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].unit, type->unit) == 0) return units[i].count;
    }
    return INT64_MAX;
}

/* ---- to text ---- */

static void put_date(struct text *text, struct date date, int parts) {
    char buffer[64];
    int n = snprintf(buffer, sizeof buffer, "%s%04" PRIu64, date.year < 0 ? "-" : "",
                     date.year < 0 ? 0 - (uint64_t)date.year : (uint64_t)date.year);
    if (parts > 1) n += snprintf(buffer + n, sizeof buffer - (size_t)n, "-%02d", date.month);
    if (parts > 2) n += snprintf(buffer + n, sizeof buffer - (size_t)n, "-%02d", date.day);
    text_put(text, buffer, (size_t)n);
}

/* Seconds of a day, as far as the unit counts them, and the parts of one. */
static void put_clock(struct text *text, int unit, int64_t second, int64_t part) {
    char buffer[64];
    int n = snprintf(buffer, sizeof buffer, "T%02d", (int)(second / 3600));
    if (units[unit].seconds < 3600) n += snprintf(buffer + n, sizeof buffer - (size_t)n, ":%02d", (int)(second / 60 % 60));
    if (units[unit].seconds < 60) n += snprintf(buffer + n, sizeof buffer - (size_t)n, ":%02d", (int)(second % 60));
    if (units[unit].digits > 0) n += snprintf(buffer + n, sizeof buffer - (size_t)n, ".%0*" PRId64, units[unit].digits, part);
    text_put(text, buffer, (size_t)n);
}

static void put_time(struct text *text, int unit, int64_t count) {
    int64_t per_second = units[unit].per_second, days, second, part = 0;
    if (per_second > 0) {
        int64_t seconds = floor_div(count, per_second);
        part = count - seconds * per_second;
        days = floor_div(seconds, DAY);
        second = seconds - days * DAY;
    } else {
        int64_t per_day = DAY / units[unit].seconds;
        days = floor_div(count, per_day);
        second = (count - days * per_day) * units[unit].seconds;
    }
    put_date(text, date_of(days), 3);
    if (units[unit].seconds < DAY) put_clock(text, unit, second, part);
}

void times_put(struct text *text, const struct type *type, int64_t value) {
    int unit = unit_of(type);
    int64_t count, month = 0;
    bool far = __builtin_mul_overflow(value, type->many, &count) || count > furthest(type) || count < -furthest(type);
    if (value == NO_TIME) {
        text_string(text, "NaT");
    } else if (unit >= 0 && !far) {
        put_time(text, unit, count);
    } else if (strcmp(type->unit, "Y") == 0 && !far) {
        put_date(text, (struct date){count + 1970, 1, 1}, 1);
    } else if (strcmp(type->unit, "M") == 0 && !far) {
        month = floor_div(count, 12) * 12;
        put_date(text, (struct date){month / 12 + 1970, (int)(count - month) + 1, 1}, 2);
    } else if (strcmp(type->unit, "W") == 0 && !far) {
        put_date(text, date_of(7 * count), 3);
    } else { /* no unit, or a year too long */
        char buffer[32];
        text_put(text, buffer, (size_t)snprintf(buffer, sizeof buffer, "%" PRId64, value));
    }
}

/* ---- from text ---- */

/* A number of just so many digits. */
static bool digits(const char **at, const char *end, int n, int64_t *value) {
    *value = 0;
    for (; n > 0; n--, ++*at) {
        if (*at == end || **at < '0' || **at > '9') return false;
        *value = *value * 10 + (**at - '0');
    }
    return true;
}

/* Digits after a point, padded to 18. */
static bool fraction(const char **at, const char *end, int64_t *value) {
    int n = 0;
    *value = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && n < 18; n++, ++*at) *value = *value * 10 + (**at - '0');
    for (int i = n; i < 18; i++) *value *= 10;
    return n > 0;
}

struct moment {
    struct date date;
    int64_t second, atto; /* of the day, of the second */
};

static bool parse_clock(const char *at, const char *end, struct moment *moment) {
    int64_t hour = 0, minute = 0, second = 0, shift_h, shift_m = 0;
    if (!digits(&at, end, 2, &hour)) return false;
    if (at < end && *at == ':' && (at++, !digits(&at, end, 2, &minute))) return false;
    if (at < end && *at == ':' && (at++, !digits(&at, end, 2, &second))) return false;
    if (at < end && *at == '.' && (at++, !fraction(&at, end, &moment->atto))) return false;
    moment->second = hour * 3600 + minute * 60 + second;
    if (hour > 23 || minute > 59 || second > 59) return false;
    if (at < end && *at == 'Z') return at + 1 == end;
    if (at < end && (*at == '+' || *at == '-')) { /* another zone: NumPy's times are those of Greenwich */
        int64_t sign = *at++ == '-' ? -1 : 1;
        if (!digits(&at, end, 2, &shift_h)) return false;
        if (at < end && *at == ':') at++;
        if (at < end && !digits(&at, end, 2, &shift_m)) return false;
        moment->second -= sign * (shift_h * 3600 + shift_m * 60);
    }
    return at == end;
}

/* YYYY, YYYY-MM, YYYY-MM-DD, and then T or a space and a time. A longer year has a month: without one it is a count. */
static bool parse_moment(const char *at, const char *end, struct moment *moment) {
    int64_t year, month = 1, day = 1;
    bool before = at < end && *at == '-';
    if (before) at++;
    int n = 0;
    while (at + n < end && n < YEAR_MOST && at[n] >= '0' && at[n] <= '9') n++;
    if (!digits(&at, end, n < 4 ? 4 : n, &year) || (n > 4 && (at == end || *at != '-'))) return false;
    if (at < end && *at == '-' && (at++, !digits(&at, end, 2, &month))) return false;
    if (at < end && *at == '-' && (at++, !digits(&at, end, 2, &day))) return false;
    year = before ? -year : year;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, (int)month)) return false;
    *moment = (struct moment){{year, (int)month, (int)day}, 0, 0};
    return at == end || ((*at == 'T' || *at == ' ') && parse_clock(at + 1, end, moment));
}

/* Drops what is smaller than the unit, which must be 0. */
static bool divide(int64_t n, int64_t by, int64_t *value) {
    *value = n / by;
    return n % by == 0;
}

/* n of `each`, and `more`, which is less than one; false: 64 bits do not hold the sum. Of those before zero the product alone
 * may be beyond them. */
static bool put_together(int64_t n, int64_t each, int64_t more, int64_t *sum) {
    if (n < 0) {
        n++;
        more -= each;
    }
    return !__builtin_mul_overflow(n, each, sum) && !__builtin_add_overflow(*sum, more, sum);
}

static bool all_digits(const char *text, size_t n) {
    while (n > 0 && text[n - 1] >= '0' && text[n - 1] <= '9') n--;
    return n == 0;
}

/* The count itself, which is longer than a year can be. */
static bool parse_count(const char *text, size_t n, int64_t *value) {
    char *end, buffer[24];
    size_t digits = n > 0 && *text == '-' ? n - 1 : n;
    if (digits <= YEAR_MOST || n >= sizeof buffer || !all_digits(text + n - digits, digits)) return false;
    memcpy(buffer, text, n);
    buffer[n] = '\0';
    errno = 0;
    *value = strtoll(buffer, &end, 10);
    return errno == 0 && *value != NO_TIME;
}

bool times_parse(const struct type *type, const char *text, size_t n, int64_t *value) {
    struct moment m;
    int unit = unit_of(type);
    if (n == 0 || (n == 3 && memcmp(text, "NaT", 3) == 0) || (n == 2 && memcmp(text, "NA", 2) == 0)) {
        *value = NO_TIME;
        return true;
    }
    if (parse_count(text, n, value)) return true;
    if (!parse_moment(text, text + n, &m)) return false;
    int64_t days = days_of(m.date), count = 0, seconds;
    bool midnight = m.second == 0 && m.atto == 0, fits = true;
    bool far = !put_together(days, DAY, m.second, &seconds);
    if (strcmp(type->unit, "Y") == 0) {
        count = m.date.year - 1970;
        fits = midnight && m.date.month == 1 && m.date.day == 1;
    } else if (strcmp(type->unit, "M") == 0) {
        count = (m.date.year - 1970) * 12 + m.date.month - 1;
        fits = midnight && m.date.day == 1;
    } else if (strcmp(type->unit, "W") == 0) {
        fits = midnight && divide(days, 7, &count);
    } else if (unit >= 0 && units[unit].seconds == DAY) {
        fits = midnight; /* which may be further away than seconds can represent */
        count = days;
    } else if (unit < 0 || far) {
        return false;
    } else if (units[unit].per_second == 0) {
        fits = m.atto == 0 && divide(seconds, units[unit].seconds, &count);
    } else {
        int64_t part;
        fits = divide(m.atto, units[UNITS - 1].per_second / units[unit].per_second, &part) &&
               put_together(seconds, units[unit].per_second, part, &count);
    }
    return fits && divide(count, type->many, value) && *value != NO_TIME;
}
