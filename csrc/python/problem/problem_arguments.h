/* The arguments of the constructor of a problem, before they are converted. */
#ifndef SAPWOOD_PYTHON_PROBLEM_PROBLEM_ARGUMENTS_H
#define SAPWOOD_PYTHON_PROBLEM_PROBLEM_ARGUMENTS_H

#include "python/convert.h"

/* All arguments in their order; the first two rows must be given. */
/* clang-format off */
#define SAPWOOD_PROBLEM_ARGUMENTS(ARGUMENT)                                                       \
  ARGUMENT(tree_nv) ARGUMENT(A) ARGUMENT(v_star) ARGUMENT(tree_a) ARGUMENT(tree_b) ARGUMENT(J)    \
  ARGUMENT(mu) ARGUMENT(dt) ARGUMENT(sigma) ARGUMENT(beta) ARGUMENT(delassus)                     \
  ARGUMENT(phi0) ARGUMENT(k) ARGUMENT(tau_d) ARGUMENT(R_t) ARGUMENT(R_n) ARGUMENT(v_hat_n)        \
  ARGUMENT(v_hat_t) ARGUMENT(groups) ARGUMENT(core) ARGUMENT(kappa) ARGUMENT(core_lambda)         \
  ARGUMENT(delta) ARGUMENT(v_guess) ARGUMENT(friction_bound) ARGUMENT(spin_contact)               \
  ARGUMENT(spin_J) ARGUMENT(spin_mu) ARGUMENT(slip_ratio) ARGUMENT(core_table)                    \
  ARGUMENT(factors_of)
/* clang-format on */

/* Borrowed references; None for what is not given, and NULL for no groups. */
#define SAPWOOD_MEMBER(name) PyObject *name;
typedef struct sapwood_problem_arguments {
  SAPWOOD_PROBLEM_ARGUMENTS(SAPWOOD_MEMBER)
} sapwood_problem_arguments;
#undef SAPWOOD_MEMBER

/* Fills all arguments; returns -1 with an exception. */
int sapwood_problem_arguments_parse(sapwood_problem_arguments *in, PyObject *args,
                                    PyObject *keywords);

#endif
