/* places.py in C; what it promises is written there, and tests/unit/records/test_places.py compares the two. */

#include "numbers.h"

#include <sys/uio.h>

#define AT_ONCE 1024 /* parts; POSIX promises that 16 are taken by one call, all systems take these */

typedef struct {
    PyObject_HEAD
    PyObject *data, *separator, *null;
    struct iovec *parts;
    Py_ssize_t next, count; /* of the parts, those from `next` on are not written */
    Py_ssize_t left_bytes;
} Places;

static void
places_dealloc(PyObject *self)
{
    Places *places = (Places *)self;
    Py_XDECREF(places->data);
    Py_XDECREF(places->separator);
    Py_XDECREF(places->null);
    PyMem_Free(places->parts);
    PyObject_Free(self);
}

static void
add_part(Places *places, const void *at, Py_ssize_t size)
{
    if (size > 0) {
        struct iovec *part = &places->parts[places->count++];
        part->iov_base = (void *)at;
        part->iov_len = (size_t)size;
        places->left_bytes += size;
    }
}

static PyObject *
places_write_some(PyObject *self, PyObject *argument)
{
    Places *places = (Places *)self;
    int descriptor = PyObject_AsFileDescriptor(argument);
    if (descriptor < 0)
        return NULL;
    Py_ssize_t count = places->count - places->next, written;
    if (count == 0)
        Py_RETURN_NONE;
    for (;;) {
        Py_BEGIN_ALLOW_THREADS
        written = writev(descriptor, places->parts + places->next, (int)(count < AT_ONCE ? count : AT_ONCE));
        Py_END_ALLOW_THREADS
        if (written >= 0)
            break;
        if (errno != EINTR)
            return PyErr_SetFromErrno(PyExc_OSError);
        if (PyErr_CheckSignals() < 0)
            return NULL;
    }
    places->left_bytes -= written;
    while (places->next < places->count && written >= (Py_ssize_t)places->parts[places->next].iov_len)
        written -= (Py_ssize_t)places->parts[places->next++].iov_len;
    if (written > 0) {
        struct iovec *part = &places->parts[places->next];
        part->iov_base = (char *)part->iov_base + written;
        part->iov_len -= (size_t)written;
    }
    Py_RETURN_NONE;
}

static Py_ssize_t
places_length(PyObject *self)
{
    return ((Places *)self)->left_bytes;
}

static PyObject *
places_bytes(PyObject *self, PyObject *none)
{
    Places *places = (Places *)self;
    (void)none;
    PyObject *out = PyBytes_FromStringAndSize(NULL, places->left_bytes);
    if (out == NULL)
        return NULL;
    char *to = PyBytes_AS_STRING(out);
    for (Py_ssize_t at = places->next; at < places->count; at++) {
        memcpy(to, places->parts[at].iov_base, places->parts[at].iov_len);
        to += places->parts[at].iov_len;
    }
    return out;
}

static PyMethodDef places_methods[] = {
    {"write_some", places_write_some, METH_O, NULL},
    {"__bytes__", places_bytes, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PySequenceMethods places_sequence = {.sq_length = places_length};

static PyTypeObject places_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kctl.client.records._hot.places.ValuePlaces",
    .tp_basicsize = sizeof(Places),
    .tp_dealloc = places_dealloc,
    .tp_methods = places_methods,
    .tp_as_sequence = &places_sequence,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

static PyObject *
place_values(PyObject *self, PyObject *args)
{
    PyObject *data, *separator, *null;
    Py_ssize_t pos, limit, most, left;
    long long first_delta, end_delta;
    (void)self;
    if (!PyArg_ParseTuple(args, "SnnLLnnSS:place_values", &data, &pos, &limit, &first_delta, &end_delta, &most, &left,
                          &separator, &null))
        return NULL;
    const unsigned char *buf = (const unsigned char *)PyBytes_AS_STRING(data);
    if (limit > PyBytes_GET_SIZE(data))
        limit = PyBytes_GET_SIZE(data);
    if (pos < 0 || pos > limit)
        limit = pos = pos < 0 ? 0 : limit;
    if (most > limit - pos) /* no record is shorter than a byte */
        most = limit - pos;
    if (most < 0)
        most = 0;
    Places *places = PyObject_New(Places, &places_type);
    if (places == NULL)
        return NULL;
    places->data = Py_NewRef(data);
    places->separator = Py_NewRef(separator);
    places->null = Py_NewRef(null);
    places->next = places->count = places->left_bytes = 0;
    places->parts = PyMem_New(struct iovec, 2 * most + 1);
    if (places->parts == NULL) {
        Py_DECREF(places);
        return PyErr_NoMemory();
    }
    Py_ssize_t taken = 0;
    long long last = first_delta - 1;
    PlainRecord found;
    while (taken < most && plain_record(buf, pos, limit, &found) && last < found.delta && found.delta < end_delta &&
           (taken + 1 != left || found.end == limit)) {
        last = found.delta;
        pos = found.end;
        taken++;
        if (found.value_size < 0)
            add_part(places, PyBytes_AS_STRING(null), PyBytes_GET_SIZE(null));
        else
            add_part(places, buf + found.value_at, found.value_size);
        add_part(places, PyBytes_AS_STRING(separator), PyBytes_GET_SIZE(separator));
    }
    return Py_BuildValue("Nnnn", places, taken, pos, (Py_ssize_t)last);
}

static int
prepare(PyObject *module)
{
    if (PyType_Ready(&places_type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "ValuePlaces", (PyObject *)&places_type);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, prepare},
    {0, NULL},
};

static PyMethodDef methods[] = {
    {"place_values", place_values, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "places", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit_places(void)
{
    return PyModuleDef_Init(&module);
}
