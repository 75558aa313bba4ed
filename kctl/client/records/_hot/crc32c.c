/* crc32c.py in C; tests/unit/records/test_crc32c.py compares the two.
 *
 * A checksum is a polynomial over GF(2), modulo the one of CRC32C, with the coefficient of x^31 in the lowest bit. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#ifdef _MSC_VER
#include <intrin.h>
#define ON_CRC
#else
#include <cpuid.h>
#if defined(__clang__) && __clang_major__ >= 14 /* which divides crc32 from sse4.2 */
#define ON_CRC __attribute__((target("sse4.2,crc32,pclmul")))
#else
#define ON_CRC __attribute__((target("sse4.2,pclmul")))
#endif
#endif
#elif defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__)) && !defined(__AARCH64EB__)
#define ON_CRC
#ifdef __linux__
#include <sys/auxv.h>
#endif
#endif

#define POLYNOMIAL 0x82F63B78u
#define LANE_WORDS 256  /* words of 8 bytes; longer lanes are no faster */
#define LEAST_LANES 192 /* bytes from which three lanes are faster than one */
/* A checksum without the GIL can wait 5 ms to get it back from a busy thread. Batches up to the default limit of
 * brokers take 0.05 ms, or 1 ms by table, and keep the GIL. */
#define LEAST_RELEASED (1 << 20)

typedef struct {
    uint32_t bytes[8][256]; /* [n][byte]: checksum of the byte and n bytes of zero */
    uint32_t shifts[2 * LANE_WORDS + 1]; /* [n]: x^(64n - 33), which shifts a checksum by n words; from 1 on */
    int has_instructions;
} Tables;

/* Eight bytes, the first one lowest. */
static inline uint64_t
word_at(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#ifdef WORDS_BIGENDIAN
    uint64_t swapped = 0;
    for (int byte = 0; byte < 8; byte++)
        swapped |= (word >> 8 * byte & 0xFF) << 8 * (7 - byte);
    word = swapped;
#endif
    return word;
}

static inline uint32_t
word_by_table(const Tables *tables, uint32_t crc, uint64_t word)
{
    word ^= crc;
    crc = 0;
    for (int byte = 0; byte < 8; byte++)
        crc ^= tables->bytes[7 - byte][word >> 8 * byte & 0xFF];
    return crc;
}

static uint32_t
extend_by_table(const Tables *tables, uint32_t crc, const unsigned char *at, Py_ssize_t size)
{
    for (; size >= 8; at += 8, size -= 8)
        crc = word_by_table(tables, crc, word_at(at));
    for (; size > 0; size--)
        crc = crc >> 8 ^ tables->bytes[0][(crc ^ *at++) & 0xFF];
    return crc;
}

#ifdef ON_CRC

#if defined(__x86_64__) || defined(_M_X64)

static int
has_instructions(void)
{
    unsigned int a, b, c, d;
#ifdef _MSC_VER
    int found[4];
    __cpuid(found, 1);
    c = (unsigned int)found[2];
    (void)a, (void)b, (void)d;
#else
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
#endif
    return (c >> 20 & 1) && (c >> 1 & 1); /* SSE4.2 and PCLMULQDQ */
}

ON_CRC static inline uint32_t
add_byte(uint32_t crc, unsigned char byte)
{
    return _mm_crc32_u8(crc, byte);
}

ON_CRC static inline uint64_t
add_word(uint64_t crc, uint64_t word)
{
    return _mm_crc32_u64(crc, word);
}

/* The product of two polynomials, times x, for a word begins at x^63. */
ON_CRC static inline uint64_t
product(uint64_t one, uint32_t other)
{
    __m128i found = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)one), _mm_cvtsi32_si128((int)other), 0);
    return (uint64_t)_mm_cvtsi128_si64(found);
}

#else

static int
has_instructions(void)
{
#if defined(__APPLE__) || defined(__ARM_FEATURE_CRC32)
    return 1;
#elif defined(__linux__)
    return (getauxval(AT_HWCAP) & 1 << 7) != 0; /* HWCAP_CRC32 */
#else
    return 0;
#endif
}

/* Assembly, because compilers disagree on how one function gets the instructions. */
static inline uint32_t
add_byte(uint32_t crc, unsigned char byte)
{
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)byte));
    return crc;
}

static inline uint64_t
add_word(uint64_t crc, uint64_t word)
{
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
    return crc;
}

