/*
 * The calendar repeats itself every 400 years, which are 146,097 days; years begin in March here, so that the day
 * that some have more is their last.
 */
#include "days.h"

enum { ERA = 146097, TO_1970 = 719468 };

static int64_t floor_div(int64_t n, int64_t by) {
    return n / by - (n % by < 0);
}

int64_t days_of(struct date date) {
    int64_t year = date.month <= 2 ? date.year - 1 : date.year, era = floor_div(year, 400);
    int64_t of_era = year - era * 400, month = (date.month + 9) % 12;
    int64_t of_year = (153 * month + 2) / 5 + date.day - 1;
    return era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - TO_1970;
}

struct date date_of(int64_t days) {
    int64_t era = floor_div(days, ERA), day = days - era * ERA + TO_1970, more = day / ERA;
    day -= more * ERA;
    int64_t of_era = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t of_year = day - (365 * of_era + of_era / 4 - of_era / 100);
    int64_t month = (5 * of_year + 2) / 153;
    struct date date = {of_era + (era + more) * 400, (int)(month < 10 ? month + 3 : month - 9),
                        (int)(of_year - (153 * month + 2) / 5 + 1)};
    date.year += date.month <= 2;
    return date;
}

int days_in_month(int64_t year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}
