/* Factors of the mass matrix of a _core.Problem: its regularization finds them, and its solves use
 * those of large trees. */
#ifndef SAPWOOD_PYTHON_PROBLEM_PY_FACTORS_H
#define SAPWOOD_PYTHON_PROBLEM_PY_FACTORS_H

#include "base/memory.h"
#include "problem/regularization/regularization.h"
#include "python/convert.h"

typedef struct sapwood_factors {
  struct sap_block masses; /* factors of A, kept if A cannot change */
  const double **inverse;  /* (n_trees) of large trees, from PyMem_Calloc, or NULL */
} sapwood_factors;

/* Takes over the factors of another problem q for the trees of p that have the same blocks of A.
 * Returns 0, or -1 with an exception. */
int sapwood_factors_take(sapwood_factors *factors, sap_problem *p, const sapwood_factors *other,
                         const sap_problem *q);

/* Hands the factors of large trees to solves if A cannot change: a factor costs the cube of the
 * size, which is a good part of a short solve. Takes the block with them. Returns 0, or -1 with an
 * exception. */
int sapwood_factors_keep(sapwood_factors *factors, sap_problem *p, PyObject *A,
                         const struct sap_masses *masses, struct sap_block *block);

void sapwood_factors_clear(sapwood_factors *factors);

#endif
