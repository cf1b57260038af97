#include "mujoco/engine/number_slopes.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"

enum { SIX = 6 }; /* spatial vectors: angular part, then linear part */

/* A derivative of a spatial inertia: by the mass at r, or by the inertia about the axis r. */
struct inertia {
  int is_mass;
  double r[3];
};

/* Writes the spatial momentum y = dI x. */
static void multiply(const struct inertia *dI, const double x[SIX], double y[SIX]) {
  memset(y, 0, SIX * sizeof *y);
  if (dI->is_mass) {
    memcpy(y + 3, x + 3, 3 * sizeof *y);
    sap_vector_add_cross(x, dI->r, y + 3);
    sap_vector_add_cross(dI->r, y + 3, y);
    return;
  }
  const double turn = sap_vector_dot(3, dI->r, x);
  for (int k = 0; k < 3; ++k) {
    y[k] = turn * dI->r[k];
  }
}

/* Returns the derivative of the inertia of a body about the point to which its axes refer. */
static struct inertia inertia_of(const sap_mujoco_world *world,
                                 const struct sap_model_number *number) {
  const int body = number->element, root = SAP_MODEL(world, body_rootid)[body];
  const double *com = SAP_DATA(world, subtree_com) + 3 * (int64_t)root;
  const double *x = SAP_DATA(world, xipos) + 3 * (int64_t)body;
  const double *axes = SAP_DATA(world, ximat) + 9 * (int64_t)body;
  struct inertia dI = {.is_mass = number->kind == SAP_NUMBER_MASS};
  for (int k = 0; k < 3; ++k) {
    dI.r[k] = dI.is_mass ? x[k] - com[k] : axes[3 * k + number->axis];
  }
  return dI;
}

/* Lists the velocities that move a body; returns their number. */
static int32_t find_chain(const sap_mujoco_world *world, int body, int32_t *dof) {
  const int *parent = SAP_MODEL(world, body_parentid), *count = SAP_MODEL(world, body_dofnum);
  int32_t n = 0;
  while (body > 0 && count[body] == 0) {
    body = parent[body];
  }
  if (body == 0) {
    return 0;
  }
  const int *before = SAP_MODEL(world, dof_parentid);
  for (int i = SAP_MODEL(world, body_dofadr)[body] + count[body] - 1; i >= 0; i = before[i]) {
    dof[n++] = i;
  }
  return n;
}

/* Adds the velocity V, and dt times the acceleration without gravity, of a body. */
static void add_motion(const sap_mujoco_world *world, const struct sap_number_slope *slope,
                       const double *v, double V[SIX], double dt_a[SIX]) {
  const double *qvel = SAP_DATA(world, qvel), dt = world->stepper->settings.dt;
  for (int32_t k = 0; k < slope->n; ++k) {
    const int32_t i = slope->dof[k];
    const double *S = SAP_DATA(world, cdof) + SIX * (int64_t)i;
    const double *rate = SAP_DATA(world, cdof_dot) + SIX * (int64_t)i;
    for (int c = 0; c < SIX; ++c) {
      V[c] += S[c] * qvel[i];
      dt_a[c] += dt * rate[c] * qvel[i] + S[c] * (v[i] - qvel[i]);
    }
  }
}

/* Writes dt times the force on the body, f = dI a + V x* dI V. */
static void find_impulse(const sap_mujoco_world *world, const struct sap_number_slope *slope,
                         const struct inertia *dI, const double *v, double f[SIX]) {
  const double *gravity = SAP_MODEL(world, gravity), dt = world->stepper->settings.dt;
  const int off = SAP_MODEL(world, disableflags) & SAP_MJDSBL_GRAVITY;
  double V[SIX] = {0.0}, dt_a[SIX] = {0.0}, p[SIX];
  for (int k = 0; k < 3 && !off; ++k) {
    dt_a[3 + k] = -dt * gravity[k];
  }
  add_motion(world, slope, v, V, dt_a);
  multiply(dI, V, p);
  multiply(dI, dt_a, f);
  for (int k = 0; k < SIX; ++k) {
    p[k] *= dt;
  }
  sap_vector_add_cross(V, p, f);
  sap_vector_add_cross(V + 3, p + 3, f);
  sap_vector_add_cross(V, p + 3, f + 3);
}

static void find_inertial(const sap_mujoco_world *world, const struct sap_model_number *number,
                          const double *v, struct sap_number_slope *slope) {
  const double *cdof = SAP_DATA(world, cdof);
  const struct inertia dI = inertia_of(world, number);
  double f[SIX];
  slope->n = find_chain(world, number->element, slope->dof);
  find_impulse(world, slope, &dI, v, f);
  slope->rank = dI.is_mass ? 3 : 1;
  for (int32_t i = 0; i < slope->n; ++i) {
    const double *S_i = cdof + SIX * (int64_t)slope->dof[i];
    double u[3] = {sap_vector_dot(3, dI.r, S_i)};
    slope->dp[i] = sap_vector_dot(SIX, S_i, f);
    if (dI.is_mass) {
      memcpy(u, S_i + 3, sizeof u);
      sap_vector_add_cross(S_i, dI.r, u);
    }
    for (int32_t k = 0; k < slope->rank; ++k) {
      slope->U[k * slope->n + i] = u[k];
    }
  }
}

/* Sets the derivatives by a number of one velocity. */
static void set_diagonal(struct sap_number_slope *slope, int32_t dof, double dA, double dp) {
  slope->n = slope->rank = 1;
  slope->dof[0] = dof;
  slope->U[0] = sqrt(dA);
  slope->dp[0] = dp;
}

/* Returns the derivative of the force of an actuator by its gain: its input. */
static double find_input(const sap_mujoco_world *world, int32_t actuator, int32_t output) {
  const double *bias = SAP_MODEL(world, actuator_biasprm) + SAP_MJNBIAS * (int64_t)actuator;
  const double gain = SAP_MODEL(world, actuator_gainprm)[SAP_MJNGAIN * (int64_t)actuator];
  const double rest = bias[0] + bias[1] * SAP_DATA(world, actuator_length)[output] +
                      bias[2] * SAP_DATA(world, actuator_velocity)[output];
  return (SAP_DATA(world, actuator_force)[output] - rest) / gain;
}

void sap_number_slope_find(const sap_mujoco_world *world, const struct sap_model_number *number,
                           const double *v, struct sap_number_slope *slope) {
  const int32_t i = number->element;
  const double dt = world->stepper->settings.dt;
  slope->n = 0;
  slope->geom = slope->output = -1;
  switch (number->kind) {
    case SAP_NUMBER_MASS:
    case SAP_NUMBER_INERTIA: find_inertial(world, number, v, slope); break;
    case SAP_NUMBER_ARMATURE: set_diagonal(slope, i, 1.0, v[i] - SAP_DATA(world, qvel)[i]); break;
    case SAP_NUMBER_DAMPING: set_diagonal(slope, i, dt, dt * v[i]); break;
    case SAP_NUMBER_FRICTION:
      slope->geom = i;
      slope->friction = SAP_MODEL(world, geom_friction);
      slope->priority = SAP_MODEL(world, geom_priority);
      break;
    case SAP_NUMBER_GAIN:
      slope->output = SAP_MODEL(world, actuator_outadr)[i];
      slope->force = find_input(world, i, slope->output);
      break;
    default: break;
  }
}
