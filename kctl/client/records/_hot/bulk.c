/* bulk.py in C; what each function promises is written there, and tests/unit/records/test_bulk.py compares the two. */

#include "numbers.h"

#define BLOCK 512 /* records whose places are kept at once */

typedef struct {
    Py_ssize_t at;
    Py_ssize_t size; /* -1: null */
} Value;

static PyObject *
take_values(PyObject *self, PyObject *args)
{
    Py_buffer data;
    Py_ssize_t pos, limit, most, left, separator_size, null_size;
    long long first_delta, end_delta;
    const char *separator, *null;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nnLLnny#y#:take_values", &data, &pos, &limit, &first_delta, &end_delta, &most, &left,
                          &separator, &separator_size, &null, &null_size))
        return NULL;
    const unsigned char *buf = data.buf;
    if (limit > data.len)
        limit = data.len;
    if (pos < 0 || pos > limit)
        limit = pos = pos < 0 ? 0 : limit;
    if (most > limit - pos) /* no record is shorter than a byte */
        most = limit - pos;

    PyObject *result = NULL, *out = NULL;
    Py_ssize_t room = 0, used = 0, taken = 0;
    long long last = first_delta - 1;
    int is_plain = 1;
    while (is_plain && taken < most) {
        Value block[BLOCK];
        Py_ssize_t count = 0, more = 0, next = pos;
        while (count < BLOCK && taken + count < most) {
            PlainRecord found;
            is_plain = plain_record(buf, next, limit, &found) && last < found.delta && found.delta < end_delta &&
                       (taken + count + 1 != left || found.end == limit);
            if (!is_plain)
                break;
            last = found.delta;
            next = found.end;
            block[count].at = found.value_at;
            block[count].size = found.value_size;
            more += (found.value_size < 0 ? null_size : found.value_size) + separator_size;
            count++;
        }
        if (used + more > room || out == NULL) {
            /* About as much again for each block that is still to come, where the first ones tell how much that is. */
            Py_ssize_t blocks = is_plain ? (most - taken + BLOCK - 1) / BLOCK : 1;
            Py_ssize_t left = limit - pos + (most - taken) * (separator_size + null_size);
            room = used + (more / 16 * 17 < left / blocks ? more / 16 * 17 * blocks : left);
            if (room < used + more)
                room = used + more;
            if (out == NULL)
                out = PyBytes_FromStringAndSize(NULL, room);
            else if (_PyBytes_Resize(&out, room) < 0)
                goto done;
            if (out == NULL)
                goto done;
        }
        char *to = PyBytes_AS_STRING(out) + used;
        for (Py_ssize_t at = 0; at < count; at++) {
            Py_ssize_t size = block[at].size;
            if (size < 0) {
                memcpy(to, null, (size_t)null_size);
                to += null_size;
            } else {
                memcpy(to, buf + block[at].at, (size_t)size);
                to += size;
            }
            if (separator_size == 1)
                *to++ = *separator;
            else {
                memcpy(to, separator, (size_t)separator_size);
                to += separator_size;
            }
        }
        used += more;
        taken += count;
        pos = next;
    }
    if (out == NULL)
        out = PyBytes_FromStringAndSize(NULL, 0);
    else if (used != room)
        _PyBytes_Resize(&out, used);
    if (out != NULL)
        result = Py_BuildValue("Nnnn", out, taken, pos, (Py_ssize_t)last);
done:
    PyBuffer_Release(&data);
    return result;
}

typedef struct {
    PyObject *contents; /* NULL: the column is not wanted */
    PyObject *ends;
    PyObject *given;
    Py_ssize_t used;
} Filled;

static int
filled_from(PyObject *parts, Filled *column)
{
    memset(column, 0, sizeof(Filled));
    if (parts == Py_None)
        return 1;
    if (!PyArg_ParseTuple(parts, "YYY", &column->contents, &column->ends, &column->given))
        return 0;
    column->used = PyByteArray_GET_SIZE(column->contents);
    return 1;
}

/* The end of a bytearray that becomes larger by so many bytes; NULL where it cannot. */
static char *
grown(PyObject *bytes, Py_ssize_t more)
{
    Py_ssize_t size = PyByteArray_GET_SIZE(bytes);
    if (PyByteArray_Resize(bytes, size + more) < 0)
        return NULL;
    return PyByteArray_AS_STRING(bytes) + size;
}

