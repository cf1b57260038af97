/* _core.fem_mesh and functions of it: finite elements of elastic bodies. */
#ifndef SAPWOOD_PYTHON_FEM_PY_FEM_H
#define SAPWOOD_PYTHON_FEM_PY_FEM_H

#include "python/convert.h"
#include "sapwood.h"

/* Returns the mesh in a capsule of _core.fem_mesh; NULL with an exception for anything else. */
const fem_mesh *sapwood_fem_mesh(PyObject *capsule);

/* Reads the graph of a mesh or a flex. Returns 0, or -1 with an exception. */
int sapwood_fem_graph(PyObject *capsule, fem_graph *graph);

/* Returns an int32 array (n, cols), or (n) for cols = 0, of numbers in [least, end), used in place;
 * -1 leaves a length open. NULL with an exception. */
PyArrayObject *sapwood_fem_numbers(PyObject *object, const char *name, npy_intp n, npy_intp cols,
                                   npy_intp least, npy_intp end);

/* An array of results: its name, its place in the result, its shape. */
struct sapwood_output {
  const char *name;
  double **to;
  int ndim;
  npy_intp shape[3];
};

/* Reads a tuple of n arrays that are written in place, or None. Returns 0, or -1 with an exception;
 * the arrays stay those of the tuple. */
int sapwood_read_outputs(PyObject *tuple, const struct sapwood_output *outputs, int n);

#endif
