/* The tabulated barrier of a rigid core from Python: an array (2, n) of nodes s and of b'' there,
 * copied, integrated and checked. */
#ifndef SAPWOOD_PYTHON_PROBLEM_CORE_TABLE_H
#define SAPWOOD_PYTHON_PROBLEM_CORE_TABLE_H

#include "python/convert.h"
#include "sapwood.h"

typedef struct sapwood_core_table {
  sap_barrier_table table; /* points into rows */
  PyObject *rows;          /* (4, n) private copy: s, curvature, slope, value; NULL: none */
  PyObject *given;         /* (2, n) read-only view for Python, or None */
} sapwood_core_table;

/* Reads the array, or None. Returns 0, or -1 with an exception. */
int sapwood_core_table_read(sapwood_core_table *self, PyObject *object);

/* Returns the table, NULL if there is none. */
static inline const sap_barrier_table *sapwood_core_table_of(const sapwood_core_table *self) {
  return self->rows ? &self->table : NULL;
}

void sapwood_core_table_clear(sapwood_core_table *self);

#endif
