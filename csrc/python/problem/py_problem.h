/* _core.Problem: a checked sap_problem together with the arrays it points at.
 *
 * The float arrays are the caller's where they were contiguous float64, so their values can change
 * under a solve; the core then reports a wrong value or a non-finite result. The index arrays
 * decide what is read, so the core sees private copies that no Python code can reach.
 */
#ifndef SAPWOOD_PYTHON_PROBLEM_PY_PROBLEM_H
#define SAPWOOD_PYTHON_PROBLEM_PY_PROBLEM_H

#include "python/problem/py_groups.h"
#include "python/problem/py_spin.h"
#include "python/state.h"

typedef struct sapwood_problem {
  PyObject_HEAD
  sap_problem problem; /* points into the arrays below */
  sap_sizes sizes;
  int32_t *indices;                    /* tree_nv, tree_a, tree_b: private, from PyMem_Malloc */
  PyObject *tree_nv, *tree_a, *tree_b; /* read-only copies for Python */
  PyObject *A, *v_star, *J, *mu, *R_t, *R_n;      /* read-only views */
  PyObject *v_hat_n, *v_hat_t, *phi0, *k, *tau_d; /* read-only views or None */
  PyObject *core, *kappa, *core_lambda, *delta;   /* read-only views or None */
  PyObject *v_guess, *friction_bound;             /* read-only views or None */
  sapwood_groups groups;
  sapwood_spin spin;
  sap_parameters parameters; /* what R, v_hat and kappa followed from: NULL what did not */
  int is_physical;           /* did R_t, R_n and v_hat_n? */
  int energy_follows;        /* and kappa, from delta? */
} sapwood_problem;

/* Where a solve starts (nv): at *guess, an object of Python, at the problem's own guess where that
 * is None, at v_star where the result is NULL. *array holds a new reference to what the result
 * points into, or NULL. 0, or -1 with an exception. */
int sapwood_read_guess(const sapwood_problem *problem, PyObject *guess, PyArrayObject **array,
                       const double **v_guess);

/* The object as a problem (borrowed), or NULL with TypeError. */
sapwood_problem *sapwood_as_problem(const sapwood_state *state, PyObject *object);

/* Adds the type, and what its H looks like, to the module. 0, or -1 with an exception. */
int sapwood_add_problem(PyObject *module);
int sapwood_add_structure(PyObject *module);

#endif /* SAPWOOD_PYTHON_PROBLEM_PY_PROBLEM_H */
