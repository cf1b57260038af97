#include "mujoco/stages/step_tangents.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "mujoco/speculative/pairs.h"
#include "mujoco/stages/lean_step.h"
#include "mujoco/stages/linear_stages.h"
#include "sapwood/linearization.h"
#include "mujoco/stages/step.h"
#include "mujoco/stages/stages_tuning.h"

/* The lengths of a state, and pieces of the workspace. */
struct room {
  int64_t nq, nv, na, nu, ns;
  double *act_0;               /* (na) next activations of the centre */
  double *F, *act;             /* changed state: residual (nv), next activations (na) */
  double *dF;                  /* (nv) derivative of the residual */
  double *sum;                 /* (nv) changes of the residual on both sides */
  double *dv, *dv_part, *next; /* (nv) */
  double *v;                   /* (nv) velocity after a changed step */
  double *q_0, *v_0;           /* (nq), (nv): state of the centre */
  double *a_0;                 /* (na) */
  double *dF_number;           /* (n, nv) changes of the residual by those of A and smooth forces */
  double *U, *dp;              /* (SAP_MASS_RANK, nv), (nv) of one of them */
};

/* One difference: the changed world, and the width by which it differs. */
struct part {
  sap_mujoco_world *world;
  double width;
  double share;                        /* factor of the difference in the derivative */
  const double *x;                     /* tangent of the state, or NULL */
  const struct sap_model_patch *patch; /* changes of the model, or NULL without any */
};

int64_t sap_tangents_work(const sap_mujoco_world *world, int64_t n) {
  const int64_t nv = world->state_length[1];
  return world->state_length[0] + (9 + n + SAP_MASS_RANK) * nv + 3 * world->state_length[2];
}

static double *take(double **work, int64_t n) {
  double *piece = *work;
  *work += n;
  return piece;
}

static struct room find_room(const struct sap_step_tangents *t) {
  const sap_mujoco_world *world = t->centre;
  double *work = t->work;
  struct room room = {.nq = world->state_length[0],
                      .nv = world->state_length[1],
                      .na = world->state_length[2],
                      .nu = world->state_length[3],
                      .ns = world->nsensordata};
  room.F = take(&work, room.nv);
  room.dF = take(&work, room.nv);
  room.sum = take(&work, room.nv);
  room.dv = take(&work, room.nv);
  room.dv_part = take(&work, room.nv);
  room.next = take(&work, room.nv);
  room.v = take(&work, room.nv);
  room.v_0 = take(&work, room.nv);
  room.act_0 = take(&work, room.na);
  room.act = take(&work, room.na);
  room.a_0 = take(&work, room.na);
  room.q_0 = take(&work, room.nq);
  room.dF_number = take(&work, t->n * room.nv);
  room.U = take(&work, SAP_MASS_RANK * room.nv);
  room.dp = take(&work, room.nv);
  return room;
}

static void copy(double *to, const double *from, int64_t n) {
  if (n > 0) {
    memcpy(to, from, sizeof *to * (size_t)n);
  }
}

/* Adds h x to `to`. */
static void add(double *to, double h, const double *x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] += h * x[i];
  }
}

static double largest(const double *x, int64_t n) {
  double most = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    most = sap_larger(fabs(x[i]), most);
  }
  return most;
}

/* ---- widths ---------------------------------------------------------------------------------- */

/* Returns the width of the difference along a tangent of the state; INFINITY if this is 0. */
static double find_width(struct sap_step_tangents *t, const struct room *room, const double *x,
                         const double *sensors) {
  const double change = fmax(fmax(largest(x, room->nv) / sap_largest_change[0],
                                  largest(x + room->nv, room->nv) / sap_largest_change[1]),
                             largest(x + 2 * room->nv, room->na) / sap_largest_change[2]);
  const double reach = sap_linear_find_reach(t->centre, t->linear, x), width = 1.0 / change;
  t->is_near_kink |= reach > change / sap_least_part;
  return sensors && reach > change ? fmax(1.0 / reach, sap_least_part * width) : width;
}