/* The product of two polynomials, times x, for a word begins at x^63. */
static inline uint64_t
product(uint64_t one, uint32_t other)
{
    uint64_t found = 0;
    for (int bit = 0; bit < 32; bit++)
        found ^= (one << bit) & -(uint64_t)(other >> bit & 1);
    return found;
}

#endif

/* An instruction takes three cycles, and one begins in each cycle: three lanes side by side, joined by their shifts. */
ON_CRC static uint32_t
extend_by_instructions(const Tables *tables, uint32_t begun, const unsigned char *at, Py_ssize_t size)
{
    uint64_t crc = begun; /* to narrow it for each word would cost a cycle */
    while (size >= LEAST_LANES) {
        Py_ssize_t words = size / 24 < LANE_WORDS ? size / 24 : LANE_WORDS;
        uint64_t second = 0, third = 0;
        for (const unsigned char *end = at + 8 * words; at < end; at += 8) {
            crc = add_word(crc, word_at(at));
            second = add_word(second, word_at(at + 8 * words));
            third = add_word(third, word_at(at + 16 * words));
        }
        crc = product(crc, tables->shifts[2 * words]) ^ product(second, tables->shifts[words]);
        crc = add_word(0, crc) ^ third;
        at += 16 * words;
        size -= 24 * words;
    }
    for (; size >= 8; at += 8, size -= 8)
        crc = add_word(crc, word_at(at));
    uint32_t found = (uint32_t)crc;
    for (; size > 0; size--)
        found = add_byte(found, *at++);
    return found;
}

#endif

static int
prepare(PyObject *module)
{
    Tables *tables = PyModule_GetState(module);
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        tables->bytes[0][byte] = crc;
    }
    for (int zeros = 1; zeros < 8; zeros++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = tables->bytes[zeros - 1][byte];
            tables->bytes[zeros][byte] = crc >> 8 ^ tables->bytes[0][crc & 0xFF];
        }
    tables->shifts[1] = 1; /* x^31 */
    for (int words = 2; words <= 2 * LANE_WORDS; words++)
        tables->shifts[words] = word_by_table(tables, tables->shifts[words - 1], 0);
#ifdef ON_CRC
    tables->has_instructions = has_instructions();
#endif
    return PyModule_AddObjectRef(module, "_HAS_INSTRUCTIONS", tables->has_instructions ? Py_True : Py_False);
}

static PyObject *
extend(const Tables *tables, PyObject *const *args, Py_ssize_t count, int by_table)
{
    unsigned long crc = 0;
    Py_ssize_t start = 0, end = PY_SSIZE_T_MAX;
    if (count < 1 || count > 4) {
        PyErr_SetString(PyExc_TypeError, "crc32c() takes 1 to 4 arguments");
        return NULL;
    }
    if (count > 1)
        crc = PyLong_AsUnsignedLongMask(args[1]);
    if (count > 2)
        start = PyLong_AsSsize_t(args[2]);
    if (count > 3)
        end = PyLong_AsSsize_t(args[3]);
    Py_buffer data;
    if ((count > 1 && PyErr_Occurred()) || PyObject_GetBuffer(args[0], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    Py_ssize_t size = PySlice_AdjustIndices(data.len, &start, &end, 1);
    const unsigned char *at = (const unsigned char *)data.buf + start;
    uint32_t (*by)(const Tables *, uint32_t, const unsigned char *, Py_ssize_t) = extend_by_table;
#ifdef ON_CRC
    if (tables->has_instructions && !by_table)
        by = extend_by_instructions;
#else
    (void)by_table;
#endif
    uint32_t found = ~(uint32_t)crc;
    if (size < LEAST_RELEASED)
        found = by(tables, found, at, size);
    else {
        Py_BEGIN_ALLOW_THREADS
        found = by(tables, found, at, size);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong((uint32_t)~found);
}

static PyObject *
crc32c(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return extend(PyModule_GetState(module), args, count, 0);
}

static PyObject *
by_table(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return extend(PyModule_GetState(module), args, count, 1);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, prepare},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyMethodDef methods[] = {
    {"crc32c", (PyCFunction)(void (*)(void))crc32c, METH_FASTCALL, NULL},
    {"_by_table", (PyCFunction)(void (*)(void))by_table, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "crc32c", NULL, sizeof(Tables), methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit_crc32c(void)
{
    return PyModuleDef_Init(&module);
}
