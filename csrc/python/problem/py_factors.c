#include "python/problem/py_factors.h"

#include <string.h>

#include "linalg/linalg_tuning.h"

/* Makes the list of factors, with none yet, and shows it to solves. */
static int make_list(sapwood_factors *factors, sap_problem *p) {
  factors->inverse = PyMem_Calloc((size_t)p->n_trees, sizeof *factors->inverse);
  p->A_inverse_factor = factors->inverse;
  if (factors->inverse == NULL) {
    return sapwood_no_memory();
  }
  return 0;
}

int sapwood_factors_take(sapwood_factors *factors, sap_problem *p, const sapwood_factors *other,
                         const sap_problem *q) {
  const size_t n_trees = (size_t)p->n_trees;
  if (other->inverse == NULL || p->n_trees != q->n_trees ||
      memcmp(p->tree_nv, q->tree_nv, n_trees * sizeof *p->tree_nv) != 0) {
    return 0;
  }
  if (make_list(factors, p) < 0) {
    return -1;
  }
  size_t offset = 0;
  for (size_t t = 0; t < n_trees; t++) {
    const size_t n2 = (size_t)p->tree_nv[t] * (size_t)p->tree_nv[t];
    if (memcmp(p->A + offset, q->A + offset, n2 * sizeof *p->A) == 0) {
      factors->inverse[t] = other->inverse[t];
    }
    offset += n2;
  }
  return 0;
}

/* Can nobody write to the numbers of an array? Views of such an array are not writable either. */
static int is_constant(PyObject *array) {
  while (array != NULL && PyArray_Check(array)) {
    PyArrayObject *view = (PyArrayObject *)array;
    if (PyArray_ISWRITEABLE(view)) {
      return 0;
    }
    if (PyArray_CHKFLAGS(view, NPY_ARRAY_OWNDATA)) {
      return 1;
    }
    array = PyArray_BASE(view);
  }
  return 0;
}

int sapwood_factors_keep(sapwood_factors *factors, sap_problem *p, PyObject *A,
                         const struct sap_masses *masses, struct sap_block *block) {
  int32_t largest = 0;
  for (int32_t t = 0; t < p->n_trees; t++) {
    largest = p->tree_nv[t] > largest ? p->tree_nv[t] : largest;
  }
  PyMem_Free(factors->inverse);
  factors->inverse = NULL;
  p->A_inverse_factor = NULL;
  if (largest < SAP_KEPT_FACTOR || !is_constant(A)) {
    return 0;
  }
  if (make_list(factors, p) < 0) {
    return -1;
  }
  for (int32_t t = 0; t < p->n_trees; t++) {
    if (p->tree_nv[t] >= SAP_KEPT_FACTOR) {
      factors->inverse[t] = masses->S + masses->tree_A[t];
    }
  }
  factors->masses = *block;
  *block = (struct sap_block){0};
  return 0;
}

void sapwood_factors_clear(sapwood_factors *factors) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  sap_block_release(&factors->masses, &memory);
  PyMem_Free(factors->inverse);
}
