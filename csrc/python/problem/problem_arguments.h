/* The arguments of the constructor of a problem, before they are converted. */
#ifndef SAPWOOD_PYTHON_PROBLEM_PROBLEM_ARGUMENTS_H
#define SAPWOOD_PYTHON_PROBLEM_PROBLEM_ARGUMENTS_H

#include "python/problem/py_spin.h"

/* Borrowed references; None for what is not given, and NULL for no groups. */
struct sapwood_problem_arguments {
  PyObject *tree_nv, *A, *v_star, *tree_a, *tree_b, *J, *mu, *dt, *sigma, *beta, *delassus;
  PyObject *phi0, *k, *tau_d, *R_t, *R_n, *v_hat_n, *v_hat_t, *groups;
  PyObject *core, *kappa, *core_lambda, *delta, *core_table, *v_guess, *friction_bound, *slip_ratio;
  PyObject *factors_of;
  sapwood_spin_arguments spin;
};

/* Fills all arguments; returns -1 with an exception. */
int sapwood_problem_arguments_parse(struct sapwood_problem_arguments *in, PyObject *args,
                                    PyObject *keywords);

#endif
