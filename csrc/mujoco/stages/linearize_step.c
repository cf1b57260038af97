#include "mujoco/stages/linearize_step.h"

#include <math.h>
#include <string.h>

#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/guard.h"
#include "mujoco/engine/world.h"
#include "mujoco/stages/contact_part.h"
#include "mujoco/stages/lean_step.h"
#include "mujoco/stages/state_check.h"
#include "mujoco/stages/step.h"

/* differences of velocities, activations and controls; smooth forces are mostly polynomials in
 * them */
static const double VELOCITY_STEP = 1e-5, INPUT_STEP = 1e-6;

/* One linearization: the centre, the present side of a difference, and the columns. */
struct run {
  sap_mujoco_world *world;
  struct sap_linear_step *linear;
  struct sap_mujoco_linear *out;
  int64_t nq, nv, na, nu;
  double *qpos, *qvel, *act, *ctrl;            /* the arrays of the data */
  double *q_0, *v_0, *act_0, *ctrl_0, *motion; /* (nq), (nv), (na), (nu), (nv) */
  double *F[2], *act_next[2];                  /* residuals (nv), next activations (na) */
  double *dF;                                  /* (2 nv + na + nu, nv), a row per column of A, B */
  double *dact;                                /* (2 nv + na + nu, na) */
  double *dv;                                  /* (nv) */
};

int64_t sap_mujoco_linear_work(const sap_mujoco_world *world) {
  const int64_t nq = world->state_length[0], nv = world->state_length[1];
  const int64_t na = world->state_length[2], nu = world->state_length[3];
  return nq + nu + 5 * nv + 3 * na + (2 * nv + na + nu) * (nv + na);
}

void sap_mujoco_linear_sizes(const sap_mujoco_world *world, int64_t *n, int64_t *nv, int64_t *nu) {
  *nv = world->state_length[1];
  *n = 2 * *nv + world->state_length[2];
  *nu = world->state_length[3];
}

static double *take(double **work, int64_t n) {
  double *piece = *work;
  *work += n;
  return piece;
}

static void begin(struct run *run, sap_mujoco_world *world, struct sap_linear_step *linear,
                  struct sap_mujoco_linear *out) {
  double *work = out->work;
  memset(run, 0, sizeof *run);
  run->world = world;
  run->linear = linear;
  run->out = out;
  run->nq = world->state_length[0];
  run->nv = world->state_length[1];
  run->na = world->state_length[2];
  run->nu = world->state_length[3];
  run->qpos = SAP_DATA(world, qpos);
  run->qvel = SAP_DATA(world, qvel);
  run->act = SAP_DATA(world, act);
  run->ctrl = SAP_DATA(world, ctrl);
  run->q_0 = take(&work, run->nq);
  run->v_0 = take(&work, run->nv);
  run->act_0 = take(&work, run->na);
  run->ctrl_0 = take(&work, run->nu);
  run->motion = take(&work, run->nv);
  run->dv = take(&work, run->nv);
  for (int side = 0; side < 2; ++side) {
    run->F[side] = take(&work, run->nv);
    run->act_next[side] = take(&work, run->na);
  }
  run->dF = take(&work, (2 * run->nv + run->na + run->nu) * run->nv);
  run->dact = take(&work, (2 * run->nv + run->na + run->nu) * run->na);
}

static void copy(double *to, const double *from, int64_t n) {
  if (n > 0) {
    memcpy(to, from, sizeof *to * (size_t)n);
  }
}

static void keep_state(const struct run *run) {
  copy(run->q_0, run->qpos, run->nq);
  copy(run->v_0, run->qvel, run->nv);
  copy(run->act_0, run->act, run->na);
  copy(run->ctrl_0, run->ctrl, run->nu);
}

static void restore_state(const struct run *run) {
  copy(run->qpos, run->q_0, run->nq);
  copy(run->qvel, run->v_0, run->nv);
  copy(run->act, run->act_0, run->na);
  copy(run->ctrl, run->ctrl_0, run->nu);
}

/* ---- stages --------------------------------------------------------------------------------- */

typedef sap_step_failure stage(sap_mujoco_world *world);

/* Calls a function of linear_step.h under the lock of the stepper. */
static sap_step_failure call_linear(struct run *run, int in_place, double *F) {
  sap_mujoco_world *world = run->world;
  const sap_step_arrays arrays = sap_mujoco_arrays(world);
  struct sap_gather *gather = &world->stepper->gather;
  sap_mujoco_lock(world);
  world->end.error = (sap_error){0};
  world->end.failure = SAP_STEP_TAKEN;
  world->end.status =
      F ? sap_linear_step_residual(run->linear, world->stepper, &arrays, in_place, F,
                                   &world->end.error)
        : sap_linear_step_find(run->linear, world->stepper, &arrays, &world->end.error);
  if (world->end.status != SAP_OK) {
    sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
  } else if (gather->fault != SAP_FAULT_NONE) {
    sap_mujoco_fail(world, SAP_STEP_FAULT, (int)gather->fault, gather->fault_index);
  }
  sap_mujoco_unlock(world);
  return world->end.failure;
}

