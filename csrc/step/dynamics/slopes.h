/* Implicit smooth forces: what the derivative D of all smooth forces by the velocity makes of A,
 *
 *     A = M - dt (D + D^T)/2
 *
 * D is the engine's, of drag, muscles, damped tendons and actuators as well as of joint damping.
 * What it has of actuators that act as implicit controllers is taken out: their constraints have
 * it. A tree whose A is not positive definite, which takes a force that drives motion on, gets M +
 * dt times its joint damping.
 *
 * Ownership: arrays lie in the block that sap_slopes_carve() is given. */
#ifndef SAPWOOD_STEP_DYNAMICS_SLOPES_H
#define SAPWOOD_STEP_DYNAMICS_SLOPES_H

#include "step/joints/element_gather.h"

struct sap_slopes {
  const struct sap_forest *forest;
  double *D;      /* (nD) of this step, without controllers */
  double *moment; /* (nv) zeros, but for a controller that is being taken out */
  uint8_t *act;   /* (n_trees) 1 where D has an entry */
};

/* `forest` has to be set; arrays are empty where it has no pattern of D */
void sap_slopes_carve(struct sap_slopes *slopes, struct sap_arena *arena);

/* finds D of the step, after the elements were gathered */
void sap_slopes_find(struct sap_slopes *slopes, const double *qDeriv,
                     const struct sap_element_gather *elements);

/* adds -dt (D + D^T)/2 to the block A of a tree (n, n) */
void sap_slopes_add(const struct sap_slopes *slopes, int32_t tree, double dt, double *A);

#endif
