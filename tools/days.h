/*
 * Days and years: the Gregorian calendar, forwards and backwards for ever, as NumPy has it.
 */
#ifndef DAYS_H
#define DAYS_H

#include <stdint.h>

struct date {
    int64_t year;
    int month, day; /* from 1 on */
};

/* Days since 1970-01-01. */
int64_t days_of(struct date date);
struct date date_of(int64_t days);
/* Days of a month, 1 to 12. */
int days_in_month(int64_t year, int month);

#endif
