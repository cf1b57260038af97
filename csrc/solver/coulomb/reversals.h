/* Lets contacts stick in the next direction if the last step reversed their slip.
 *
 * The linear law of a sliding contact keeps its friction along the slip t. Where less friction
 * stops the slip, the step leads through zero, and at its end the law has the opposite friction:
 * the contact slides to and fro. So the linear law of such a contact becomes that of stiction,
 *
 *     gamma_t' = R_t^-1 (v_hat_t - v_t'),   U = 0
 *
 * whose impulse y_t at the iterate takes the place of gamma_t in r. The law itself stays as it is,
 * and a contact that then needs more than its bound slides again at the end of the step. Only
 * contacts of the disk law take part. */
#ifndef SAPWOOD_SOLVER_COULOMB_REVERSALS_H
#define SAPWOOD_SOLVER_COULOMB_REVERSALS_H

#include "solver/plan/workspace.h"

/* Changes impulse, G and slip in the pool for the contacts whose slip turned round between the
 * saved start of the last step and the iterate. Adds J_t^T (y_t - gamma_t) to b (n_scalars), the
 * right-hand side of the system. Call this after an evaluation and before U is found. */
void sap_stick_reversed(struct sap_workspace *w, const struct sap_island *island, double *b);

#endif
