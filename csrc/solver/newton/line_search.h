/* Step lengths along a descent direction (VIII-B): line->slope < 0. */
#ifndef SAPWOOD_SOLVER_NEWTON_LINE_SEARCH_H
#define SAPWOOD_SOLVER_NEWTON_LINE_SEARCH_H

#include "solver/newton/objective.h"

struct sap_step {
  double alpha;
  int32_t trials; /* evaluations of the line, the one at 0 left out */
};

/* the root of dl/dalpha in (0, alpha_max], or alpha_max where the slope is still negative there:
 * Newton, kept inside a bracket by bisection (rtsafe) */
struct sap_step sap_search_exact(const struct sap_line *line, const sap_settings *settings);

/* alpha_max, rho alpha_max, ... until l(alpha) < l(0) + c alpha dl/dalpha(0) (Armijo) and, l being
 * convex along the line, until the next one would be higher: Armijo alone takes alpha_max near the
 * solution, where every step then overshoots by half. Past the limit of trials alpha is halved
 * until the cost is lower at all. */
struct sap_step sap_search_backtracking(const struct sap_line *line, const sap_settings *settings);

#endif
