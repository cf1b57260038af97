/* This file takes steps in parts whose error is estimated; see sapwood/mujoco.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mujoco/accuracy/accuracy_tuning.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/stages/lean_step.h"
#include "mujoco/stages/recording.h"
#include "mujoco/stages/state_check.h"
#include "mujoco/stages/step.h"

/* Positions (nq) and velocities (nv). */
struct motion {
  double *q, *v;
};

struct parts {
  sap_mujoco_world *world;
  const sap_accuracy *accuracy;
  struct sap_block block;
  int64_t n_state, nq, nv;
  double time_step; /* length of the whole step, s */
  int lean;         /* 1: steps within a time step may be lean */
  int level;        /* halvings of the present part */
  int knows_whole;  /* 1: the present part was taken as a whole already */

  double *at_start, *at_part; /* (n_state) states where the step and the part begin */
  double *at_end;             /* (n_state) state where the halves end */
  struct motion whole, half;  /* after the whole part and after its first half */
  double *v_end;              /* (nv) velocity after the halves */
  double *difference;         /* (nv) positions after the halves less those after the whole */

  sap_step_record sum; /* sums and maxima over the halves of this step */
  double solver_seconds;
  sap_parts_record record;
};

/* ---- memory ---------------------------------------------------------------------------------- */

static void carve_motion(const struct parts *p, struct sap_arena *arena, struct motion *motion) {
  motion->q = sap_arena_take(arena, (size_t)p->nq, sizeof(double));
  motion->v = sap_arena_take(arena, (size_t)p->nv, sizeof(double));
}

static void carve(void *context, struct sap_arena *arena) {
  struct parts *p = context;
  p->at_start = sap_arena_take(arena, (size_t)p->n_state, sizeof(double));
  p->at_part = sap_arena_take(arena, (size_t)p->n_state, sizeof(double));
  p->at_end = sap_arena_take(arena, (size_t)p->n_state, sizeof(double));
  p->v_end = sap_arena_take(arena, (size_t)p->nv, sizeof(double));
  carve_motion(p, arena, &p->whole);
  carve_motion(p, arena, &p->half);
  p->difference = sap_arena_take(arena, (size_t)p->nv, sizeof(double));
}

/* Returns 0 with the failure in the world. */
static int open_parts(struct parts *p, sap_mujoco_world *world, const sap_accuracy *accuracy) {
  const int n_state = sap_mujoco_state_size(world, accuracy->state_spec);
  *p = (struct parts){.world = world,
                      .accuracy = accuracy,
                      .level = accuracy->level,
                      .n_state = n_state,
                      .nq = SAP_MODEL(world, nq),
                      .nv = SAP_MODEL(world, nv),
                      .time_step = world->stepper->settings.dt,
                      .lean = sap_mujoco_begin_lean(world)};
  if (n_state < 0) {
    sap_mujoco_fail(world, SAP_STEP_MUJOCO, 0, -1);
  } else if (!sap_block_carve(&p->block, carve, p, &world->allocator)) {
    world->end.status = SAP_OUT_OF_MEMORY;
    sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
  }
  return p->block.base != NULL;
}

/* ---- states ---------------------------------------------------------------------------------- */

static void save(const struct parts *p, double *state) {
  const sap_mujoco_world *world = p->world;
  world->api->mj_getState(world->model, world->data, state, p->accuracy->state_spec);
}

static void restore(const struct parts *p, const double *state) {
  const sap_mujoco_world *world = p->world;
  world->api->mj_setState(world->model, world->data, state, p->accuracy->state_spec);
}

static void copy_motion(const struct parts *p, const struct motion *motion) {
  memcpy(motion->q, SAP_DATA(p->world, qpos), (size_t)p->nq * sizeof(double));
  memcpy(motion->v, SAP_DATA(p->world, qvel), (size_t)p->nv * sizeof(double));
}

