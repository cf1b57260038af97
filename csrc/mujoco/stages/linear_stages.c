#include "mujoco/stages/linear_stages.h"

#include <math.h>

#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/guard.h"
#include "mujoco/engine/step_arrays.h"
#include "mujoco/engine/world.h"
#include "mujoco/stages/contact_part.h"
#include "mujoco/stages/lean_step.h"
#include "mujoco/stages/rotation.h"
#include "mujoco/stages/stages_tuning.h"
#include "mujoco/stages/state_check.h"
#include "mujoco/stages/step.h"

/* ---- calls of the stepper -------------------------------------------------------------------- */

/* Begins a call of the stepper, under its lock. */
static sap_error *begin_call(sap_mujoco_world *world) {
  sap_mujoco_lock(world);
  world->end.error = (sap_error){0};
  world->end.failure = SAP_STEP_TAKEN;
  return &world->end.error;
}

static sap_step_failure end_call(sap_mujoco_world *world, sap_status status) {
  const struct sap_gather *gather = &world->stepper->gather;
  world->end.status = status;
  if (status != SAP_OK) {
    sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
  } else if (gather->fault != SAP_FAULT_NONE) {
    sap_mujoco_fail(world, SAP_STEP_FAULT, (int)gather->fault, gather->fault_index);
  }
  sap_mujoco_unlock(world);
  return world->end.failure;
}

/* Finds the forces of the start of the step again, where the solve replaced those of actuators or
 * of rotation. */
static sap_step_failure restore_forces(sap_mujoco_world *world) {
  const sap_stepper *stepper = world->stepper;
  const int has_controllers = stepper->constrained && stepper->elements.n_controllers > 0;
  if (!has_controllers && !world->corrects_rotation) {
    return SAP_STEP_TAKEN;
  }
  sap_mujoco_choose_products(world);
  const sap_step_failure failure = sap_mujoco_find_forces_again(world);
  world->skips_acceleration = world->skips_factor = 0;
  return failure;
}

sap_step_failure sap_linear_find_centre(sap_mujoco_world *world, struct sap_linear_step *linear,
                                        int32_t n_changes) {
  world->end.failure = SAP_STEP_TAKEN;
  if (!sap_mujoco_check_state(world)) {
    return world->end.failure;
  }
  sap_step_failure failure = sap_mujoco_evaluate_step(world);
  if (failure == SAP_STEP_TAKEN) {
    failure = sap_mujoco_solve(world);
  }
  if (failure == SAP_STEP_TAKEN && !world->stepper->took) {
    sap_mujoco_fail(world, SAP_STEP_OUTCOME, (int)world->stepper->solution.outcome,
                    world->stepper->solution.tree);
    failure = SAP_STEP_OUTCOME;
  }
  if (failure == SAP_STEP_TAKEN) {
    failure = restore_forces(world);
  }
  if (failure != SAP_STEP_TAKEN) {
    return failure;
  }
  const sap_step_arrays arrays = sap_mujoco_arrays(world);
  sap_error *error = begin_call(world);
  return end_call(world, sap_linear_step_find(linear, world->stepper, &arrays, n_changes, error));
}

double sap_linear_find_reach(sap_mujoco_world *world, const struct sap_linear_step *linear,
                             const double *x) {
  sap_mujoco_lock(world);
  const double reach = sap_linear_step_reach(linear, world->stepper, x);
  sap_mujoco_unlock(world);
  return reach;
}

sap_step_failure sap_linear_find_change(sap_mujoco_world *world, struct sap_linear_step *linear,
                                        const double *dF, double *dv) {
  sap_error *error = begin_call(world);
  return end_call(world, sap_linear_step_change(linear, dF, dv, error));
}

sap_step_failure sap_linear_find_residual(sap_mujoco_world *world, struct sap_linear_step *linear,
                                          int in_place, double *F) {
  const sap_step_arrays arrays = sap_mujoco_arrays(world);
  sap_error *error = begin_call(world);
  return end_call(world,
                  sap_linear_step_residual(linear, world->stepper, &arrays, in_place, F, error));
}

int sap_linear_finds_numbers(const sap_mujoco_world *world, const struct sap_linear_step *linear) {
  return sap_linear_takes_numbers(linear) && !sap_mujoco_takes_rotation(world);
}

sap_step_failure sap_linear_find_number(sap_mujoco_world *world, struct sap_linear_step *linear,
                                        const struct sap_number_slope *slope, double width,
                                        int32_t k, double *dF) {
  sap_error *error = begin_call(world);
  return end_call(world,
                  sap_linear_number_find(linear, world->stepper, slope, width, k, dF, error));
}

