/* The change of the residual F of linear_step.h by a number of the model on which the problem of
 * the centre depends in closed form. With p = A (v - v_0) - dt f at a constant v
 *
 *     dF/dtheta = dp/dtheta - J^T dgamma/dtheta
 *
 * dp and dA = U^T U are given for a mass and its like; gamma depends on them by the effective
 * masses from which R follows. It depends on a friction by mu, and on a gain of an implicit
 * controller by its target.
 *
 * Ownership: all arrays are the caller's. */
#ifndef SAPWOOD_STEP_DERIVATIVES_LINEAR_NUMBER_H
#define SAPWOOD_STEP_DERIVATIVES_LINEAR_NUMBER_H

#include "step/derivatives/linear_step.h"

/* Derivatives by a number, at the centre. */
struct sap_number_slope {
  int32_t n;    /* number of velocities with a derivative, all of one tree */
  int32_t *dof; /* (n) */
  int32_t rank; /* number of rows of U, SAP_MASS_RANK at most */
  double *U;    /* (rank, n) */
  double *dp;   /* (n) of p */

  int32_t geom;           /* geom whose sliding friction is the number, or -1 */
  const double *friction; /* (n_geoms, 3) of all geoms: the larger one of two counts, */
  const int *priority;    /* (n_geoms) or that of the higher priority */

  int32_t output; /* output whose gain is the number, or -1 */
  double force;   /* derivative of its force, N or N m per unit */
};

/* Returns 1 if R at the centre depends on masses through blocks of A alone. Other inverse masses of
 * the model act on R of loaded contacts and of violations that are released slowly. */
int sap_linear_takes_numbers(const struct sap_linear_step *linear);

/* Writes dp to dF (nv), and row k of linear->by_number: the changes of the law's numbers per unit
 * of the number, to the side of a change by `width`. Calls follow sap_linear_step_find(), before
 * any residual. */
sap_status sap_linear_number_find(struct sap_linear_step *linear, sap_stepper *stepper,
                                  const struct sap_number_slope *slope, double width, int32_t k,
                                  double *dF, sap_error *error);

#endif
