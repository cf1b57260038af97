#include "sapwood/linearization.h"

#include <math.h>
#include <string.h>

#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/pairs.h"
#include "mujoco/stages/lean_step.h"
#include "mujoco/stages/linear_stages.h"
#include "mujoco/stages/step.h"
#include "mujoco/stages/stages_tuning.h"
#include "step/derivatives/linear_step.h"

/* One linearization: the centre, the present side of a difference, and the columns. */
struct run {
  sap_mujoco_world *world;
  struct sap_linear_step *linear;
  struct sap_mujoco_linear *out;
  int64_t nq, nv, na, nu, ns;
  double *qpos, *qvel, *act, *ctrl;            /* the arrays of the data */
  double *q_0, *v_0, *act_0, *ctrl_0, *motion; /* (nq), (nv), (na), (nu), (nv) */
  double *F[2], *act_next[2], *sensors[2];     /* residuals (nv), next activations (na), (ns) */
  double *dF;                                  /* (2 nv + na + nu, nv), a row per column of A, B */
  double *dact;                                /* (2 nv + na + nu, na) */
  double *sum;                                 /* (nv, nv) residuals of both sides of a position */
  int jumps;      /* 1 if the velocity after the step jumps within a difference */
  double *dv, *v; /* (nv) */
};

/* Returns the number of columns of A and B. */
static int64_t columns_of(const struct run *run) { return 2 * run->nv + run->na + run->nu; }

int64_t sap_mujoco_linear_work(const sap_mujoco_world *world) {
  const int64_t nq = world->state_length[0], nv = world->state_length[1];
  const int64_t na = world->state_length[2], nu = world->state_length[3];
  return nq + nu + 6 * nv + 3 * na + 2 * world->nsensordata + (2 * nv + na + nu) * (nv + na) +
         nv * nv;
}