/* ---- differences ----------------------------------------------------------------------------- */

static sap_step_failure fail(struct sap_step_tangents *t, sap_mujoco_world *world,
                             sap_step_failure failure) {
  t->failed = failure == SAP_STEP_TAKEN ? t->failed : world;
  return failure;
}

/* Writes the changed state to the world of a part. */
static void set_state(const struct sap_step_tangents *t, const struct room *room,
                      const struct part *part) {
  sap_mujoco_world *world = part->world;
  copy(SAP_DATA(world, qpos), room->q_0, room->nq);
  copy(SAP_DATA(world, qvel), room->v_0, room->nv);
  copy(SAP_DATA(world, act), room->a_0, room->na);
  copy(SAP_DATA(world, ctrl), SAP_DATA(t->centre, ctrl), room->nu);
  if (part->x) {
    world->api->mj_integratePos(world->model, SAP_DATA(world, qpos), part->x, part->width);
    add(SAP_DATA(world, qvel), part->width, part->x + room->nv, room->nv);
    add(SAP_DATA(world, act), part->width, part->x + 2 * room->nv, room->na);
  }
}

/* Writes the change of the residual in a part to room->F. */
static sap_step_failure find_residual_change(struct sap_step_tangents *t, const struct room *room,
                                             const struct part *part, int lean) {
  sap_mujoco_world *world = part->world;
  set_state(t, room, part);
  world->lean = lean;
  t->linear->is_law_linear = !part->patch;
  sap_step_failure failure = sap_mujoco_evaluate_step(world);
  if (failure == SAP_STEP_TAKEN) {
    failure = sap_linear_find_residual(world, t->linear, 0, room->F);
  }
  add(room->F, -1.0, t->linear->F, room->nv);
  return fail(t, world, failure);
}

/* Exchanges the numbers of a patch with those of the model. */
static void exchange(const struct sap_model_patch *patch) {
  for (int64_t i = 0; patch && i < patch->n; ++i) {
    const double value = *patch->place[i];
    *patch->place[i] = patch->value[i];
    patch->value[i] = value;
  }
}

/* Clears dF, the next activations and dy, unless it is NULL. */
static void clear(const struct room *room, double *dy) {
  memset(room->dF, 0, sizeof(double) * (size_t)room->nv);
  memset(room->act, 0, sizeof(double) * (size_t)room->na);
  if (dy) {
    memset(dy, 0, sizeof(double) * (size_t)room->ns);
  }
}

/* Adds the difference of a part, whose model is changed, to dF (nv), to that of the next
 * activations and to dy. */
static sap_step_failure add_changed_part(struct sap_step_tangents *t, const struct room *room,
                                         const struct part *part, const double *sensors,
                                         double *dy) {
  sap_mujoco_world *world = part->world;
  const int64_t nv = room->nv;
  sap_step_failure failure = find_residual_change(t, room, part, !sensors && t->lean);
  if (failure != SAP_STEP_TAKEN) {
    return failure;
  }
  const double rate = part->share / part->width;
  add(room->dF, rate, room->F, nv);
  if (sensors) {
    failure = sap_linear_find_change(world, t->linear, room->F, room->dv_part);
    if (failure != SAP_STEP_TAKEN) {
      return fail(t, world, failure);
    }
    copy(room->v, t->linear->v, nv);
    add(room->v, 1.0, room->dv_part, nv);
    failure = sap_linear_find_sensors(world, t->linear, room->v);
    const double *found = SAP_DATA(world, sensordata);
    for (int64_t i = 0; i < room->ns; ++i) {
      dy[i] += rate * (found[i] - sensors[i]);
    }
  }
  if (room->na > 0 && failure == SAP_STEP_TAKEN) {
    failure = sap_linear_integrate(world);
    for (int64_t i = 0; i < room->na; ++i) {
      room->act[i] += rate * (SAP_DATA(world, act)[i] - room->act_0[i]);
    }
  }
  return fail(t, world, failure);
}

