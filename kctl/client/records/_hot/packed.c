/* packed.py in C; what each function promises is written there, and tests/unit/records/test_packed.py compares the two. */

#include "numbers.h"

typedef struct {
    Py_buffer contents;
    Py_buffer ends;
    Py_buffer bitmap; /* .buf is NULL: none is null */
    Py_ssize_t bit;
    Py_ssize_t count;
} Column;

static void
release(Column *column)
{
    if (column->contents.obj != NULL)
        PyBuffer_Release(&column->contents);
    if (column->ends.obj != NULL)
        PyBuffer_Release(&column->ends);
    if (column->bitmap.obj != NULL)
        PyBuffer_Release(&column->bitmap);
}

/* Fills `column` from the tuple of a column; it has to be released in any case. */
static int
column_from(PyObject *parts, Column *column)
{
    memset(column, 0, sizeof(Column));
    if (parts == Py_None)
        return 1;
    if (!PyTuple_Check(parts)) {
        PyErr_SetString(PyExc_TypeError, "a column that is no tuple");
        return 0;
    }
    if (!PyArg_ParseTuple(parts, "y*y*z*n", &column->contents, &column->ends, &column->bitmap, &column->bit))
        return 0;
    column->count = column->ends.len / (Py_ssize_t)sizeof(int32_t) - 1;
    if (column->count < 0 || column->bit < 0 ||
        (column->bitmap.buf != NULL && column->bit > column->bitmap.len * 8 - column->count)) {
        PyErr_SetString(PyExc_ValueError, "a column without all of its ends");
        return 0;
    }
    int32_t before = 0;
    const char *ends = column->ends.buf;
    for (Py_ssize_t row = 0; row <= column->count; row++) {
        int32_t end;
        memcpy(&end, ends + row * (Py_ssize_t)sizeof end, sizeof end);
        if (end < before || end > column->contents.len) {
            PyErr_SetString(PyExc_ValueError, "a column whose ends are not in its contents");
            return 0;
        }
        before = end;
    }
    return 1;
}

/* The size of an entry and where it is; -1 of a null. */
static inline Py_ssize_t
entry(const Column *column, Py_ssize_t row, const char **at)
{
    if (column->bitmap.buf != NULL) {
        Py_ssize_t bit = column->bit + row;
        if (!(((const unsigned char *)column->bitmap.buf)[bit >> 3] >> (bit & 7) & 1))
            return -1;
    }
    int32_t bounds[2];
    memcpy(bounds, (const char *)column->ends.buf + row * (Py_ssize_t)sizeof(int32_t), sizeof bounds);
    *at = (const char *)column->contents.buf + bounds[0];
    return bounds[1] - bounds[0];
}

static inline char *
put_entry(char *to, const char *content, Py_ssize_t size)
{
    if (size < 0) {
        *to++ = 1; /* the varint of -1 */
        return to;
    }
    to = put_number(to, (uint64_t)size);
    memcpy(to, content, (size_t)size);
    return to + size;
}

static inline Py_ssize_t
entry_size(Py_ssize_t size)
{
    return size < 0 ? 1 : number_size((uint64_t)size) + size;
}

static PyObject *
take_entries(PyObject *self, PyObject *args)
{
    PyObject *parts, *result = NULL;
    Py_ssize_t first, end;
    (void)self;
    if (!PyArg_ParseTuple(args, "Onn:take_entries", &parts, &first, &end))
        return NULL;
    Column column;
    if (!column_from(parts, &column))
        goto done;
    if (parts == Py_None || first < 0 || first > end || end > column.count) {
        PyErr_SetString(PyExc_ValueError, "rows that the columns do not have");
        goto done;
    }
    result = PyList_New(end - first);
    for (Py_ssize_t row = first; result != NULL && row < end; row++) {
        const char *at = NULL;
        Py_ssize_t size = entry(&column, row, &at);
        PyObject *content = size < 0 ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize(at, size);
        if (content == NULL)
            Py_CLEAR(result);
        else
            PyList_SET_ITEM(result, row - first, content);
    }
done:
    release(&column);
    return result;
}

/* attributes, timestamp delta, offset delta, key, value, no headers */
static inline Py_ssize_t
record_contents(Py_ssize_t number, Py_ssize_t key_size, Py_ssize_t value_size)
{
    return 3 + number_size((uint64_t)number) + entry_size(key_size) + entry_size(value_size);
}

static inline Py_ssize_t
record_size(Py_ssize_t number, Py_ssize_t key_size, Py_ssize_t value_size)
{
    Py_ssize_t contents = record_contents(number, key_size, value_size);
    return number_size((uint64_t)contents) + contents;
}

