/* Takes steps of a component in dense storage from a velocity that was evaluated: steps that obey
 * the laws of all contacts and of all clamped rows beside them. Most steps of a standing robot are
 * of this kind.
 *
 * With few rows, all impulses are unknowns (unknowns.h). With many rows, most keep their state at
 * an iterate v, between their bounds or at one. At the first iterate a row at a bound that asks for
 * a velocity counts as between them if its impulse would be, were it the only one at v*. The rows
 * between their bounds are condensed into H = A + sum J_r^T J_r/R_r. With H = L L^T, Y = J L^-T and
 * the right-hand side b of rows and momentum
 *
 *     dv = H^-1 b + L^-T Y^T gamma,   gamma: the law at v_hat - J v - J H^-1 b - Y Y^T gamma
 *
 * Rows that this step would free or bring to a bound are activated (condensation.h). */
#ifndef SAPWOOD_SOLVER_DENSE_CONTACT_STEP_H
#define SAPWOOD_SOLVER_DENSE_CONTACT_STEP_H

#include "solver/dense/condensation.h"

/* Are rows condensed, instead of all impulses being unknowns? */
int sap_contact_step_condenses(const struct sap_dense_island *d);

/* The result of a step. It fails if H is not positive definite to round-off. It settles if it obeys
 * the laws of all contacts and rows. It leaves rows if some could not be activated. */
enum sap_contact_step {
  SAP_CONTACT_STEP_FAILS,
  SAP_CONTACT_STEP_SETTLES,
  SAP_CONTACT_STEP_LEAVES_ROWS
};

/* Moves v by the impulses of the contacts and of all rows or, with condensation, of the activated
 * rows. */
enum sap_contact_step sap_contact_step_take(const struct sap_dense_island *d, int is_first);

#endif