static sap_step_failure add_part(struct sap_step_tangents *t, const struct room *room,
                                 const struct part *part, const double *sensors, double *dy) {
  exchange(part->patch);
  const sap_step_failure failure = add_changed_part(t, room, part, sensors, dy);
  exchange(part->patch);
  return failure;
}

/* Adds the difference along the tangent x of the state, which has two sides with sensors. */
static sap_step_failure add_state(struct sap_step_tangents *t, const struct room *room,
                                  const double *x, double width, const double *sensors,
                                  double *dy) {
  const double share = sensors ? 0.5 : 1.0;
  sap_step_failure failure = SAP_STEP_TAKEN;
  for (int side = 0; side <= (sensors != NULL) && failure == SAP_STEP_TAKEN; ++side) {
    const struct part part = {t->aside, side ? -width : width, share, x, NULL};
    failure = add_part(t, room, &part, sensors, dy);
  }
  return failure;
}

/* Returns 1 if the engine finds contacts of two geoms by an iteration or by cases: their points may
 * jump. */
static int may_jump(int type1, int type2) {
  const int round1 = type1 == SAP_MJGEOM_SPHERE || type1 == SAP_MJGEOM_CAPSULE;
  const int round2 = type2 == SAP_MJGEOM_SPHERE || type2 == SAP_MJGEOM_CAPSULE;
  return type1 != SAP_MJGEOM_PLANE && type2 != SAP_MJGEOM_PLANE && !(round1 && round2);
}

static int any_may_jump(const struct sap_step_tangents *t) {
  const int *geom_type = SAP_MODEL(t->centre, geom_type);
  int any = 0;
  for (int32_t c = 0; c < t->linear->n_contacts && !any; ++c) {
    const int32_t *geom = t->linear->geom + 2 * (int64_t)c;
    any = geom[0] >= 0 && geom[1] >= 0 && may_jump(geom_type[geom[0]], geom_type[geom[1]]);
  }
  return any;
}

/* Finds whether the velocity after the step jumps along the tangent x, by linear_stages.h. */
static sap_step_failure find_jump(struct sap_step_tangents *t, const struct room *room,
                                  const double *x, double width) {
  const double size = largest(x, room->nv), dt = t->centre->stepper->settings.dt;
  const double slope = fmax(largest(room->dv, room->nv), size / dt);
  if (size == 0.0 || t->is_near_kink || !any_may_jump(t)) {
    return SAP_STEP_TAKEN;
  }
  double bend[2] = {0.0, 0.0};
  for (int wide = 0; wide < 2; ++wide) {
    memset(room->sum, 0, sizeof(double) * (size_t)room->nv);
    for (int side = -1; side < 2; side += 2) {
      const struct part part = {t->aside, side * (wide ? 4.0 : 1.0) * width, 1.0, x, NULL};
      const sap_step_failure failure = find_residual_change(t, room, &part, t->lean);
      if (failure != SAP_STEP_TAKEN) {
        return failure;
      }
      add(room->sum, 1.0, room->F, room->nv);
    }
    const sap_step_failure failure =
        sap_linear_find_bend(t->aside, t->linear, room->sum, room->dv_part, &bend[wide]);
    if (failure != SAP_STEP_TAKEN) {
      return fail(t, t->aside, failure);
    }
    if (!sap_linear_is_bent(bend[0], width, slope)) {
      return SAP_STEP_TAKEN;
    }
  }
  t->is_near_kink |= sap_linear_jumps(bend[0], bend[1]);
  return SAP_STEP_TAKEN;
}

/* ---- numbers in which the step is linear ----------------------------------------------------- */