static int
fill(Filled *column, const unsigned char *buf, const PlainRecord *block, Py_ssize_t count, Py_ssize_t more, int is_key)
{
    char *to = grown(column->contents, more);
    char *ends = grown(column->ends, count * (Py_ssize_t)sizeof(int32_t));
    char *given = grown(column->given, count);
    if (to == NULL || ends == NULL || given == NULL)
        return 0;
    Py_ssize_t used = column->used;
    for (Py_ssize_t at = 0; at < count; at++) {
        Py_ssize_t size = is_key ? block[at].key_size : block[at].value_size;
        given[at] = size >= 0;
        if (size > 0) {
            memcpy(to, buf + (is_key ? block[at].key_at : block[at].value_at), (size_t)size);
            to += size;
            used += size;
        }
        int32_t end = (int32_t)used;
        memcpy(ends + at * (Py_ssize_t)sizeof end, &end, sizeof end);
    }
    column->used = used;
    return 1;
}

static PyObject *
take_columns(PyObject *self, PyObject *args)
{
    Py_buffer data;
    Py_ssize_t pos, limit, most, room;
    long long first_delta, end_delta, base_offset, base_ms;
    int is_fixed, ends_at_headers;
    PyObject *key_parts, *value_parts, *offsets, *times;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nnLLnnpLLpOOOO:take_columns", &data, &pos, &limit, &first_delta, &end_delta, &most,
                          &room, &ends_at_headers, &base_offset, &base_ms, &is_fixed, &key_parts, &value_parts,
                          &offsets, &times))
        return NULL;
    PyObject *result = NULL;
    Filled keys, values;
    if (!filled_from(key_parts, &keys) || !filled_from(value_parts, &values))
        goto done;
    if ((offsets != Py_None && !PyByteArray_Check(offsets)) || (times != Py_None && !PyByteArray_Check(times))) {
        PyErr_SetString(PyExc_TypeError, "a column that is no bytearray");
        goto done;
    }
    const unsigned char *buf = data.buf;
    if (limit > data.len)
        limit = data.len;
    if (pos < 0 || pos > limit)
        limit = pos = pos < 0 ? 0 : limit;
    Py_ssize_t taken = 0;
    long long last = first_delta - 1;
    int is_plain = 1;
    while (is_plain && taken < most && room > 0) {
        PlainRecord block[BLOCK];
        Py_ssize_t count = 0, key_bytes = 0, value_bytes = 0, next = pos;
        while (count < BLOCK && taken + count < most && room > 0) {
            PlainRecord *found = &block[count];
            is_plain = plain_record(buf, next, limit, found) && last < found->delta && found->delta < end_delta &&
                       !(ends_at_headers && found->has_headers);
            if (!is_plain)
                break;
            Py_ssize_t key_size = keys.contents != NULL && found->key_size > 0 ? found->key_size : 0;
            Py_ssize_t value_size = values.contents != NULL && found->value_size > 0 ? found->value_size : 0;
            if (keys.used + key_bytes + key_size > INT32_MAX || values.used + value_bytes + value_size > INT32_MAX) {
                is_plain = 0;
                break;
            }
            key_bytes += key_size;
            value_bytes += value_size;
            room -= key_size + value_size;
            last = found->delta;
            next = found->end;
            count++;
        }
        if ((keys.contents != NULL && !fill(&keys, buf, block, count, key_bytes, 1)) ||
            (values.contents != NULL && !fill(&values, buf, block, count, value_bytes, 0)))
            goto done;
        if (offsets != Py_None) {
            char *to = grown(offsets, count * (Py_ssize_t)sizeof(int64_t));
            if (to == NULL)
                goto done;
            for (Py_ssize_t at = 0; at < count; at++) {
                int64_t offset = (int64_t)base_offset + block[at].delta;
                memcpy(to + at * (Py_ssize_t)sizeof offset, &offset, sizeof offset);
            }
        }
        if (times != Py_None) {
            char *to = grown(times, count * (Py_ssize_t)sizeof(int64_t));
            if (to == NULL)
                goto done;
            for (Py_ssize_t at = 0; at < count; at++) {
                uint64_t delta = is_fixed ? 0 : (uint64_t)block[at].timestamp_delta;
                int64_t time = (int64_t)((uint64_t)base_ms + delta); /* wraps, as Java's does */
                memcpy(to + at * (Py_ssize_t)sizeof time, &time, sizeof time);
            }
        }
        taken += count;
        pos = next;
    }
    result = Py_BuildValue("nnnn", taken, pos, (Py_ssize_t)last, room);
