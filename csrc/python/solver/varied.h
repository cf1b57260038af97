/* Many problems of one structure: a _core.Problem, some of whose numbers come from the rows of
 * arrays (m, n). Each thread points a copy of its own at one problem after another. */
#ifndef SAPWOOD_PYTHON_SOLVER_VARIED_H
#define SAPWOOD_PYTHON_SOLVER_VARIED_H

#include "python/solver/differential.h"

typedef struct sapwood_varied {
  sap_problem problem;       /* the present problem */
  sap_parameters parameters; /* sources of its R, v_hat, bounds and kappa */
  const sapwood_problem *of; /* owned reference */
  sapwood_differential numbers;
  sap_spin spin;
  sap_constraints *groups;            /* (n_groups) */
  sap_group_regularization *physical; /* (n_groups) */
  const double **values;              /* (n_groups, SAP_MOST_PARAMETERS) */
  double *derived; /* (4, n_contacts) R_t, R_n, v_hat_n, kappa, then (4, rows) of each group */
  struct sap_block masses; /* memory of the factors of A */
} sapwood_varied;

/* Reads the numbers of m problems from a dict, as sapwood_differential_read() does; those that the
 * problem does not use are left out. Returns 0, or -1 with an exception. The caller closes `varied`
 * in both cases. */
int sapwood_varied_open(sapwood_varied *varied, const sapwood_problem *problem, npy_intp m,
                        PyObject *dict);
void sapwood_varied_close(sapwood_varied *varied);

/* Makes number i of the m problems the present one. Needs no GIL. */
sap_status sapwood_varied_point(sapwood_varied *varied, npy_intp i, sap_error *error);

/* Returns the parameters for sap_sensitivity_linearize(), or NULL. */
const sap_parameters *sapwood_varied_parameters(const sapwood_varied *varied);

#endif
