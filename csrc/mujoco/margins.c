#include "mujoco/margins.h"

#include <math.h>
#include <string.h>

#include "model/stepper.h"
#include "mujoco/fields.h"

/* of MuJoCo's enums */
enum { JOINT_FREE = 0, JOINT_BALL = 1, JOINT_SLIDE = 2 };
enum { GEOM_SPHERE = 2 };

static double length(const double *x) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

static double more(double a, double b) { return a > b ? a : b; }

/* an array of the model */
#define ARRAY(type, name) const type *name = sap_pointer_at(m, a->model.name)

/* ---- bounds of speeds ----------------------------------------------------------------------- */

/* what is known of a moving body */
struct speed {
  double linear;  /* of its origin, m/s */
  double angular; /* rad/s */
};

/* what the joints of a body add to the motion of its parent */
struct joint_motion {
  double slide, turn; /* their speeds, m/s and rad/s */
  double reach;       /* the most that they move the origin of the body, m */
};

static struct joint_motion motion_of_joints(const sap_mujoco_world *world, int64_t first,
                                            int64_t last) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  ARRAY(int, jnt_type);
  ARRAY(int, jnt_qposadr);
  ARRAY(int, jnt_dofadr);
  ARRAY(double, jnt_pos);
  ARRAY(double, qpos0);
  const double *qpos = sap_pointer_at(world->data, a->data.qpos);
  const double *qvel = sap_pointer_at(world->data, a->data.qvel);
  struct joint_motion sum = {0.0, 0.0, 0.0};
  for (int64_t j = first; j < last; ++j) {
    const double *v = qvel + jnt_dofadr[j];
    const int q = jnt_qposadr[j];
    if (jnt_type[j] == JOINT_FREE) {
      sum.slide += length(v);
      sum.turn += length(v + 3);
    } else if (jnt_type[j] == JOINT_SLIDE) {
      sum.slide += fabs(v[0]);
      sum.reach += fabs(qpos[q] - qpos0[q]);
    } else {
      /* about an anchor: from one side of it to the other */
      sum.turn += jnt_type[j] == JOINT_BALL ? length(v) : fabs(v[0]);
      sum.reach += 2.0 * length(jnt_pos + 3 * j);
    }
  }
  return sum;
}

/* speeds (nbody); lengths along a chain add up, so they hold in any configuration */
static void bound_speeds(const sap_mujoco_world *world, struct speed *speed) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  ARRAY(int, body_parentid);
  ARRAY(int, body_jntnum);
  ARRAY(int, body_jntadr);
  ARRAY(double, body_pos);
  const int64_t n_bodies = sap_int64_at(m, a->model.nbody);
  speed[0] = (struct speed){0.0, 0.0};
  for (int64_t b = 1; b < n_bodies; ++b) {
    const struct speed parent = speed[body_parentid[b]];
    const int64_t first = body_jntadr[b];
    const struct joint_motion own = motion_of_joints(world, first, first + body_jntnum[b]);
    const double lever = length(body_pos + 3 * b) + own.reach;
    speed[b].linear = parent.linear + parent.angular * lever + own.slide + own.turn * own.reach;
    speed[b].angular = parent.angular + own.turn;
  }
}

/* ---- margins -------------------------------------------------------------------------------- */

/* What gravity adds to the speed of a body, m/s, in a step that it starts with `speed`: of one at
 * rest, which is likely to be held, a tenth. If that one falls after all it may be thrown back, but
 * not as high as it came from. */
static double gain_of(const sap_mujoco_world *world, double speed) {
  double gravity[3];
  memcpy(gravity, (const char *)world->model + world->api->model.gravity, sizeof gravity);
  const double gain = world->stepper->settings.dt * length(gravity);
  return fmin(gain, 0.1 * gain + 4.0 * speed);
}

/* the most that the surface of a geom moves within the step, and a little more */
static double travel_of(const sap_mujoco_world *world, const struct speed *speed, int32_t geom) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  ARRAY(int, geom_type);
  ARRAY(double, geom_pos);
  ARRAY(double, geom_rbound);
  const sap_forest *forest = &world->stepper->forest;
  const int32_t body = forest->geom_bodyid[geom];
  if (forest->body_treeid[body] < 0) {
    return 0.0;
  }
  /* a sphere brings no point closer by turning about its centre */
  const double radius = geom_type[geom] == GEOM_SPHERE ? 0.0 : geom_rbound[geom];
  const double lever = length(geom_pos + 3 * (int64_t)geom) + radius;
  const double v = speed[body].linear + speed[body].angular * lever;
  return (1.0 + SAP_OPEN_TIME) * world->stepper->settings.dt * (v + gain_of(world, v));
}

/* A negative margin shrinks a geom: its contacts are those that the user wants to be found late. */
static double widened(double own, double travel) { return own < 0.0 ? own : more(own, travel); }

/* the margins of the copy, in three arrays that follow one another; `travel` is (ngeom) */
struct margins {
  double *geom, *body, *pair;
};

static void fill_margins(const sap_mujoco_world *world, const double *travel,
                         const struct margins *margins) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  ARRAY(double, geom_margin);
  ARRAY(double, geom_gap);
  ARRAY(double, body_margin);
  ARRAY(double, pair_margin);
  ARRAY(int, pair_geom1);
  ARRAY(int, pair_geom2);
  const sap_forest *forest = &world->stepper->forest;
  for (int32_t b = 0; b < forest->n_bodies; ++b) {
    margins->body[b] = body_margin[b];
  }
  for (int32_t g = 0; g < forest->n_geoms; ++g) {
    double *of_body = margins->body + forest->geom_bodyid[g];
    margins->geom[g] = widened(geom_margin[g], travel[g]);
    *of_body = more(*of_body, margins->geom[g] + geom_gap[g]);
  }
  const int64_t n_pairs = sap_int64_at(m, a->model.npair);
  for (int64_t p = 0; p < n_pairs; ++p) {
    margins->pair[p] = widened(pair_margin[p], travel[pair_geom1[p]] + travel[pair_geom2[p]]);
  }
}

/* ---- the copy ------------------------------------------------------------------------------- */

static void set_pointer(char *base, ptrdiff_t offset, const double *pointer) {
  memcpy(base + offset, (const void *)&pointer, sizeof pointer);
}

const void *sap_mujoco_with_margins(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const sap_forest *forest = &world->stepper->forest;
  const size_t n_bodies = (size_t)forest->n_bodies, n_geoms = (size_t)forest->n_geoms;
  const size_t n_pairs = (size_t)sap_int64_at(world->model, a->model.npair);
  const size_t n_numbers = 2 * n_geoms + n_bodies + n_pairs;
  const size_t size = (size_t)a->model.size;
  char *copy = a->mj_stackAllocByte(world->data, size, sizeof(double));
  double *travel = a->mj_stackAllocByte(world->data, n_numbers * sizeof *travel, sizeof *travel);
  struct speed *speed = a->mj_stackAllocByte(world->data, n_bodies * sizeof *speed, sizeof(double));
  bound_speeds(world, speed);
  for (int32_t g = 0; g < forest->n_geoms; ++g) {
    travel[g] = travel_of(world, speed, g);
  }
  double *const geom = travel + n_geoms, *const body = geom + n_geoms;
  const struct margins margins = {geom, body, body + n_bodies};
  fill_margins(world, travel, &margins);

  memcpy(copy, world->model, size);
  set_pointer(copy, a->model.geom_margin, margins.geom);
  set_pointer(copy, a->model.body_margin, margins.body);
  set_pointer(copy, a->model.pair_margin, margins.pair);
  return copy;
}
