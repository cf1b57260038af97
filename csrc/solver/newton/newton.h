/* Minimises the cost of one island by Newton's iterations (Algorithm 1). */
#ifndef SAPWOOD_SOLVER_NEWTON_NEWTON_H
#define SAPWOOD_SOLVER_NEWTON_NEWTON_H

#include "solver/newton/iterate.h"

#include "solver/solver_tuning.h"

/* minimisations that an island with barriers may take, each with a record of its guess */
enum { SAP_MOST_STARTS = SAP_MOST_ROUNDS + 2 };

/* Starts from w->v and leaves the result there, with v_c, gamma, region and gradient to match. */
struct sap_newton_result sap_newton(struct sap_workspace *w, const struct sap_island *island,
                                    const sap_settings *settings);

#endif