static inline char *
put_record(char *to, Py_ssize_t number, const char *key, Py_ssize_t key_size, const char *value, Py_ssize_t value_size)
{
    to = put_number(to, (uint64_t)record_contents(number, key_size, value_size));
    *to++ = 0;
    *to++ = 0;
    to = put_number(to, (uint64_t)number);
    to = put_entry(to, key, key_size);
    to = put_entry(to, value, value_size);
    *to++ = 0;
    return to;
}

static PyObject *
encode_packed(PyObject *self, PyObject *args)
{
    PyObject *value_parts, *key_parts, *result = NULL;
    Py_ssize_t first, end, room, most, number = 0, used = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOnnnn:encode_packed", &value_parts, &key_parts, &first, &end, &room, &most))
        return NULL;
    Column values, keys;
    memset(&keys, 0, sizeof keys);
    if (!column_from(value_parts, &values) || !column_from(key_parts, &keys))
        goto done;
    int has_keys = key_parts != Py_None;
    if (value_parts == Py_None || first < 0 || first > end || end > values.count || (has_keys && end > keys.count)) {
        PyErr_SetString(PyExc_ValueError, "rows that the columns do not have");
        goto done;
    }
    Py_ssize_t size = 0;
    for (Py_ssize_t row = first; row < end && row - first < most; row++) {
        const char *at = NULL;
        Py_ssize_t value_size = entry(&values, row, &at), key_size = has_keys ? entry(&keys, row, &at) : -1;
        Py_ssize_t record = record_size(number, key_size, value_size);
        if (number > 0 && record > room)
            break;
        size += record;
        room -= record;
        number++;
    }
    PyObject *out = PyBytes_FromStringAndSize(NULL, size);
    if (out == NULL)
        goto done;
    char *to = PyBytes_AS_STRING(out);
    for (; used < number; used++) {
        const char *value = NULL, *key = NULL;
        Py_ssize_t value_size = entry(&values, first + used, &value);
        Py_ssize_t key_size = has_keys ? entry(&keys, first + used, &key) : -1;
        to = put_record(to, used, key, key_size, value, value_size);
    }
    result = Py_BuildValue("Nn", out, number);
done:
    release(&values);
    release(&keys);
    return result;
}

static PyObject *
measure_packed(PyObject *self, PyObject *args)
{
    PyObject *value_parts, *key_parts, *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO:measure_packed", &value_parts, &key_parts))
        return NULL;
    Column values, keys;
    memset(&keys, 0, sizeof keys);
    if (!column_from(value_parts, &values) || !column_from(key_parts, &keys))
        goto done;
    if (value_parts == Py_None || (key_parts != Py_None && keys.count != values.count)) {
        PyErr_SetString(PyExc_ValueError, "rows that the columns do not have");
        goto done;
    }
    Py_ssize_t largest = -1;
    for (Py_ssize_t row = 0; row < values.count; row++) {
        const char *at = NULL;
        Py_ssize_t value_size = entry(&values, row, &at), key_size = keys.ends.obj != NULL ? entry(&keys, row, &at) : 0;
        Py_ssize_t size = (value_size > 0 ? value_size : 0) + (key_size > 0 ? key_size : 0);
        if (size > largest)
            largest = size;
    }
    result = PyLong_FromSsize_t(largest);
done:
    release(&values);
    release(&keys);
    return result;
}

static uint32_t
murmur2(const char *data, Py_ssize_t length)
{
    const uint32_t m = 0x5BD1E995;
    const unsigned char *at = (const unsigned char *)data;
    uint32_t h = 0x9747B28Cu ^ (uint32_t)length;
    for (; length >= 4; length -= 4, at += 4) {
        uint32_t k = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        k *= m;
        h = h * m ^ (k ^ k >> 24) * m;
    }
    if (length > 0) {
        uint32_t rest = at[0];
        if (length > 1)
            rest |= (uint32_t)at[1] << 8;
        if (length > 2)
            rest |= (uint32_t)at[2] << 16;
        h = (h ^ rest) * m;
    }
    h = (h ^ h >> 13) * m;
    return h ^ h >> 15;
}

typedef struct {
    Py_ssize_t size;    /* of the encoded records */
    Py_ssize_t count;
    Py_ssize_t content; /* bytes of keys and values */
    PyObject *records;
    char *to;
} Share;

