/* The solver object behind sapwood.h: settings and workspace. */
#ifndef SAPWOOD_SAP_SOLVER_H
#define SAPWOOD_SAP_SOLVER_H

#include "sap/workspace.h"

struct sap_solver {
  sap_settings settings;
  struct sap_workspace work;
};

/* Checks the problem, makes the workspace fit it and binds the numbers. *reused: the graph was that of
 * the call before. */
sap_status sap_solver_load(sap_solver *solver, const sap_problem *problem, int32_t *reused,
                           double *symbolic_seconds, sap_error *error);

#endif