static void set_time_step(const struct parts *p, double dt) {
  sap_mujoco_world *world = p->world;
  sap_mujoco_lock(world);
  sap_stepper_set_time_step(world->stepper, dt);
  sap_mujoco_unlock(world);
  sap_mjmodel_set_timestep(world->api, (void *)world->model, dt);
  world->options.timestep = dt;
}

/* Returns the larger number, NaN if there is one. */
static double larger_or_nan(double a, double b) { return a >= b || isnan(a) ? a : b; }

/* Estimated errors of positions, and of velocities per s, over the scale. */
struct errors {
  double q, v;
};

/* Compares the present state with that after the whole part. */
static struct errors find_errors(const struct parts *p) {
  const sap_mujoco_world *world = p->world;
  const double *v = SAP_DATA(world, qvel), *scale = p->accuracy->scale;
  struct errors errors = {0.0, 0.0};
  world->api->mj_differentiatePos(world->model, p->difference, 1.0, p->whole.q,
                                  SAP_DATA(world, qpos));
  for (int64_t i = 0; i < p->nv; ++i) {
    errors.q = larger_or_nan(fabs(p->difference[i]) / scale[i], errors.q);
    errors.v = larger_or_nan(fabs(v[i] - p->whole.v[i]) / scale[i], errors.v);
  }
  return errors;
}

/* Returns 1 if a gap closes: a contact that was open at the start of the last step acted in it. */
static int closes_gap(const struct parts *p) {
  const struct sap_gather *gather = &p->world->stepper->gather;
  int any = 0;
  for (int32_t c = 0; c < gather->problem.n_contacts && !any; ++c) {
    any = gather->phi0[c] > 0.0 && gather->gamma[3 * (int64_t)c + 2] > 0.0;
  }
  return any;
}

/* Moves the state by its difference from that after the whole part: the error of both is linear in
 * their length where the motion is smooth. */
static void extrapolate(const struct parts *p) {
  const sap_mujoco_world *world = p->world;
  double *v = SAP_DATA(world, qvel);
  world->api->mj_integratePos(world->model, SAP_DATA(world, qpos), p->difference, 1.0);
  for (int64_t i = 0; i < p->nv; ++i) {
    v[i] += v[i] - p->whole.v[i];
  }
}

/* ---- records --------------------------------------------------------------------------------- */

static int32_t larger_count(int32_t a, int32_t b) { return a > b ? a : b; }

/* Adds the record of a half to that of the step. */
static void add_half(struct parts *p) {
  sap_step_record *sum = &p->sum;
  const sap_step_record last = *sum;
  *sum = p->world->record;
  if (p->record.substeps++ > 0) {
    sum->momentum_error = larger_or_nan(last.momentum_error, sum->momentum_error);
    sum->velocity_error_bound = larger_or_nan(last.velocity_error_bound, sum->velocity_error_bound);
    sum->coulomb_error = larger_or_nan(last.coulomb_error, sum->coulomb_error);
    sum->overlap = larger_or_nan(last.overlap, sum->overlap);
    sum->iterations = larger_count(last.iterations, sum->iterations);
    sum->status = larger_count(last.status, sum->status);
    sum->total_iterations += last.total_iterations;
    sum->line_search_trials += last.line_search_trials;
    sum->fallbacks |= last.fallbacks;
  }
}

/* ---- a part ---------------------------------------------------------------------------------- */

/* Returns 1 if shorter parts would fail like this one. */
static int is_final(const sap_mujoco_world *world) {
  return world->end.failure == SAP_STEP_OPTIONS || world->end.failure == SAP_STEP_MUJOCO ||
         world->end.failure == SAP_STEP_ARGUMENT;
}

static int is_shortest(const struct parts *p) { return p->level + 1 == p->accuracy->halvings; }

/* Takes a step; returns 0 with the failure in the world. */
static int take(struct parts *p, int lean) {
  const int taken = sap_mujoco_take(p->world, p->lean && lean) == SAP_STEP_TAKEN;
  p->solver_seconds += taken ? p->world->record.solver_seconds : 0.0;
  return taken;
}

