/* The groups of constraints of a _core.Problem: sap_constraints and their arrays.
 *
 * As for the contacts, float arrays are the caller's if they were contiguous float64, and the index
 * arrays are private copies. */
#ifndef SAPWOOD_PYTHON_PROBLEM_PY_GROUPS_H
#define SAPWOOD_PYTHON_PROBLEM_PY_GROUPS_H

#include "problem/regularization/regularization.h"
#include "python/convert.h"

typedef struct sapwood_groups {
  int32_t n;
  sap_constraints *group; /* (n) from PyMem_Calloc */
  int32_t **indices;      /* (n) size, tree_a, tree_b of each, from PyMem_Malloc */
  PyObject **J;           /* (n) */
  /* (n) sources of R, v_hat and bounds; no values if these were given */
  sap_group_regularization *physical;
  PyObject **parameters; /* (n) tuples of the arrays of these values, or NULL */
  const double **values; /* (n, SAP_MOST_PARAMETERS) */
  PyObject *bounds;      /* tuple (n) of (R, v_hat, lower, upper), read-only */
} sapwood_groups;

/* Returns the number of rows of a group. */
int64_t sapwood_group_rows(const sap_constraints *group);

/* Reads kinds and index arrays from a tuple of (kind, size, tree_a, tree_b, J, given, parameters,
 * beta) and points `problem` at the groups. Returns 0, or -1 with an exception. */
int sapwood_groups_read_trees(sapwood_groups *groups, PyObject *tuple, sap_problem *problem);

/* Reads J, and R, v_hat, lower and upper or the parameters of these. `given` and `parameters` are
 * tuples of arrays or None. Reads the trees of the problem. Returns 0, or -1 with an exception. */
int sapwood_groups_read_values(sapwood_groups *groups, PyObject *tuple, const sap_problem *problem,
                               const sap_parameters *step, const struct sap_masses *masses);

void sapwood_groups_clear(sapwood_groups *groups);

#endif
