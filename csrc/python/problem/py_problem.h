/* _core.Problem: a checked sap_problem together with its arrays.
 *
 * The float arrays are the caller's if they were contiguous float64, so their values can change
 * during a solve; the core then reports a wrong value or a non-finite result. The index arrays
 * determine the memory accesses, so the core sees private copies that no Python code can reach. */
#ifndef SAPWOOD_PYTHON_PROBLEM_PY_PROBLEM_H
#define SAPWOOD_PYTHON_PROBLEM_PY_PROBLEM_H

#include "python/problem/core_table.h"
#include "python/problem/py_factors.h"
#include "python/problem/py_groups.h"
#include "python/problem/py_spin.h"
#include "python/state.h"

typedef struct sapwood_problem {
  PyObject_HEAD
  sap_problem problem; /* points into the arrays below */
  sap_sizes sizes;
  int32_t *indices;                    /* tree_nv, tree_a, tree_b: private, from PyMem_Malloc */
  PyObject *tree_nv, *tree_a, *tree_b; /* read-only copies for Python */
  PyObject *A, *v_star, *J, *mu, *R_t, *R_n;       /* read-only views */
  PyObject *v_hat_n, *v_hat_t, *phi0, *k, *tau_d;  /* read-only views or None */
  PyObject *core, *kappa, *core_lambda, *delta;    /* read-only views or None */
  PyObject *v_guess, *friction_bound, *slip_ratio; /* read-only views or None */
  sapwood_groups groups;
  sapwood_spin spin;
  sapwood_core_table core_table;
  sapwood_factors factors;   /* factors of A that solves may use */
  sap_parameters parameters; /* sources of R, v_hat and kappa; NULL: given directly */
  int is_physical;           /* 1: R_t, R_n and v_hat_n follow from the parameters */
  int energy_follows;        /* 1: kappa follows from delta */
} sapwood_problem;

/* Finds the initial velocity (nv) of a solve. *guess has it from `guess`, an object of Python, or
 * from the problem's own guess if that is None. NULL means v_star. *array holds a new reference to
 * the owner of the result, or NULL. Returns 0, or -1 with an exception. */
int sapwood_read_guess(const sapwood_problem *problem, PyObject *guess, PyArrayObject **array,
                       const double **v_guess);

/* Returns the object as a problem (borrowed), or NULL with TypeError. */
sapwood_problem *sapwood_as_problem(const sapwood_state *state, PyObject *object);

#endif /* SAPWOOD_PYTHON_PROBLEM_PY_PROBLEM_H */