/* Takes the part as a whole; returns 0 with the failure in the world. */
static int take_whole(struct parts *p) {
  int64_t counts[SAP_PROXIMAL_LIMIT + 1]; /* trials do not count as steps */
  memcpy(counts, p->world->stepper->counts, sizeof counts);
  set_time_step(p, ldexp(p->time_step, -p->level));
  const int taken = take(p, 1);
  memcpy(p->world->stepper->counts, counts, sizeof counts);
  if (taken) {
    copy_motion(p, &p->whole);
  }
  restore(p, p->at_part);
  return taken;
}

/* Takes the part in halves, the second one as a full step if it `closes` the time step; returns 0
 * with the failure in the world. */
static int take_halves(struct parts *p, int closes) {
  set_time_step(p, ldexp(p->time_step, -p->level - 1));
  if (!take(p, 1)) {
    return 0;
  }
  copy_motion(p, &p->half);
  add_half(p);
  if (!take(p, !closes)) {
    return 0;
  }
  add_half(p);
  return 1;
}

/* The state and the sums where a part begins. */
struct mark {
  sap_step_record sum;
  int32_t substeps;
  int64_t counts[SAP_PROXIMAL_LIMIT + 1];
};

static struct mark mark_part(struct parts *p) {
  struct mark mark = {.sum = p->sum, .substeps = p->record.substeps};
  memcpy(mark.counts, p->world->stepper->counts, sizeof mark.counts);
  save(p, p->at_part);
  return mark;
}

/* Goes back to where the part begins. Its first half is the whole of the next part. */
static void undo_part(struct parts *p, const struct mark *mark) {
  p->knows_whole = p->record.substeps > mark->substeps;
  if (p->knows_whole) {
    const struct motion half = p->half;
    p->half = p->whole;
    p->whole = half;
  }
  p->sum = mark->sum;
  p->record.substeps = mark->substeps;
  memcpy(p->world->stepper->counts, mark->counts, sizeof mark->counts);
  restore(p, p->at_part);
}

/* Adds to the errors what a contact may lack that closes in the second half. Its force, which the
 * whole and the halves miss alike, shows in a third half. The state stays that after the second
 * one. */
static void find_missed_force(struct parts *p, struct errors *errors) {
  const double *v = SAP_DATA(p->world, qvel), *scale = p->accuracy->scale;
  int64_t counts[SAP_PROXIMAL_LIMIT + 1]; /* trials do not count as steps */
  memcpy(counts, p->world->stepper->counts, sizeof counts);
  save(p, p->at_end);
  memcpy(p->v_end, v, (size_t)p->nv * sizeof(double));
  const int taken = take(p, 1);
  for (int64_t i = 0; i < p->nv && taken; ++i) {
    const double missed = v[i] - 2.0 * p->v_end[i] + p->half.v[i];
    errors->v = larger_or_nan(fabs(missed) / scale[i], errors->v);
  }
  memcpy(p->world->stepper->counts, counts, sizeof counts);
  restore(p, p->at_end);
}

static void accept_part(struct parts *p, const struct errors *errors, double error) {
  const double tolerance = p->accuracy->tolerance;
  if (error <= tolerance && ldexp(p->time_step, -p->level) * errors->v <= errors->q) {
    extrapolate(p);
  }
  p->record.error = larger_or_nan(error, p->record.error);
  p->record.unmet += !(error <= tolerance);
  p->level -= error < sap_grow_below * tolerance && p->level > 0;
}

enum outcome { TAKEN, REFUSED, FAILED };

static double find_error(const struct parts *p, const struct errors *errors) {
  return larger_or_nan(errors->q, p->time_step * errors->v);
}

/* Finds the errors of the halves, which were taken. Returns 0 with the failure in the world. */
static int judge_halves(struct parts *p, const struct mark *mark, int closes,
                        struct errors *errors) {
  *errors = find_errors(p);
  if (!(find_error(p, errors) <= p->accuracy->tolerance) || !closes_gap(p)) {
    return 1;
  }
  find_missed_force(p, errors);
  if (!closes || !(find_error(p, errors) <= p->accuracy->tolerance || is_shortest(p))) {
    return 1;
  }
  undo_part(p, mark); /* the last half of a time step leaves its results in the data */
  p->knows_whole = 0;
  return take_halves(p, closes);
}

