/* frame_room.py in C; what it promises is written there, and tests/unit/protocol/test_frame_room.py compares the two. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *frame; /* also when it was taken: views of it may be left */
    Py_ssize_t filled;
    int is_taken;
} Room;

static PyObject *
room_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    Py_ssize_t size;
    if (names != NULL && PyDict_GET_SIZE(names) > 0) {
        PyErr_SetString(PyExc_TypeError, "FrameRoom takes no names");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "n:FrameRoom", &size))
        return NULL;
    if (size < 0) {
        PyErr_SetString(PyExc_ValueError, "negative count");
        return NULL;
    }
    Room *room = (Room *)type->tp_alloc(type, 0);
    if (room == NULL)
        return NULL;
    room->frame = PyBytes_FromStringAndSize(NULL, size);
    if (room->frame == NULL)
        Py_CLEAR(room);
    return (PyObject *)room;
}

static void
room_dealloc(PyObject *self)
{
    Py_XDECREF(((Room *)self)->frame);
    Py_TYPE(self)->tp_free(self);
}

/* The bytes that are still to come, for writing. */
static int
room_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    Room *room = (Room *)self;
    if (room->is_taken) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, "the frame was taken");
        return -1;
    }
    return PyBuffer_FillInfo(view, self, PyBytes_AS_STRING(room->frame) + room->filled,
                             PyBytes_GET_SIZE(room->frame) - room->filled, 0, flags);
}

static PyObject *
room_rest(PyObject *self, PyObject *none)
{
    (void)none;
    return PyMemoryView_FromObject(self);
}

static PyObject *
room_fill(PyObject *self, PyObject *argument)
{
    Room *room = (Room *)self;
    Py_buffer data;
    if (PyObject_GetBuffer(argument, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    Py_ssize_t rest = PyBytes_GET_SIZE(room->frame) - room->filled;
    if (data.len > rest) {
        PyErr_Format(PyExc_ValueError, "%zd bytes for %zd", data.len, rest);
        PyBuffer_Release(&data);
        return NULL;
    }
    if (data.len > 0) {
        char *to = PyBytes_AS_STRING(room->frame) + room->filled;
        if (data.buf != to)
            memmove(to, data.buf, (size_t)data.len);
        room->filled += data.len;
    }
    PyBuffer_Release(&data);
    Py_RETURN_NONE;
}

static PyObject *
room_take(PyObject *self, PyObject *none)
{
    Room *room = (Room *)self;
    (void)none;
    if (room->is_taken || room->filled < PyBytes_GET_SIZE(room->frame)) {
        PyErr_SetString(PyExc_ValueError, "the frame is not whole");
        return NULL;
    }
    room->is_taken = 1;
    return Py_NewRef(room->frame);
}

static PyMethodDef room_methods[] = {
    {"rest", room_rest, METH_NOARGS, NULL},
    {"fill", room_fill, METH_O, NULL},
    {"take", room_take, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef room_members[] = {
    {"filled_bytes", T_PYSSIZET, offsetof(Room, filled), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyBufferProcs room_buffer = {room_get_buffer, NULL};

static PyTypeObject room_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kctl.client.protocol.frame_room.FrameRoom",
    .tp_basicsize = sizeof(Room),
    .tp_new = room_new,
    .tp_dealloc = room_dealloc,
    .tp_methods = room_methods,
    .tp_members = room_members,
    .tp_as_buffer = &room_buffer,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

static int
prepare(PyObject *module)
{
    if (PyType_Ready(&room_type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "FrameRoom", (PyObject *)&room_type);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, prepare},
    {0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "frame_room", NULL, 0, NULL, slots, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit_frame_room(void)
{
    return PyModuleDef_Init(&module);
}
