/* bulk.py in C; what each function promises is written there, and tests/unit/records/test_bulk.py compares the two. */

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
    Py_ssize_t value_at;
    Py_ssize_t value_size; /* -1: null */
    Py_ssize_t end;
    int32_t delta;
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
    while (pos < end && pos < timestamp_end && buf[pos] >= 0x80)
        pos++;
    if (pos >= end || pos == timestamp_end)
        return 0;
    pos++;
    int32_t delta = short_number(buf, &pos, end);
    if (delta < 0)
        return 0;
    int32_t key_size = short_number(buf, &pos, end);
    if (key_size < -1 || key_size > end - pos)
        return 0;
    if (key_size > 0)
        pos += key_size;
    int32_t value_size = short_number(buf, &pos, end);
    if (value_size < -1 || value_size > end - pos)
        return 0;
    Py_ssize_t headers_at = value_size > 0 ? pos + value_size : pos;
    if (headers_at >= end || (buf[headers_at] == 0 && headers_at + 1 != end))
        return 0;
    found->delta = delta;
    found->value_at = pos;
    found->value_size = value_size;
    found->end = end;
    return 1;
}

#define BLOCK 512 /* records whose places are kept at once */

static PyObject *
take_values(PyObject *self, PyObject *args)
{
    Py_buffer data;
    Py_ssize_t pos, limit, most, separator_size, null_size;
    long long first_delta, end_delta;
    const char *separator, *null;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nnLLny#y#:take_values", &data, &pos, &limit, &first_delta, &end_delta, &most,
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
        PlainRecord block[BLOCK];
        Py_ssize_t count = 0, more = 0, next = pos;
        while (count < BLOCK && taken + count < most) {
            PlainRecord *found = &block[count];
            is_plain = plain_record(buf, next, limit, found) && last < found->delta && found->delta < end_delta;
            if (!is_plain)
                break;
            last = found->delta;
            next = found->end;
            more += (found->value_size < 0 ? null_size : found->value_size) + separator_size;
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
            Py_ssize_t size = block[at].value_size;
            if (size < 0) {
                memcpy(to, null, (size_t)null_size);
                to += null_size;
            } else {
                memcpy(to, buf + block[at].value_at, (size_t)size);
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

/* A part of a bytes object, read-only and without a release: what the format "y#" of other modules takes. */
typedef struct {
    PyObject_HEAD
    PyObject *data;
    Py_ssize_t start, size;
} Part;

static int
part_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    Part *part = (Part *)self;
    return PyBuffer_FillInfo(view, self, PyBytes_AS_STRING(part->data) + part->start, part->size, 1, flags);
}

static void
part_dealloc(PyObject *self)
{
    Py_DECREF(((Part *)self)->data);
    PyObject_Free(self);
}

static PyBufferProcs part_buffer = {part_get_buffer, NULL};

static PyTypeObject part_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kctl.client.records._hot.bulk.Part",
    .tp_basicsize = sizeof(Part),
    .tp_dealloc = part_dealloc,
    .tp_as_buffer = &part_buffer,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

static PyObject *
part_of(PyObject *self, PyObject *args)
{
    PyObject *data;
    Py_ssize_t start, end;
    (void)self;
    if (!PyArg_ParseTuple(args, "Snn:part_of", &data, &start, &end))
        return NULL;
    Py_ssize_t size = PyBytes_GET_SIZE(data);
    if (end > size)
        end = size;
    if (start < 0 || start > end)
        start = end < 0 ? (end = 0) : end;
    Part *part = PyObject_New(Part, &part_type);
    if (part == NULL)
        return NULL;
    Py_INCREF(data);
    part->data = data;
    part->start = start;
    part->size = end - start;
    return (PyObject *)part;
}

static int
prepare(PyObject *module)
{
    (void)module;
    return PyType_Ready(&part_type);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, prepare},
    {0, NULL},
};

static PyMethodDef methods[] = {
    {"part_of", part_of, METH_VARARGS, NULL},
    {"encode_lines", encode_lines, METH_VARARGS, NULL},
    {"measure_lines", measure_lines, METH_VARARGS, NULL},
    {"take_values", take_values, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "bulk", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit_bulk(void)
{
    return PyModuleDef_Init(&module);
}