/* Chooses the ways of all tangents x, once the centre is solved. */
static void choose_ways(struct sap_step_tangents *t, const struct room *room, const double *x,
                        const double *sensors) {
  const int applies = t->lean && !sensors && sap_linear_finds_numbers(t->centre, t->linear);
  for (int32_t k = 0; k < t->n; ++k, x += 2 * room->nv + room->na) {
    struct sap_tangent_way *way = t->way + k;
    way->width = find_width(t, room, x, sensors);
    way->is_linear = applies && t->number[k].kind != SAP_NUMBER_OTHER;
  }
}

/* Finds the changes of the problem by all these numbers. They are taken in the problem of the
 * centre, before that of a changed state replaces it. */
static sap_step_failure find_linear_numbers(struct sap_step_tangents *t, const struct room *room) {
  struct sap_number_slope slope = {.dof = t->dof, .U = room->U, .dp = room->dp};
  sap_step_failure failure = SAP_STEP_TAKEN;
  for (int32_t k = 0; k < t->n && failure == SAP_STEP_TAKEN; ++k) {
    if (t->way[k].is_linear) {
      const double width = t->width[k];
      sap_number_slope_find(t->centre, t->number + k, t->linear->v, &slope);
      failure = sap_linear_find_number(t->centre, t->linear, &slope, width, k,
                                       room->dF_number + k * room->nv);
    }
  }
  return fail(t, t->centre, failure);
}

/* ---- tangents -------------------------------------------------------------------------------- */

/* Finds the changes of tangent k in the step: dv, of the next activations, and of the sensors. */
static sap_step_failure find_changes(struct sap_step_tangents *t, const struct room *room,
                                     int32_t k, const double *x, const double *sensors,
                                     double *dy) {
  const struct sap_tangent_way *way = t->way + k;
  sap_step_failure failure = SAP_STEP_TAKEN;
  clear(room, sensors ? dy : NULL);
  t->linear->along = way->is_linear ? t->linear->by_number + k * t->linear->law.n : NULL;
  t->linear->width = isfinite(way->width) ? way->width : 1.0;
  if (isfinite(way->width)) {
    failure = add_state(t, room, x, way->width, sensors, dy);
  } else {
    failure = fail(t, t->centre, sap_linear_add_along(t->centre, t->linear, room->dF));
  }
  t->linear->along = NULL;
  if (way->is_linear) {
    add(room->dF, 1.0, room->dF_number + k * room->nv, room->nv);
  } else if (t->changed[k] && failure == SAP_STEP_TAKEN) {
    const struct part part = {t->changed[k], t->width[k], 1.0, NULL, t->patch + k};
    failure = add_part(t, room, &part, sensors, dy);
  }
  if (failure == SAP_STEP_TAKEN) {
    failure = fail(t, t->centre, sap_linear_find_change(t->centre, t->linear, room->dF, room->dv));
  }
  return failure == SAP_STEP_TAKEN ? find_jump(t, room, x, way->width) : failure;
}

