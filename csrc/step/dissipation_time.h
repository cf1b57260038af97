/* Dissipation times of geoms and elements, which may follow the time step (SAP_TIME_STEP). */
#ifndef SAPWOOD_STEP_DISSIPATION_TIME_H
#define SAPWOOD_STEP_DISSIPATION_TIME_H

#include <math.h>

#include "sapwood/model.h"

/* Returns tau_d in a step of length dt, s. */
static inline double sap_dissipation_time(double tau_d, double dt) {
  return tau_d < 0.0 ? dt : tau_d;
}

/* Returns 1 if tau_d is a dissipation time. */
static inline int sap_is_dissipation_time(double tau_d) {
  return (tau_d >= 0.0 && tau_d < INFINITY) || tau_d == SAP_TIME_STEP;
}

#endif