/* Takes the present part, or leaves the state at its beginning. */
static enum outcome take_part(struct parts *p, int closes) {
  const struct mark mark = mark_part(p);
  const int has_whole = p->knows_whole || take_whole(p);
  p->knows_whole = 0;
  if (!has_whole && (is_final(p->world) || !is_shortest(p))) {
    return is_final(p->world) ? FAILED : REFUSED;
  }
  struct errors errors = {INFINITY, INFINITY};
  int has_halves = take_halves(p, closes);
  if (has_whole && has_halves) {
    has_halves = judge_halves(p, &mark, closes, &errors);
  }
  const double error = find_error(p, &errors);
  if (has_halves && (error <= p->accuracy->tolerance || is_shortest(p))) {
    accept_part(p, &errors, error);
    return TAKEN;
  }
  undo_part(p, &mark);
  return has_halves || !(is_final(p->world) || is_shortest(p)) ? REFUSED : FAILED;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Takes a step in parts; returns 0 with the failure in the world, or if the run is to stop. */
static int take_step(struct parts *p) {
  const sap_step_hooks *hooks = &p->world->hooks;
  const int32_t units = (int32_t)1 << p->accuracy->halvings;
  int32_t at = 0, smallest = units;
  while (at < units) {
    int32_t size = units >> p->level;
    while (at % size != 0) {
      ++p->level;
      size /= 2;
    }
    const enum outcome outcome = take_part(p, at + size == units);
    if (outcome == FAILED) {
      return 0;
    }
    if (outcome == REFUSED) {
      ++p->level;
      ++p->record.refused;
    } else {
      at += size;
      smallest = size / 2 < smallest ? size / 2 : smallest;
    }
    if (at < units && hooks->stop && hooks->stop(hooks->context, p->world->started)) {
      return 0;
    }
  }
  p->record.smallest_step = p->time_step * smallest / units;
  p->record.level = p->level;
  return 1;
}

/* Takes a whole step, or restores the state at its beginning and returns 0. */
static int take_or_restore(struct parts *p) {
  sap_mujoco_world *world = p->world;
  const double time = SAP_DATA(world, time), started = world->started;
  p->record = (sap_parts_record){0};
  p->solver_seconds = 0.0;
  p->knows_whole = 0;
  save(p, p->at_start);
  const int taken = take_step(p);
  if (taken) {
    SAP_SET_DATA(world, time, time + p->time_step);
    p->sum.time = time + p->time_step;
    p->sum.solver_seconds = p->solver_seconds;
    p->sum.seconds = world->started - started;
  } else {
    restore(p, p->at_start);
  }
  return taken;
}

int64_t sap_mujoco_run_in_parts(sap_mujoco_world *world, const sap_accuracy *accuracy,
                                int64_t steps, sap_step_record *records, sap_parts_record *parts,
                                int64_t *notable) {
  const sap_step_hooks *hooks = &world->hooks;
  struct parts p;
  int64_t taken = 0, missed = 0;
  int goes_on = open_parts(&p, world, accuracy) && steps > 0;
  world->is_unread = 0;
  while (goes_on && take_or_restore(&p)) {
    world->record = p.sum;
    missed += sap_step_is_notable(&world->record);
    if (records) {
      records[taken] = world->record;
    }
    if (parts) {
      parts[taken] = p.record;
    }
    if (world->recording) {
      sap_recording_keep(world->recording, world);
    }
    ++taken;
    goes_on = taken < steps && !(hooks->stop && hooks->stop(hooks->context, world->started));
  }
  set_time_step(&p, p.time_step);
  sap_block_release(&p.block, &world->allocator);
  if (notable) {
    *notable = missed;
  }
  return taken;
}
