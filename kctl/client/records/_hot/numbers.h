/* Varints of the record format, and the layout of a plain record: what the loops in C have in common. */

#ifndef KCTL_NUMBERS_H
#define KCTL_NUMBERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#define NONE (-2) /* no short varint is there */

/* The number of a varint of at most 4 bytes before `end`; *pos is behind it afterwards. */
static inline int32_t
short_number(const unsigned char *buf, Py_ssize_t *pos, Py_ssize_t end)
{
    Py_ssize_t at = *pos;
    uint32_t number = 0;
    for (int shift = 0; shift < 28 && at < end; shift += 7) {
        unsigned char byte = buf[at++];
        number |= (uint32_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *pos = at;
            return (int32_t)(number >> 1) ^ -(int32_t)(number & 1);
        }
    }
    return NONE;
}

typedef struct {
    Py_ssize_t key_at;
    Py_ssize_t value_at;
    Py_ssize_t end;
    int64_t timestamp_delta;
    int32_t key_size;   /* -1: null */
    int32_t value_size; /* -1: null */
    int32_t delta;
    int has_headers;
} PlainRecord;

static inline int
plain_record(const unsigned char *buf, Py_ssize_t pos, Py_ssize_t limit, PlainRecord *found)
{
    int32_t size = short_number(buf, &pos, limit);
    if (size < 0 || size > limit - pos)
        return 0;
    Py_ssize_t end = pos + size;
    pos += 1; /* attributes */
    Py_ssize_t timestamp_end = pos + 9;
    uint64_t timestamp = 0;
    int shift = 0;
    while (pos < end && pos < timestamp_end && buf[pos] >= 0x80) {
        timestamp |= (uint64_t)(buf[pos++] & 0x7F) << shift;
        shift += 7;
    }
    if (pos >= end || pos == timestamp_end)
        return 0;
    timestamp |= (uint64_t)buf[pos++] << shift;
    found->timestamp_delta = (int64_t)(timestamp >> 1) ^ -(int64_t)(timestamp & 1);
    found->delta = short_number(buf, &pos, end);
    if (found->delta < 0)
        return 0;
    int32_t key_size = short_number(buf, &pos, end);
    if (key_size < -1 || key_size > end - pos)
        return 0;
    found->key_at = pos;
    if (key_size > 0)
        pos += key_size;
    int32_t value_size = short_number(buf, &pos, end);
    if (value_size < -1 || value_size > end - pos)
        return 0;
    Py_ssize_t headers_at = value_size > 0 ? pos + value_size : pos;
    if (headers_at >= end || (buf[headers_at] == 0 && headers_at + 1 != end))
        return 0;
    found->key_size = key_size;
    found->value_at = pos;
    found->value_size = value_size;
    found->end = end;
    found->has_headers = buf[headers_at] != 0;
    return 1;
}

/* The varint of a number that is not negative; returns the place behind it. */
static inline char *
put_number(char *to, uint64_t number)
{
    number <<= 1;
    while (number >= 0x80) {
        *to++ = (char)(number | 0x80);
        number >>= 7;
    }
    *to++ = (char)number;
    return to;
}

static inline Py_ssize_t
number_size(uint64_t number)
{
    Py_ssize_t size = 1;
    for (number <<= 1; number >= 0x80; number >>= 7)
        size++;
    return size;
}

#endif