static PyObject *
divide_packed(PyObject *self, PyObject *args)
{
    PyObject *value_parts, *key_parts, *result = NULL;
    Py_ssize_t first, end, partitions;
    Share *shares = NULL;
    uint32_t *chosen = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOnnn:divide_packed", &value_parts, &key_parts, &first, &end, &partitions))
        return NULL;
    Column values, keys;
    memset(&keys, 0, sizeof keys);
    if (!column_from(value_parts, &values) || !column_from(key_parts, &keys))
        goto done;
    if (value_parts == Py_None || key_parts == Py_None || first < 0 || first > end || end > values.count ||
        end > keys.count || partitions < 1 || partitions > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "rows that the columns do not have");
        goto done;
    }
    shares = PyMem_Calloc((size_t)partitions, sizeof(Share));
    chosen = PyMem_Malloc((size_t)(end - first + 1) * sizeof(uint32_t));
    if (shares == NULL || chosen == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    const char *value = NULL, *key = NULL;
    for (Py_ssize_t row = first; row < end; row++) {
        Py_ssize_t value_size = entry(&values, row, &value), key_size = entry(&keys, row, &key);
        if (key_size < 0) {
            result = Py_NewRef(Py_None);
            goto done;
        }
        chosen[row - first] = (murmur2(key, key_size) & 0x7FFFFFFF) % (uint32_t)partitions;
        Share *share = &shares[chosen[row - first]];
        share->size += record_size(share->count, key_size, value_size);
        share->content += key_size + (value_size > 0 ? value_size : 0);
        share->count++;
    }
    result = PyList_New(0);
    for (Py_ssize_t partition = 0; result != NULL && partition < partitions; partition++) {
        Share *share = &shares[partition];
        if (share->count == 0)
            continue;
        share->records = PyBytes_FromStringAndSize(NULL, share->size);
        if (share->records == NULL)
            Py_CLEAR(result);
        else
            share->to = PyBytes_AS_STRING(share->records);
    }
    if (result == NULL)
        goto done;
    for (Py_ssize_t partition = 0; partition < partitions; partition++)
        shares[partition].size = 0; /* from here on the number of records that are encoded */
    for (Py_ssize_t row = first; row < end; row++) {
        Share *share = &shares[chosen[row - first]];
        Py_ssize_t value_size = entry(&values, row, &value), key_size = entry(&keys, row, &key);
        share->to = put_record(share->to, share->size++, key, key_size, value, value_size);
    }
    for (Py_ssize_t partition = 0; partition < partitions; partition++) {
        Share *share = &shares[partition];
        if (share->count == 0)
            continue;
        PyObject *found = Py_BuildValue("nOnn", partition, share->records, share->count, share->content);
        if (found == NULL || PyList_Append(result, found) < 0) {
            Py_XDECREF(found);
            Py_CLEAR(result);
            break;
        }
        Py_DECREF(found);
    }
done:
    if (shares != NULL)
        for (Py_ssize_t partition = 0; partition < partitions; partition++)
            Py_XDECREF(shares[partition].records);
    PyMem_Free(shares);
    PyMem_Free(chosen);
    release(&values);
    release(&keys);
    return result;
}

static inline int
bit_length(uint32_t number)
{
#if defined(__GNUC__)
    return number == 0 ? 0 : 32 - __builtin_clz(number);
#else
    int bits = 0;
    for (; number != 0; number >>= 1)
        bits++;
    return bits;
#endif
}

static PyObject *
raise_registers(PyObject *self, PyObject *args)
{
    PyObject *registers, *parts, *result = NULL;
    int bits;
    (void)self;
    if (!PyArg_ParseTuple(args, "YOi:raise_registers", &registers, &parts, &bits))
        return NULL;
    Column keys;
    if (!column_from(parts, &keys))
        goto done;
    if (parts == Py_None || bits < 1 || bits > 30 || PyByteArray_GET_SIZE(registers) != (Py_ssize_t)1 << bits) {
        PyErr_SetString(PyExc_ValueError, "registers of another size");
        goto done;
    }
    unsigned char *ranks = (unsigned char *)PyByteArray_AS_STRING(registers);
    for (Py_ssize_t row = 0; row < keys.count; row++) {
        const char *key = NULL;
        Py_ssize_t size = entry(&keys, row, &key);
        if (size < 0)
            continue;
        uint32_t hash = murmur2(key, size) & 0x7FFFFFFF;
        unsigned char rank = (unsigned char)(31 - bits + 1 - bit_length(hash >> bits));
        unsigned char *held = &ranks[hash & (((uint32_t)1 << bits) - 1)];
        if (rank > *held)
            *held = rank;
    }
    result = Py_NewRef(Py_None);
done:
    release(&keys);
    return result;
}

static PyModuleDef_Slot slots[] = {{0, NULL}};

static PyMethodDef methods[] = {
    {"divide_packed", divide_packed, METH_VARARGS, NULL},
    {"encode_packed", encode_packed, METH_VARARGS, NULL},
    {"measure_packed", measure_packed, METH_VARARGS, NULL},
    {"raise_registers", raise_registers, METH_VARARGS, NULL},
    {"take_entries", take_entries, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "packed", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit_packed(void)
{
    return PyModuleDef_Init(&module);
}
