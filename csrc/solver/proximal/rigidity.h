/* This module finds whether a problem needs the proximal iteration: R of a row is so small that
 * (v_hat - v_c)/R has too few digits, or 0. */
#ifndef SAPWOOD_SOLVER_PROXIMAL_RIGIDITY_H
#define SAPWOOD_SOLVER_PROXIMAL_RIGIDITY_H

#include "sapwood.h"

#include "solver/solver_tuning.h"

/* Does the problem have a rigid row, and does the iteration know its laws? `inverse` (nv) and
 * `first` (n_trees) are scratch. Sizes have been checked, and the arrays are given. */
int sap_is_rigid(const sap_problem *problem, const sap_settings *settings, double *inverse,
                 int64_t *first);

#endif