static void integrate(void *context) {
  const sap_mujoco_world *world = context;
  world->api->mj_Euler(world->model, world->data);
}

/* Finds the next activations, which mj_Euler alone knows. */
static sap_step_failure find_activations(struct run *run, double *next) {
  sap_mujoco_world *world = run->world;
  const double time = SAP_DATA(world, time);
  if (run->na == 0) {
    return SAP_STEP_TAKEN;
  }
  if (sap_mujoco_call(world->api, integrate, world, world->end.message) < 0) {
    sap_mujoco_fail(world, SAP_STEP_MUJOCO, 0, -1);
    return SAP_STEP_MUJOCO;
  }
  copy(next, run->act, run->na);
  copy(run->qpos, run->q_0, run->nq);
  copy(run->qvel, run->v_0, run->nv);
  copy(run->act, run->act_0, run->na);
  SAP_SET_DATA(world, time, time);
  return SAP_STEP_TAKEN;
}

/* Runs the stages that a change affects, and finds the residual and the next activations. */
static sap_step_failure evaluate(struct run *run, stage *stages, int side) {
  sap_step_failure failure = stages(run->world);
  if (failure == SAP_STEP_TAKEN) {
    failure = call_linear(run, stages != sap_mujoco_evaluate_step, run->F[side]);
  }
  return failure == SAP_STEP_TAKEN ? find_activations(run, run->act_next[side]) : failure;
}

/* Writes the difference of the two sides over `width` as the given column. */
static void write_column(const struct run *run, int64_t column, double width) {
  double *dF = run->dF + column * run->nv, *dact = run->dact + column * run->na;
  for (int64_t i = 0; i < run->nv; ++i) {
    dF[i] = (run->F[1][i] - run->F[0][i]) / width;
  }
  for (int64_t i = 0; i < run->na; ++i) {
    dact[i] = (run->act_next[1][i] - run->act_next[0][i]) / width;
  }
}

/* ---- columns -------------------------------------------------------------------------------- */

static sap_step_failure differentiate_positions(struct run *run) {
  const sap_mujoco_world *world = run->world;
  struct sap_mujoco_linear *out = run->out;
  sap_step_failure failure = SAP_STEP_TAKEN;
  out->least = out->step;
  for (int64_t i = 0; i < run->nv && failure == SAP_STEP_TAKEN; ++i) {
    const double h = fmax(fmin(out->step, run->linear->most[i]), SAP_LEAST_DIFFERENCE);
    out->least = fmin(out->least, fmin(out->step, run->linear->most[i]));
    for (int side = 0; side < 2 && failure == SAP_STEP_TAKEN; ++side) {
      memset(run->motion, 0, sizeof(double) * (size_t)run->nv);
      run->motion[i] = 1.0;
      copy(run->qpos, run->q_0, run->nq);
      world->api->mj_integratePos(world->model, run->qpos, run->motion, side ? h : -h);
      failure = evaluate(run, sap_mujoco_evaluate_step, side);
    }
    write_column(run, i, 2.0 * h);
  }
  copy(run->qpos, run->q_0, run->nq);
  return failure == SAP_STEP_TAKEN ? sap_mujoco_evaluate_step(run->world) : failure;
}

/* Differentiates by the n numbers x: x is in the data, x_0 at the centre, and `column` is the first
 * column. */
static sap_step_failure differentiate_by(struct run *run, double *x, const double *x_0, int64_t n,
                                         double h, int64_t column, stage *stages) {
  sap_step_failure failure = SAP_STEP_TAKEN;
  for (int64_t i = 0; i < n && failure == SAP_STEP_TAKEN; ++i) {
    double at[2] = {0.0, 0.0};
    for (int side = 0; side < 2 && failure == SAP_STEP_TAKEN; ++side) {
      at[side] = x[i] = x_0[i] + (side ? h : -h);
      failure = evaluate(run, stages, side);
    }
    write_column(run, column + i, at[1] - at[0]);
    x[i] = x_0[i];
  }
  return failure;
}

/* Differentiates by the controls. A control at an end of its range has a one-sided difference, and
 * one outside of it none: the engine clamps it. */
static sap_step_failure differentiate_controls(struct run *run, int64_t column) {
  const struct sap_mujoco_linear *out = run->out;
  const int clamps = !(SAP_MODEL(run->world, disableflags) & SAP_MJDSBL_CLAMPCTRL);
  sap_step_failure failure = SAP_STEP_TAKEN;
  for (int64_t i = 0; i < run->nu && failure == SAP_STEP_TAKEN; ++i) {
    const int limited = clamps && out->ctrllimited[i];
    const double u = run->ctrl_0[i];
    double at[2] = {u - INPUT_STEP, u + INPUT_STEP};
    if (limited) {
      at[0] = fmin(fmax(at[0], out->ctrlrange[2 * i]), out->ctrlrange[2 * i + 1]);
      at[1] = fmin(fmax(at[1], out->ctrlrange[2 * i]), out->ctrlrange[2 * i + 1]);
    }
    for (int side = 0; side < 2 && failure == SAP_STEP_TAKEN; ++side) {
      run->ctrl[i] = at[side];
      failure = evaluate(run, sap_mujoco_find_forces, side);
    }
    write_column(run, column + i, at[1] > at[0] ? at[1] - at[0] : INFINITY);
    run->ctrl[i] = u;
  }
  return failure;
}