sap_step_failure sap_linear_add_along(sap_mujoco_world *world, struct sap_linear_step *linear,
                                      double *F) {
  sap_error *error = begin_call(world);
  return end_call(world, sap_linear_step_along(linear, F, error));
}

sap_step_failure sap_linear_find_sensors(sap_mujoco_world *world,
                                         const struct sap_linear_step *linear, const double *v) {
  const sap_step_arrays arrays = sap_mujoco_arrays(world);
  sap_error *error = begin_call(world);
  const sap_step_failure failure =
      end_call(world, sap_linear_step_write(linear, world->stepper, &arrays, v, error));
  return failure == SAP_STEP_TAKEN ? sap_mujoco_find_sensors(world) : failure;
}

static void integrate(void *context) {
  const sap_mujoco_world *world = context;
  world->api->mj_Euler(world->model, world->data);
}

sap_step_failure sap_linear_integrate(sap_mujoco_world *world) {
  world->end.failure = SAP_STEP_TAKEN;
  if (sap_mujoco_call(world, integrate, world) < 0) {
    sap_mujoco_fail(world, SAP_STEP_MUJOCO, 0, -1);
  }
  return world->end.failure;
}

/* ---- the end of a step ----------------------------------------------------------------------- */

/* Writes E = exp(-[w]) and the right Jacobian of exp at w, both (3, 3):
 * exp(d) exp(w + dw) = exp(w) exp(E d + J dw). */
static void find_turn(const double w[3], double E[9], double J[9]) {
  const double square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2], angle = sqrt(square);
  const int small = angle < 1e-3;
  const double a = small ? 1.0 - square / 6.0 : sin(angle) / angle;
  const double b = small ? 0.5 - square / 24.0 : (1.0 - cos(angle)) / square;
  const double c = small ? 1.0 / 6.0 - square / 120.0 : (angle - sin(angle)) / (square * angle);
  const double K[9] = {0.0, -w[2], w[1], w[2], 0.0, -w[0], -w[1], w[0], 0.0};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const double one = i == j, twice = w[i] * w[j] - (i == j ? square : 0.0);
      E[3 * i + j] = one - a * K[3 * i + j] + b * twice;
      J[3 * i + j] = one - b * K[3 * i + j] + c * twice;
    }
  }
}

/* Writes the change of three velocities that turn a body, whose arrays begin here. */
static void turn(double dt, const double *v, const double *dq, const double *dv, double *next) {
  const double w[3] = {dt * v[0], dt * v[1], dt * v[2]};
  double E[9], J[9];
  find_turn(w, E, J);
  for (int r = 0; r < 3; ++r) {
    const double *e = E + 3 * (size_t)r, *j = J + 3 * (size_t)r;
    next[r] = e[0] * dq[0] + e[1] * dq[1] + e[2] * dq[2] +
              dt * (j[0] * dv[0] + j[1] * dv[1] + j[2] * dv[2]);
  }
}

void sap_linear_move(const sap_mujoco_world *world, const double *v, const double *dq,
                     const double *dv, double *next) {
  const int *jnt_type = SAP_MODEL(world, jnt_type), *jnt_dofadr = SAP_MODEL(world, jnt_dofadr);
  const int64_t nv = world->state_length[1], n_joints = SAP_MODEL(world, njnt);
  const double dt = world->stepper->settings.dt;
  for (int64_t i = 0; i < nv; ++i) {
    next[i] = dq[i] + dt * dv[i];
  }
  for (int64_t j = 0; j < n_joints; ++j) {
    if (jnt_type[j] == SAP_MJJNT_FREE || jnt_type[j] == SAP_MJJNT_BALL) {
      const int64_t i = jnt_dofadr[j] + (jnt_type[j] == SAP_MJJNT_FREE ? 3 : 0);
      turn(dt, v + i, dq + i, dv + i, next + i);
    }
  }
}

/* ---- jumps ----------------------------------------------------------------------------------- */

sap_step_failure sap_linear_find_bend(sap_mujoco_world *world, struct sap_linear_step *linear,
                                      const double *sum, double *dv, double *bend) {
  const sap_step_failure failure = sap_linear_find_change(world, linear, sum, dv);
  *bend = 0.0;
  for (int64_t i = 0; i < linear->nv; ++i) {
    *bend = fmax(*bend, fabs(dv[i]));
  }
  return failure;
}

int sap_linear_is_bent(double bend, double h, double slope) {
  return bend > 2.0 * h * sap_jump_share * slope;
}

int sap_linear_jumps(double bend, double wide_bend) { return wide_bend < 4.0 * bend; }
