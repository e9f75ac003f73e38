/*
 * CRC-32C by tables, eight bytes at a time: "slicing by 8".
 *
 * tables[k][b] is what a byte b does to the sum when k zero bytes follow it.
 */
#include "crc32c.h"

#include <stdbool.h>

/* The polynomial 0x1EDC6F41, its lowest bit first. */
#define POLYNOMIAL 0x82f63b78u

static uint32_t tables[8][256];

static void make_tables(void) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        tables[0][b] = crc;
    }
    for (uint32_t b = 0; b < 256; b++) {
        for (int k = 1; k < 8; k++) tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 0xff];
    }
}

static uint32_t four(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t crc32c(const void *bytes, size_t n) {
    static bool made; /* the tool computes checksums on one thread */
    if (!made) make_tables();
    made = true;
    const unsigned char *p = bytes;
    uint32_t crc = ~0u;
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = crc ^ four(p), high = four(p + 4);
        crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^ tables[4][low >> 24] ^
              tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^ tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
    }
    for (; n > 0; n--, p++) crc = crc >> 8 ^ tables[0][(crc ^ *p) & 0xff];
    return ~crc;
}

uint32_t crc32c_masked(const void *bytes, size_t n) {
    uint32_t crc = crc32c(bytes, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
