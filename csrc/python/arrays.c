#include "python/arrays.h"

int sapwood_new_all(PyArrayObject **arrays, const sapwood_layout *layouts, int n) {
  for (int i = 0; i < n; i++) {
    const sapwood_layout *of = &layouts[i];
    arrays[i] = of->ndim == 0 ? NULL : sapwood_new(of->typenum, of->ndim, of->shape);
    if (arrays[i] == NULL && of->ndim > 0) {
      return -1;
    }
  }
  return 0;
}

int sapwood_read_all(PyArrayObject **in, PyObject *const *args, const sapwood_argument *given,
                     int n) {
  for (const sapwood_argument *a = given; a < given + n; a++) {
    if (a->is_optional && args[a->which] == Py_None) {
      continue;
    }
    in[a->which] = sapwood_as_float64(args[a->which], a->name, a->ndim, a->shape, a->rule);
    if (in[a->which] == NULL) {
      return -1;
    }
  }
  return 0;
}
