/*
 * MessagePack, in which Blosc2 keeps the values beside an array, and JSON, in which people read and write them.
 *
 * Bytes are {"hex": "00ff"} in JSON, extensions have a member "ext" with their number besides; NaN and the infinities are
 * strings. Names of members that are no strings become their JSON.
 */
#ifndef MSGPACK_H
#define MSGPACK_H

#include "text.h"

/* Puts a value as JSON. False: it is no MessagePack, or more than one value; what was put then is to be dropped. */
bool msgpack_to_json(struct text *text, const unsigned char *bytes, size_t n);
/* Puts JSON, which is known to be that, as MessagePack. False: it is nested too deep, which is reported. */
bool msgpack_from_json(struct text *text, const char *json);

/* Puts bytes as {"hex": ...}. */
void hex_to_json(struct text *text, const unsigned char *bytes, size_t n);

#endif