/* ---- the end of the step --------------------------------------------------------------------- */

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

/* Writes entry (row, column) of A or B; columns from 2 nv + na on are those of B. */
static void set_entry(const struct run *run, int64_t row, int64_t column, double value) {
  const int64_t n = 2 * run->nv + run->na;
  if (column < n) {
    run->out->A[row * n + column] = value;
  } else {
    run->out->B[row * run->nu + column - n] = value;
  }
}

/* Writes the rows of the next positions of three velocities that turn a body, from row i on. */
static void write_turn(const struct run *run, int64_t i, int64_t column, double dt) {
  const double *v = run->linear->v + i, *dv = run->dv + i;
  const double w[3] = {dt * v[0], dt * v[1], dt * v[2]};
  double E[9], J[9];
  find_turn(w, E, J);
  for (int r = 0; r < 3; ++r) {
    double sum = dt * (J[3 * r] * dv[0] + J[3 * r + 1] * dv[1] + J[3 * r + 2] * dv[2]);
    sum += column >= i && column < i + 3 ? E[3 * r + column - i] : 0.0;
    set_entry(run, i + r, column, sum);
  }
}

/* Writes one column of A or B from its dF. */
static void finish_column(const struct run *run, int64_t column) {
  const sap_mujoco_world *world = run->world;
  const int *jnt_type = SAP_MODEL(world, jnt_type), *jnt_dofadr = SAP_MODEL(world, jnt_dofadr);
  const int64_t nv = run->nv, n_joints = SAP_MODEL(world, njnt);
  const double dt = world->stepper->settings.dt;
  sap_linear_step_change(run->linear, run->dF + column * nv, run->dv);
  for (int64_t i = 0; i < nv; ++i) {
    set_entry(run, i, column, (i == column) + dt * run->dv[i]);
    set_entry(run, nv + i, column, run->dv[i]);
  }
  for (int64_t j = 0; j < n_joints; ++j) {
    if (jnt_type[j] == SAP_MJJNT_FREE || jnt_type[j] == SAP_MJJNT_BALL) {
      write_turn(run, jnt_dofadr[j] + (jnt_type[j] == SAP_MJJNT_FREE ? 3 : 0), column, dt);
    }
  }
  for (int64_t k = 0; k < run->na; ++k) {
    set_entry(run, 2 * nv + k, column, run->dact[column * run->na + k]);
  }
}

/* ---- all ------------------------------------------------------------------------------------ */

static sap_step_failure find_centre(struct run *run) {
  sap_mujoco_world *world = run->world;
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
  return failure == SAP_STEP_TAKEN ? call_linear(run, 1, NULL) : failure;
}

static sap_step_failure find_columns(struct run *run) {
  const int64_t nv = run->nv;
  sap_step_failure failure = differentiate_positions(run);
  if (failure == SAP_STEP_TAKEN) {
    failure = differentiate_by(run, run->qvel, run->v_0, nv, VELOCITY_STEP, nv,
                               sap_mujoco_evaluate_velocities);
  }
  if (failure == SAP_STEP_TAKEN) {
    failure = sap_mujoco_evaluate_velocities(run->world);
  }
  if (failure == SAP_STEP_TAKEN) {
    failure = differentiate_by(run, run->act, run->act_0, run->na, INPUT_STEP, 2 * nv,
                               sap_mujoco_find_forces);
  }
  return failure == SAP_STEP_TAKEN ? differentiate_controls(run, 2 * nv + run->na) : failure;
}

sap_step_failure sap_mujoco_linearize(sap_mujoco_world *world, struct sap_linear_step *linear,
                                      struct sap_mujoco_linear *out) {
  struct run run;
  begin(&run, world, linear, out);
  linear->soften = out->soften;
  keep_state(&run);
  const int may_be_lean = sap_mujoco_begin_lean(world) && !sap_mujoco_is_watched(world);
  world->lean = 0;
  sap_step_failure failure = find_centre(&run);
  if (failure == SAP_STEP_TAKEN) {
    world->reads_rows = world->stepper->gather.reads_rows;
    world->lean = may_be_lean;
    failure = find_columns(&run);
    if (failure == SAP_STEP_FAULT && world->lean) {
      world->lean = 0;
      restore_state(&run);
      failure = find_columns(&run);
    }
  }
  world->lean = 0;
  restore_state(&run);
  if (failure == SAP_STEP_TAKEN) {
    for (int64_t column = 0; column < 2 * run.nv + run.na + run.nu; ++column) {
      finish_column(&run, column);
    }
    copy(out->v, linear->v, run.nv);
    out->distance = linear->distance;
    out->n_acting = linear->n_acting;
  }
  return failure;
}
