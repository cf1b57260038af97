/* Implicit smooth forces: the derivative D of all smooth forces by the velocity enters A,
 *
 *     A = M - dt (D + D^T)/2
 *
 * The engine computes D, from drag, muscles, damped tendons and actuators as well as joint damping.
 * The share of actuators that act as implicit controllers is removed, because their constraints
 * contain it. If a force drives motion so that A of a tree is not positive definite, A is M + dt
 * times the joint damping.
 *
 * Ownership: the arrays lie in the block that sap_slopes_carve() is given. */
#ifndef SAPWOOD_STEP_DYNAMICS_SLOPES_H
#define SAPWOOD_STEP_DYNAMICS_SLOPES_H

#include "step/joints/element_gather.h"

struct sap_slopes {
  const struct sap_forest *forest;
  double *D;      /* (nD) derivative in this step, without controllers */
  double *moment; /* (nv) workspace: zeros, except while a controller is removed */
  uint8_t *act;   /* (n_trees) 1 if D has an entry */
};

/* Reserves the arrays; `forest` must be set. They are empty if it has no pattern of D. */
void sap_slopes_carve(struct sap_slopes *slopes, struct sap_arena *arena);

/* Finds D of the step, after the elements were gathered. */
void sap_slopes_find(struct sap_slopes *slopes, const double *qDeriv,
                     const struct sap_element_gather *elements);

/* Adds -dt (D + D^T)/2 to the block A of a tree (n, n). */
void sap_slopes_add(const struct sap_slopes *slopes, int32_t tree, double dt, double *A);

#endif
