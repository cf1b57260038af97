/* From the order of the workspace back to that of the problem. */
#ifndef SAPWOOD_SOLVER_WRITE_RESULTS_H
#define SAPWOOD_SOLVER_WRITE_RESULTS_H

#include "solver/plan/workspace.h"

/* Writes what belongs to an island into the arrays of the solution; returns how many of its
 * contacts needed a deeper core than the problem's. */
int32_t sap_results_write(const struct sap_workspace *w, const struct sap_island *island,
                          const sap_solution *solution);

#endif