done:
    PyBuffer_Release(&data);
    return result;
}

/* Where the delimiter is in data[at:end]; NULL where it is not. */
static inline const char *
find_delimiter(const char *at, const char *end, const char *delimiter, Py_ssize_t size)
{
    while (end - at >= size) {
        const char *found = memchr(at, delimiter[0], (size_t)(end - at - size + 1));
        if (found == NULL || size == 1 || memcmp(found, delimiter, (size_t)size) == 0)
            return found;
        at = found + 1;
    }
    return NULL;
}

static PyObject *
measure_lines(PyObject *self, PyObject *args)
{
    const char *data, *delimiter;
    Py_ssize_t data_size, size, count = 0, longest = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "y#y#:measure_lines", &data, &data_size, &delimiter, &size))
        return NULL;
    if (size == 0) {
        PyErr_SetString(PyExc_ValueError, "empty delimiter");
        return NULL;
    }
    const char *at = data, *found;
    while ((found = find_delimiter(at, data + data_size, delimiter, size)) != NULL) {
        count++;
        if (found - at > longest)
            longest = found - at;
        at = found + size;
    }
    return Py_BuildValue("nnn", count, longest, (Py_ssize_t)(at - data));
}

static PyObject *
encode_lines(PyObject *self, PyObject *args)
{
    const char *begun, *data, *delimiter;
    Py_ssize_t begun_size, data_size, at, end, delimiter_size, room, most;
    (void)self;
    if (!PyArg_ParseTuple(args, "y#y#nny#nn:encode_lines", &begun, &begun_size, &data, &data_size, &at, &end,
                          &delimiter, &delimiter_size, &room, &most))
        return NULL;
    if (delimiter_size == 0) {
        PyErr_SetString(PyExc_ValueError, "empty delimiter");
        return NULL;
    }
    if (end > data_size)
        end = data_size;
    if (at < 0 || at > end)
        at = end;
    Py_ssize_t size = begun_size + (end - at) / 8 * 9 + 64, used = 0, number = 0;
    if (size > room && room > 0)
        size = room;
    PyObject *out = PyBytes_FromStringAndSize(NULL, size);
    if (out == NULL)
        return NULL;
    while (at < end && number < most) {
        const char *found = find_delimiter(data + at, data + end, delimiter, delimiter_size);
        if (found == NULL)
            break;
        Py_ssize_t here = found - (data + at), value_size = begun_size + here;
        /* attributes, timestamp delta, offset delta, no key, size of the value, the value, no headers */
        Py_ssize_t contents = 4 + number_size((uint64_t)number) + number_size((uint64_t)value_size) + value_size;
        Py_ssize_t record = number_size((uint64_t)contents) + contents;
        if (number > 0 && record > room)
            break;
        if (used + record > size) {
            size = used + record + size / 2;
            if (_PyBytes_Resize(&out, size) < 0)
                return NULL;
        }
        char *to = put_number(PyBytes_AS_STRING(out) + used, (uint64_t)contents);
        *to++ = 0;
        *to++ = 0;
        to = put_number(to, (uint64_t)number);
        *to++ = 1;
        to = put_number(to, (uint64_t)value_size);
        memcpy(to, begun, (size_t)begun_size);
        to += begun_size;
        memcpy(to, data + at, (size_t)here);
        to += here;
        *to = 0;
        used += record;
        room -= record;
        begun_size = 0;
        number++;
        at += here + delimiter_size;
    }
    if (used != size && _PyBytes_Resize(&out, used) < 0)
        return NULL;
    return Py_BuildValue("Nnn", out, number, at);
}

static PyModuleDef_Slot slots[] = {{0, NULL}};

static PyMethodDef methods[] = {
    {"encode_lines", encode_lines, METH_VARARGS, NULL},
    {"measure_lines", measure_lines, METH_VARARGS, NULL},
    {"take_columns", take_columns, METH_VARARGS, NULL},
    {"take_values", take_values, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "bulk", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit_bulk(void)
{
    return PyModuleDef_Init(&module);
}
