/* NumPy's dtype of a C struct, from a table of its fields. */
#ifndef SAPWOOD_PYTHON_RECORD_H
#define SAPWOOD_PYTHON_RECORD_H

#include <stddef.h>

#include "python/convert.h"

/* One field of a struct: its name, its format in NumPy's words, where it begins. */
typedef struct sapwood_field {
  const char *name, *format;
  size_t offset;
} sapwood_field;

#define SAPWOOD_FIELD(type, name, format) {#name, format, offsetof(type, name)}

/* The dtype of a struct type from an array of its fields. */
#define SAPWOOD_RECORD(type, fields) \
  sapwood_record_dtype(fields, (int)(sizeof(fields) / sizeof *(fields)), sizeof(type))

/* Returns the dtype with that memory layout, or NULL with an exception. */
PyArray_Descr *sapwood_record_dtype(const sapwood_field *fields, int n, size_t item_size);

/* Returns the structs of this size in a contiguous array of a dtype, which owns them, or NULL with
 * an exception. The array has room for at least n; `flags` is NPY_ARRAY_WRITEABLE or 0. */
void *sapwood_take_structs(PyObject *object, const char *name, const char *dtype, size_t item_size,
                           npy_intp n, int flags);

#endif