struct sap_linear_sizes sap_mujoco_linear_sizes(const sap_mujoco_world *world) {
  const int64_t *length = world->state_length;
  return (struct sap_linear_sizes){.nq = length[0],
                                   .nv = length[1],
                                   .nu = length[3],
                                   .n = 2 * length[1] + length[2],
                                   .n_sensors = world->nsensordata};
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
  run->ns = world->nsensordata;
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
  run->v = take(&work, run->nv);
  for (int side = 0; side < 2; ++side) {
    run->F[side] = take(&work, run->nv);
    run->act_next[side] = take(&work, run->na);
    run->sensors[side] = take(&work, run->ns);
  }
  run->dF = take(&work, columns_of(run) * run->nv);
  run->dact = take(&work, columns_of(run) * run->na);
  run->sum = take(&work, run->nv * run->nv);
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

/* ---- changes -------------------------------------------------------------------------------- */

/* Returns the difference of position i. */
static double position_step(const struct run *run, int64_t i) {
  return fmax(fmin(run->out->step, run->linear->most[i]), sap_least_difference);
}

/* Returns control i on one side of its difference. A control at an end of its range has a one-sided
 * difference, and one outside of it none: the engine clamps it. */
static double control_at(const struct run *run, int64_t i, double sign) {
  const struct sap_mujoco_linear *out = run->out;
  const int clamps = !(SAP_MODEL(run->world, disableflags) & SAP_MJDSBL_CLAMPCTRL);
  const double u = run->ctrl_0[i] + sign * sap_input_step;
  return clamps && out->ctrllimited[i]
             ? fmin(fmax(u, out->ctrlrange[2 * i]), out->ctrlrange[2 * i + 1])
             : u;
}

/* Moves position i of the centre by h. */
static void move_position(const struct run *run, int64_t i, double h) {
  restore_state(run);
  memset(run->motion, 0, sizeof(double) * (size_t)run->nv);
  run->motion[i] = 1.0;
  run->world->api->mj_integratePos(run->world->model, run->qpos, run->motion, h);
}

/* Changes the number of a column at the centre to one side of its difference, for a position by
 * `widths` times its step. Returns its value there. */
static double change_state(const struct run *run, int64_t column, int side, double widths) {
  const int64_t i = column < run->nv ? column : column - run->nv;
  const double sign = side ? 1.0 : -1.0;
  if (column < run->nv) {
    const double h = sign * widths * position_step(run, i);
    move_position(run, i, h);
    return h;
  }
  restore_state(run);
  if (i < run->nv) {
    return run->qvel[i] = run->v_0[i] + sign * sap_velocity_step;
  }
  if (i < run->nv + run->na) {
    const int64_t k = i - run->nv;
    return run->act[k] = run->act_0[k] + sign * sap_input_step;
  }
  const int64_t k = i - run->nv - run->na;
  return run->ctrl[k] = control_at(run, k, sign);
}

/* Returns 1 if the residual is linear in the controls: forces of actuators are a gain times the
 * control, and there are no activations. */
static int is_linear_in_controls(const struct run *run) {
  const int *gain = SAP_MODEL(run->world, actuator_gaintype);
  const int64_t n = SAP_MODEL(run->world, nactuator);
  int linear = run->na == 0 && n == run->nu;
  for (int64_t i = 0; i < n && linear; ++i) {
    linear = gain[i] == SAP_MJGAIN_FIXED || gain[i] == SAP_MJGAIN_AFFINE;
  }
  return linear;
}

/* Returns the width of a difference whose sides are at these values; INFINITY if they are equal. */
static double width_of(const double at[2]) { return at[1] > at[0] ? at[1] - at[0] : INFINITY; }

/* ---- residuals ------------------------------------------------------------------------------- */

typedef sap_step_failure stage(sap_mujoco_world *world);

/* Finds the next activations, which mj_Euler alone knows. */
static sap_step_failure find_activations(struct run *run, double *next) {
  sap_mujoco_world *world = run->world;
  const double time = SAP_DATA(world, time);
  if (run->na == 0) {
    return SAP_STEP_TAKEN;
  }
  const sap_step_failure failure = sap_linear_integrate(world);
  copy(next, run->act, run->na);
  SAP_SET_DATA(world, time, time);
  return failure;
}

/* Runs the stages that a change affects, and finds the residual and the next activations. */
static sap_step_failure evaluate(struct run *run, stage *stages, int side) {
  sap_step_failure failure = stages(run->world);
  if (failure == SAP_STEP_TAKEN) {
    failure = sap_linear_find_residual(run->world, run->linear, stages != sap_mujoco_evaluate_step,
                                       run->F[side]);
  }
  return failure == SAP_STEP_TAKEN ? find_activations(run, run->act_next[side]) : failure;
}

/* Finds the residuals of both sides of a difference, and the values at[] of its number there. */
static sap_step_failure evaluate_sides(struct run *run, int64_t column, double widths,
                                       stage *stages, double at[2]) {
  sap_step_failure failure = SAP_STEP_TAKEN;
  for (int side = 0; side < 2 && failure == SAP_STEP_TAKEN; ++side) {
    at[side] = change_state(run, column, side, widths);
    failure = evaluate(run, stages, side);
  }
  return failure;
}

/* Does the same by the derivative of the contact law, which bends within small slips. If a side has
 * other constraints than the centre, both sides use the law itself. */
static sap_step_failure evaluate_both(struct run *run, int64_t column, double widths, stage *stages,
                                      double at[2]) {
  struct sap_linear_step *linear = run->linear;
  linear->is_law_linear = 1;
  linear->crosses_set = 0;
  sap_step_failure failure = evaluate_sides(run, column, widths, stages, at);
  if (failure == SAP_STEP_TAKEN && linear->crosses_set) {
    linear->is_law_linear = 0;
    failure = evaluate_sides(run, column, widths, stages, at);
  }
  return failure;
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

/* Differentiates by n numbers from a column on, after the stages of the centre that they leave. */
static sap_step_failure differentiate(struct run *run, int64_t first, int64_t n, stage *stages) {
  sap_step_failure failure = SAP_STEP_TAKEN;
  for (int64_t column = first; column < first + n && failure == SAP_STEP_TAKEN; ++column) {
    double at[2] = {0.0, 0.0};
    failure = evaluate_both(run, column, 1.0, stages, at);
    write_column(run, column, width_of(at));
    for (int64_t i = 0; column < run->nv && i < run->nv; ++i) {
      run->sum[column * run->nv + i] = run->F[1][i] + run->F[0][i];
    }
  }
  restore_state(run);
  return failure;
}

/* Differentiates by the controls with one side of each difference, the upper one where the range
 * has it. */
static sap_step_failure differentiate_linear_controls(struct run *run) {
  const int64_t first = 2 * run->nv;
  sap_step_failure failure = SAP_STEP_TAKEN;
  copy(run->F[0], run->linear->F, run->nv);
  run->linear->is_law_linear = 1;
  for (int64_t i = 0; i < run->nu && failure == SAP_STEP_TAKEN; ++i) {
    double at[2] = {run->ctrl_0[i], change_state(run, first + i, 1, 1.0)};
    if (at[1] == at[0]) {
      at[1] = change_state(run, first + i, 0, 1.0);
    }
    failure = evaluate(run, sap_mujoco_find_forces_again, 1);
    write_column(run, first + i, at[1] == at[0] ? INFINITY : at[1] - at[0]);
  }
  restore_state(run);
  return failure;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Writes an entry of two matrices: columns from 2 nv + na on are those of the second. */
static void set_entry(const struct run *run, double *one, double *two, int64_t row, int64_t column,
                      double value) {
  const int64_t n = 2 * run->nv + run->na;
  if (column < n) {
    one[row * n + column] = value;
  } else {
    two[row * run->nu + column - n] = value;
  }
}

/* Writes one column of A or B from its dF. */
static sap_step_failure finish_column(const struct run *run, int64_t column) {
  const struct sap_mujoco_linear *out = run->out;
  const int64_t nv = run->nv;
  double *dq = run->motion, *next = run->F[0];
  memset(dq, 0, sizeof *dq * (size_t)nv);
  if (column < nv) {
    dq[column] = 1.0;
  }
  const sap_step_failure failure =
      sap_linear_find_change(run->world, run->linear, run->dF + column * nv, run->dv);
  sap_linear_move(run->world, run->linear->v, dq, run->dv, next);
  for (int64_t i = 0; i < nv; ++i) {
    set_entry(run, out->A, out->B, i, column, next[i]);
    set_entry(run, out->A, out->B, nv + i, column, run->dv[i]);
  }
  for (int64_t k = 0; k < run->na; ++k) {
    set_entry(run, out->A, out->B, 2 * nv + k, column, run->dact[column * run->na + k]);
  }
  return failure;
}

/* Finds the sensors on one side of a difference, where the velocity after the step follows. */
static sap_step_failure find_side(struct run *run, int64_t column, int side, double change) {
  sap_step_failure failure = sap_mujoco_evaluate_step(run->world);
  if (failure == SAP_STEP_TAKEN) {
    failure = sap_linear_find_change(run->world, run->linear, run->dF + column * run->nv, run->dv);
  }
  if (failure != SAP_STEP_TAKEN) {
    return failure;
  }
  for (int64_t i = 0; i < run->nv; ++i) {
    run->v[i] = run->linear->v[i] + change * run->dv[i];
  }
  const sap_step_failure end = sap_linear_find_sensors(run->world, run->linear, run->v);
  copy(run->sensors[side], SAP_DATA(run->world, sensordata), run->ns);
  return end;
}

/* Returns the value of the number of a column at the centre. */
static double value_at_centre(const struct run *run, int64_t column) {
  const int64_t i = column - run->nv, k = i - run->nv, j = k - run->na;
  return i < 0 ? 0.0 : k < 0 ? run->v_0[i] : j < 0 ? run->act_0[k] : run->ctrl_0[j];
}

/* Finds C and D. */
static sap_step_failure find_sensor_columns(struct run *run) {
  const struct sap_mujoco_linear *out = run->out;
  sap_step_failure failure = SAP_STEP_TAKEN;
  for (int64_t c = 0; c < columns_of(run) && failure == SAP_STEP_TAKEN; ++c) {
    double at[2] = {0.0, 0.0};
    for (int side = 0; side < 2 && failure == SAP_STEP_TAKEN; ++side) {
      at[side] = change_state(run, c, side, 1.0);
      failure = find_side(run, c, side, at[side] - value_at_centre(run, c));
    }
    for (int64_t i = 0; i < run->ns; ++i) {
      set_entry(run, out->C, out->D, i, c,
                (run->sensors[1][i] - run->sensors[0][i]) / width_of(at));
    }
  }
  restore_state(run);
  return failure;
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Finds all columns. Controls and velocities come first, while the data have the stages of the
 * centre before them. */
static sap_step_failure find_columns(struct run *run) {
  const int64_t nv = run->nv;
  sap_step_failure failure =
      is_linear_in_controls(run)
          ? differentiate_linear_controls(run)
          : differentiate(run, 2 * nv, run->na + run->nu, sap_mujoco_find_forces_again);
  if (failure == SAP_STEP_TAKEN) {
    failure = differentiate(run, nv, nv, sap_mujoco_evaluate_velocities);
  }
  return failure == SAP_STEP_TAKEN ? differentiate(run, 0, nv, sap_mujoco_evaluate_step) : failure;
}

/* Returns the largest entry of A's rows of the velocity after the step. */
static double largest_change(const struct run *run) {
  const int64_t n = 2 * run->nv + run->na;
  double most = 0.0;
  for (int64_t k = run->nv * n; k < 2 * run->nv * n; ++k) {
    most = fmax(most, fabs(run->out->A[k]));
  }
  return most;
}

/* Finds the bend of a difference from the sum of the residuals of its sides, which is
 * overwritten. */
static sap_step_failure find_bend(const struct run *run, double *sum, double *bend) {
  for (int64_t i = 0; i < run->nv; ++i) {
    sum[i] -= 2.0 * run->linear->F[i];
  }
  return sap_linear_find_bend(run->world, run->linear, sum, run->dv, bend);
}

/* Finds whether the velocity after the step jumps within the difference of a position. */
static sap_step_failure find_jumps(struct run *run) {
  const double slope = largest_change(run);
  sap_step_failure failure = SAP_STEP_TAKEN;
  for (int64_t c = 0; c < run->nv && !run->jumps && failure == SAP_STEP_TAKEN; ++c) {
    double *sum = run->sum + c * run->nv;
    const double h = position_step(run, c);
    double bend, wide_bend, at[2];
    failure = find_bend(run, sum, &bend);
    if (failure != SAP_STEP_TAKEN || !sap_linear_is_bent(bend, h, slope)) {
      continue;
    }
    failure = evaluate_both(run, c, 4.0, sap_mujoco_evaluate_step, at);
    for (int64_t i = 0; i < run->nv; ++i) {
      sum[i] = run->F[1][i] + run->F[0][i];
    }
    if (failure == SAP_STEP_TAKEN) {
      failure = find_bend(run, sum, &wide_bend);
      run->jumps = sap_linear_jumps(bend, wide_bend);
    }
  }
  restore_state(run);
  return failure;
}

/* Writes the positions and velocities after the step, from the state before it in the data. */
static void write_end(const struct run *run) {
  const struct sap_mujoco_linear *out = run->out;
  const sap_mujoco_world *world = run->world;
  copy(out->v, run->linear->v, run->nv);
  copy(out->q, run->qpos, run->nq);
  world->api->mj_integratePos(world->model, out->q, out->v, world->stepper->settings.dt);
}

static int is_near_kink(const struct run *run) {
  double least = run->out->step;
  for (int64_t i = 0; i < run->nv; ++i) {
    least = fmin(least, run->linear->most[i]);
  }
  return least < sap_least_difference || run->linear->crosses_release || run->jumps;
}

sap_step_failure sap_mujoco_linearize(sap_mujoco_world *world, struct sap_linear_step *linear,
                                      struct sap_mujoco_linear *out) {
  struct run run;
  struct sap_kept_pairs pairs = {.n = -1};
  begin(&run, world, linear, out);
  world->pairs = &pairs;
  linear->soften = out->soften;
  linear->is_law_linear = linear->n_numbers = 0;
  linear->along = NULL;
  keep_state(&run);
  const int may_be_lean = sap_mujoco_begin_lean(world) && !sap_mujoco_is_watched(world);
  world->lean = 0;
  sap_step_failure failure = sap_linear_find_centre(world, linear, INT32_MAX);
  if (failure == SAP_STEP_TAKEN) {
    out->loses_rebound = (world->stepper->fallbacks & SAP_FALLBACK_REBOUND) != 0;
    out->holds_rotation = world->stepper->is_corrected;
    failure = find_activations(&run, out->act);
    restore_state(&run);
  }
  if (failure == SAP_STEP_TAKEN) {
    world->lean = may_be_lean;
    failure = find_columns(&run);
  }
  world->lean = 0;
  for (int64_t column = 0; failure == SAP_STEP_TAKEN && column < columns_of(&run); ++column) {
    failure = finish_column(&run, column);
  }
  if (failure == SAP_STEP_TAKEN) {
    failure = find_jumps(&run);
  }
  if (failure == SAP_STEP_TAKEN && out->C) {
    failure = find_sensor_columns(&run);
  }
  restore_state(&run);
  world->pairs = NULL;
  if (failure == SAP_STEP_TAKEN) {
    write_end(&run);
    out->distance = linear->distance;
    out->n_acting = linear->n_acting;
    out->is_near_kink = is_near_kink(&run);
  }
  return failure;
}
