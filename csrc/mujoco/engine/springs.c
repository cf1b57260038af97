#include "mujoco/engine/springs.h"

#include <math.h>
#include <string.h>

#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"

/* A force -k x - c dx/dt along a row of a Jacobian, which has the dofs of one tree. */
struct spring {
  double k, c; /* >= 0: stiffness, and damping of tendons and actuators */
  int32_t n;
  const int *column;
  const double *value;
};

typedef void visitor(const sap_mujoco_world *world, const struct spring *spring, void *context);

/* Returns the slope of the force x (a + b x + c x^2), or 0 if it is negative. */
static double slope_of(double a, const double poly[2], double x) {
  return fmax(0.0, a + x * (2.0 * poly[0] + x * 3.0 * poly[1]));
}

/* ---- joints --------------------------------------------------------------------------------- */

static double distance(const double *a, const double *b) {
  const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
  return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* Returns the angle between two rotations. */
static double angle_between(const double *a, const double *b) {
  double dot = 0.0, square = 0.0;
  for (int i = 0; i < 4; ++i) {
    dot += a[i] * b[i];
    square += a[i] * a[i];
  }
  return 2.0 * acos(fmin(1.0, fabs(dot) / sqrt(square)));
}

/* Visits n dofs with the same stiffness. */
static void visit_dofs(const sap_mujoco_world *world, double k, int first, int n, visitor *visit,
                       void *context) {
  const double one = 1.0;
  for (int i = first; i < first + n && k > 0.0; ++i) {
    const struct spring spring = {.k = k, .n = 1, .column = &i, .value = &one};
    visit(world, &spring, context);
  }
}

static void visit_joints(const sap_mujoco_world *world, visitor *visit, void *context) {
  const int *type = SAP_MODEL(world, jnt_type), *dof = SAP_MODEL(world, jnt_dofadr);
  const int *place = SAP_MODEL(world, jnt_qposadr);
  const double *stiffness = SAP_MODEL(world, jnt_stiffness);
  const double *poly = SAP_MODEL(world, jnt_stiffnesspoly);
  const double *qpos = SAP_DATA(world, qpos), *rest = SAP_MODEL(world, qpos_spring);
  const int64_t n = SAP_MODEL(world, njnt);
  for (int64_t j = 0; j < n; ++j) {
    const double a = stiffness[j], *p = poly + SAP_MJNPOLY * j;
    int i = place[j], d = dof[j];
    if (a == 0.0 && p[0] == 0.0 && p[1] == 0.0) {
      continue;
    }
    if (type[j] == SAP_MJJNT_FREE) {
      visit_dofs(world, slope_of(a, p, distance(qpos + i, rest + i)), d, 3, visit, context);
      i += 3;
      d += 3;
    }
    if (type[j] == SAP_MJJNT_FREE || type[j] == SAP_MJJNT_BALL) {
      visit_dofs(world, slope_of(a, p, angle_between(qpos + i, rest + i)), d, 3, visit, context);
    } else {
      visit_dofs(world, slope_of(a, p, qpos[i] - rest[i]), d, 1, visit, context);
    }
  }
}

/* ---- tendons and actuators ------------------------------------------------------------------ */

static double product(const struct spring *spring, const double *v) {
  double sum = 0.0;
  for (int32_t i = 0; i < spring->n; ++i) {
    sum += spring->value[i] * v[spring->column[i]];
  }
  return sum;
}

static int is_of_one_tree(const sap_mujoco_world *world, const struct spring *spring) {
  const int *tree = SAP_MODEL(world, dof_treeid);
  int32_t i = 1;
  while (i < spring->n && tree[spring->column[i]] == tree[spring->column[0]]) {
    ++i;
  }
  return spring->n > 0 && i >= spring->n;
}

static void visit_row(const sap_mujoco_world *world, const struct spring *spring, visitor *visit,
                      void *context) {
  if ((spring->k > 0.0 || spring->c > 0.0) && is_of_one_tree(world, spring)) {
    visit(world, spring, context);
  }
}

static void visit_tendons(const sap_mujoco_world *world, visitor *visit, void *context) {
  const int64_t n = SAP_MODEL(world, ntendon);
  const int *count = SAP_MODEL(world, ten_J_rownnz), *first = SAP_MODEL(world, ten_J_rowadr);
  const int *column = SAP_MODEL(world, ten_J_colind);
  const double *J = SAP_DATA(world, ten_J), *length = SAP_DATA(world, ten_length);
  const double *stiffness = SAP_MODEL(world, tendon_stiffness);
  const double *poly = SAP_MODEL(world, tendon_stiffnesspoly);
  const double *rest = SAP_MODEL(world, tendon_lengthspring);
  const double *damping = SAP_MODEL(world, tendon_damping);
  const double *dampingpoly = SAP_MODEL(world, tendon_dampingpoly);
  const double *qvel = SAP_DATA(world, qvel);
  const int flags = SAP_MODEL(world, disableflags);
  for (int64_t t = 0; t < n; ++t) {
    const double low = rest[2 * t], high = rest[2 * t + 1];
    const double x = length[t] > high ? length[t] - high : fmin(length[t] - low, 0.0);
    struct spring spring = {.n = count[t], .column = column + first[t], .value = J + first[t]};
    if (x != 0.0 && !(flags & SAP_MJDSBL_SPRING)) {
      spring.k = slope_of(stiffness[t], poly + SAP_MJNPOLY * t, x);
    }
    if (!(flags & SAP_MJDSBL_DAMPER)) {
      const double speed = fabs(product(&spring, qvel));
      spring.c = slope_of(damping[t], dampingpoly + SAP_MJNPOLY * t, speed);
    }
    visit_row(world, &spring, visit, context);
  }
}

static int is_controller(const sap_stepper *stepper, int output) {
  const sap_elements *e = &stepper->elements;
  int found = 0;
  for (int32_t c = 0; stepper->constrained && c < e->n_controllers; ++c) {
    found |= e->controller_output[c] == output;
  }
  return found;
}

/* Returns 1 if the force of an actuator is Kp (q_d - q) - Kd v, within its bounds. */
static int is_spring(const sap_mujoco_world *world, int64_t actuator, double force) {
  const int gain = SAP_MODEL(world, actuator_gaintype)[actuator];
  const double *prm = SAP_MODEL(world, actuator_gainprm) + SAP_MJNGAIN * actuator;
  const double *range = SAP_MODEL(world, actuator_forcerange) + 2 * actuator;
  const int group = SAP_MODEL(world, actuator_group)[actuator];
  const int off = group >= 0 && group < 31 && SAP_MODEL(world, disableactuator) & 1 << group;
  const int linear =
      gain == SAP_MJGAIN_FIXED || (gain == SAP_MJGAIN_AFFINE && prm[1] == 0.0 && prm[2] == 0.0);
  const int bounded =
      SAP_MODEL(world, actuator_forcelimited)[actuator] && (force <= range[0] || force >= range[1]);
  return linear && !off && !bounded &&
         SAP_MODEL(world, actuator_biastype)[actuator] == SAP_MJBIAS_AFFINE &&
         SAP_MODEL(world, actuator_outnum)[actuator] == 1;
}

static void visit_actuators(const sap_mujoco_world *world, visitor *visit, void *context) {
  const int64_t n = SAP_MODEL(world, nactuator);
  const int *output = SAP_MODEL(world, actuator_outadr);
  const int *count = SAP_DATA(world, moment_rownnz), *first = SAP_DATA(world, moment_rowadr);
  const int *column = SAP_DATA(world, moment_colind);
  const double *moment = SAP_DATA(world, actuator_moment);
  const double *force = SAP_DATA(world, actuator_force);
  for (int64_t i = 0; i < n; ++i) {
    const int o = output[i];
    if (is_spring(world, i, force[o]) && !is_controller(world->stepper, o)) {
      const double *bias = SAP_MODEL(world, actuator_biasprm) + SAP_MJNBIAS * i;
      const struct spring spring = {.k = fmax(0.0, -bias[1]),
                                    .c = fmax(0.0, -bias[2]),
                                    .n = count[o],
                                    .column = column + first[o],
                                    .value = moment + first[o]};
      visit_row(world, &spring, visit, context);
    }
  }
}

static void visit_springs(const sap_mujoco_world *world, visitor *visit, void *context) {
  const int flags = SAP_MODEL(world, disableflags);
  if (!(flags & SAP_MJDSBL_SPRING)) {
    visit_joints(world, visit, context);
  }
  visit_tendons(world, visit, context);
  if (!(flags & SAP_MJDSBL_ACTUATION)) {
    visit_actuators(world, visit, context);
  }
}

/* ---- forces and slopes ---------------------------------------------------------------------- */

static void add_force(const sap_mujoco_world *world, const struct spring *spring, void *context) {
  double *force = context;
  const double x = world->stepper->settings.dt * product(spring, SAP_DATA(world, qvel));
  for (int32_t i = 0; i < spring->n; ++i) {
    force[spring->column[i]] -= spring->k * x * spring->value[i];
  }
}

void sap_mujoco_add_spring_forces(const sap_mujoco_world *world) {
  visit_springs(world, add_force, SAP_DATA(world, qfrc_smooth));
}

/* Adds a multiple of the square of a row to the slopes. */
static void add_square(const sap_mujoco_world *world, const struct spring *spring, double scale,
                       double *slopes) {
  const sap_forest *f = &world->stepper->forest;
  for (int32_t i = 0; i < spring->n; ++i) {
    const int row = spring->column[i];
    /* a row of the pattern has all dofs of its tree */
    const int first = f->D_colind[f->D_rowadr[row]];
    double *out = slopes + f->D_rowadr[row];
    for (int32_t j = 0; j < spring->n; ++j) {
      out[spring->column[j] - first] += scale * spring->value[i] * spring->value[j];
    }
  }
}

static void add_damping(const sap_mujoco_world *world, const struct spring *spring, void *context) {
  add_square(world, spring, -spring->c, context);
}

static void add_stiffness(const sap_mujoco_world *world, const struct spring *spring,
                          void *context) {
  add_square(world, spring, -world->stepper->settings.dt * spring->k, context);
}

void sap_mujoco_find_spring_slopes(const sap_mujoco_world *world, double *slopes) {
  const sap_forest *f = &world->stepper->forest;
  const int *count = SAP_MODEL(world, D_rownnz), *first = SAP_MODEL(world, D_rowadr);
  const int *column = SAP_MODEL(world, D_colind);
  const double *qDeriv = SAP_DATA(world, qDeriv);
  memset(slopes, 0, sizeof(double) * (size_t)f->nD);
  visit_springs(world, add_damping, slopes);
  /* the engine's entries have all damping; the others keep that of tendons and actuators */
  for (int32_t row = 0; row < f->nv; ++row) {
    const int begin = f->D_colind[f->D_rowadr[row]];
    for (int p = first[row]; p < first[row] + count[row]; ++p) {
      slopes[f->D_rowadr[row] + column[p] - begin] = qDeriv[p];
    }
  }
  visit_springs(world, add_stiffness, slopes);
}
