/*
 * Characters as UTF-8.
 */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that text of n bytes begins with; 0 where it is none. */
size_t utf8_length(const char *text, size_t n);
/* Returns whether the text is valid UTF-8. */
bool utf8_is_valid(const char *text, size_t n);
/* Writes a character, of 1 to 4 bytes; returns how many. What is no character becomes U+FFFD. */
size_t utf8_put(char *to, uint32_t code);
/* Reads one that utf8_length() has found. */
uint32_t utf8_get(const char *text, size_t length);

#endif
