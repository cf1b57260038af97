/* The solver object behind sapwood.h: settings and workspace. */
#ifndef SAPWOOD_SAP_SOLVER_H
#define SAPWOOD_SAP_SOLVER_H

#include "sap/islands.h"

struct sap_solver {
  sap_settings settings;
  struct sap_workspace work;
  struct sap_threads *threads; /* NULL for one */
  struct sap_workspace view[]; /* (work.sharing.n_threads) */
};

/* where R and v_hat come from, and where they go */
struct sap_regularization {
  const sap_parameters *parameters;
  double *R_t, *R_n, *v_hat_n; /* (n_contacts) */
};

/* Checks the problem, makes the workspace fit it and binds the numbers. */
sap_status sap_solver_load(sap_solver *solver, const sap_problem *problem, sap_error *error);

#endif
