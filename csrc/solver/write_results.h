/* Writes results from the order of the workspace to that of the problem. */
#ifndef SAPWOOD_SOLVER_WRITE_RESULTS_H
#define SAPWOOD_SOLVER_WRITE_RESULTS_H

#include "solver/plan/workspace.h"

/* Writes the results of an island to the arrays of the solution. Returns the number of its contacts
 * that needed a deeper core than the problem's. */
int32_t sap_results_write(const struct sap_workspace *w, const struct sap_island *island,
                          const sap_solution *solution);

#endif
