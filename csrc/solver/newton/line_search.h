/* Finds step lengths along a descent direction (VIII-B), where line->slope < 0. */
#ifndef SAPWOOD_SOLVER_NEWTON_LINE_SEARCH_H
#define SAPWOOD_SOLVER_NEWTON_LINE_SEARCH_H

#include "solver/newton/objective.h"

struct sap_step {
  double alpha;
  int32_t trials; /* evaluations of the line, without the one at 0 */
};

/* Finds the root of dl/dalpha in (0, alpha_max], or alpha_max if the slope is still negative there,
 * by Newton's method that bisection keeps inside a bracket (rtsafe). */
struct sap_step sap_search_exact(const struct sap_line *line, const sap_settings *settings);

/* Tries alpha_max, rho alpha_max, ... until l(alpha) < l(0) + c alpha dl/dalpha(0) (Armijo) and the
 * next l, which is convex along the line, would be higher. Armijo by itself takes alpha_max near
 * the solution, where every step then overshoots by half. Past the limit of trials alpha is halved
 * until the cost is lower at all. */
struct sap_step sap_search_backtracking(const struct sap_line *line, const sap_settings *settings);

#endif
