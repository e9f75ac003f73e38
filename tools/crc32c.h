/*
 * CRC-32C (Castagnoli), which TFRecord files have.
 */
#ifndef CRC32C_H
#define CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t n);
/* As TFRecord stores it: turned and moved, so that checksums of data that contains checksums stay effective. */
uint32_t crc32c_masked(const void *bytes, size_t n);

#endif
