#include "invdyn/tasks/motors.h"

#include "base/arithmetic.h"

void tasks_bound_torques(const struct tasks_motors *motors, const double *qpos, const double *qvel,
                         double *b, double *lower, double *upper) {
  const int64_t n = motors->n;
  for (int64_t i = 0; i < n; ++i) {
    b[i] = motors->bias[n + i] * qpos[motors->place[i]] +
           motors->bias[2 * n + i] * qvel[motors->dof[i]] + motors->bias[i];
    upper[i] = sap_lesser(motors->by_control[n + i] + b[i], motors->by_force[n + i]);
    lower[i] = sap_larger(motors->by_control[i] + b[i], motors->by_force[i]);
    lower[i] = sap_lesser(lower[i], upper[i]);
  }
}