/* Replaces tangent k by that at the end of the step. */
static sap_step_failure push(struct sap_step_tangents *t, const struct room *room, int32_t k,
                             double *x, const double *sensors, double *dy) {
  const sap_step_failure failure = find_changes(t, room, k, x, sensors, dy);
  sap_linear_move(t->centre, t->linear->v, x, room->dv, room->next);
  copy(x, room->next, room->nv);
  copy(x + room->nv, room->dv, room->nv);
  copy(x + 2 * room->nv, room->act, room->na);
  return fail(t, t->failed, failure);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Solves the step of the centre, finds its sensors and the derivatives by linear numbers, and
 * integrates it. */
static sap_step_failure step_centre(struct sap_step_tangents *t, const struct room *room,
                                    const double *x, double *sensors) {
  sap_mujoco_world *world = t->centre;
  copy(room->q_0, SAP_DATA(world, qpos), room->nq);
  copy(room->v_0, SAP_DATA(world, qvel), room->nv);
  copy(room->a_0, SAP_DATA(world, act), room->na);
  t->linear->soften = t->soften;
  t->linear->n_numbers = t->n;
  t->linear->along = NULL;
  world->lean = world->is_unread = t->lean && !sensors;
  sap_step_failure failure = sap_linear_find_centre(world, t->linear, t->n);
  t->loses_rebound = (world->stepper->fallbacks & SAP_FALLBACK_REBOUND) != 0;
  t->holds_rotation = world->stepper->is_corrected;
  if (failure == SAP_STEP_TAKEN) {
    choose_ways(t, room, x, sensors);
    failure = find_linear_numbers(t, room);
  }
  if (failure == SAP_STEP_TAKEN && sensors) {
    failure = sap_linear_find_sensors(world, t->linear, t->linear->v);
    copy(sensors, SAP_DATA(world, sensordata), room->ns);
  }
  if (failure == SAP_STEP_TAKEN) {
    failure = sap_linear_integrate(world);
    copy(room->act_0, SAP_DATA(world, act), room->na);
  }
  return fail(t, world, failure);
}

/* Takes a step of the centre, and replaces the tangents x (n, 2 nv + na). Writes the sensors of the
 * step and their tangents dy (n, n_sensors), unless sensors is NULL. */
static sap_step_failure take_step(struct sap_step_tangents *t, const struct room *room, double *x,
                                  struct sap_kept_pairs *pairs, double *sensors, double *dy) {
  const int64_t n = 2 * room->nv + room->na;
  t->failed = NULL;
  t->is_near_kink = 0;
  pairs->n = -1;
  sap_step_failure failure = step_centre(t, room, x, sensors);
  for (int32_t k = 0; k < t->n && failure == SAP_STEP_TAKEN; ++k) {
    failure = push(t, room, k, x + k * n, sensors, sensors ? dy + k * room->ns : NULL);
  }
  t->is_near_kink |= t->linear->crosses_release || t->linear->crosses_set;
  return failure;
}

/* Lets all worlds of a run keep the pairs of the centre, or none. */
static void keep_pairs(const struct sap_step_tangents *t, struct sap_kept_pairs *pairs) {
  t->centre->pairs = t->aside->pairs = pairs;
  for (int32_t i = 0; i < t->n; ++i) {
    if (t->changed[i]) {
      t->changed[i]->pairs = pairs;
    }
  }
}

int64_t sap_tangents_run(struct sap_step_tangents *t, int64_t steps, const double *x_0,
                         const struct sap_tangents_record *record) {
  sap_mujoco_world *world = t->centre;
  const struct room room = find_room(t);
  const int64_t nx = t->n * (2 * room.nv + room.na), ny = t->n * room.ns;
  const double *before = x_0;
  struct sap_kept_pairs pairs;
  keep_pairs(t, &pairs);
  t->lean = sap_mujoco_begin_lean(world) && sap_mujoco_begin_lean(t->aside) &&
            !sap_mujoco_is_watched(world);
  world->goes_on = t->aside->goes_on = 1;
  for (int64_t i = 0; i < steps; ++i) {
    double *x = record->x + i * nx;
    copy(x, before, nx);
    if (record->ctrl) {
      copy(SAP_DATA(world, ctrl), record->ctrl + i * room.nu, room.nu);
    }
    double *sensors = record->sensors ? record->sensors + i * room.ns : NULL;
    if (take_step(t, &room, x, &pairs, sensors, sensors ? record->dy + i * ny : NULL) !=
        SAP_STEP_TAKEN) {
      keep_pairs(t, NULL);
      return i;
    }
    copy(record->qpos + i * room.nq, SAP_DATA(world, qpos), room.nq);
    copy(record->qvel + i * room.nv, SAP_DATA(world, qvel), room.nv);
    record->near_kink[i] = (signed char)t->is_near_kink;
    record->rebound[i] = (signed char)t->loses_rebound;
    record->rotation[i] = (signed char)t->holds_rotation;
    before = x;
  }
  keep_pairs(t, NULL);
  return steps;
}
