/* Turns errors of the core into exceptions of Python. */
#ifndef SAPWOOD_PYTHON_ERRORS_H
#define SAPWOOD_PYTHON_ERRORS_H

#include "python/convert.h"
#include "sapwood.h"

/* Raises the exception for a status other than SAP_OK and returns -1; returns 0 for SAP_OK.
 * SAP_OUT_OF_MEMORY raises MemoryError, and SAP_INTERRUPTED keeps the present exception. Any other
 * status raises ValueError with a text like `mu[3] = -0.5: must be >= 0`. `error` may be NULL.
 * Needs the GIL. */
int sapwood_raise(sap_status status, const sap_error *error);

/* Returns 0, or -1 with TypeError if a call of a type has keyword arguments; `keywords` may be
 * NULL. */
int sapwood_refuse_keywords(PyObject *keywords, const char *type);

/* Adds a note to the present exception: it came up at NAME[i], an element of a list. */
void sapwood_note_place(const char *name, Py_ssize_t i);

/* Returns the present exception as an object, or NULL, and clears it. */
PyObject *sapwood_take_exception(void);

/* Writes `constraints[k].name`, the name of an array of a group in errors, and returns it. */
enum { SAPWOOD_NAME_LENGTH = 64 };
const char *sapwood_group_name(char text[SAPWOOD_NAME_LENGTH], int32_t k, const char *name);

#endif
