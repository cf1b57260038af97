#include "invdyn/tasks/motions.h"

#include <string.h>

#include "base/arithmetic.h"

void tasks_find_motion(const struct tasks_mechanism *m, int32_t body, const double *point,
                       struct tasks_motion *motion) {
  const double *com = m->com + 3 * (int64_t)m->root[body];
  const double arm[3] = {point[0] - com[0], point[1] - com[1], point[2] - com[2]};
  double *v = motion->v, *w = motion->w, *bias = motion->bias, *bias_r = motion->bias_r;
  for (int k = 0; k < 3; ++k) {
    v[k] = w[k] = bias[k] = bias_r[k] = 0.0;
  }
  for (int32_t i = m->last_dof[body]; i >= 0; i = m->dof_parent[i]) {
    const double *axis = m->cdof + 6 * (int64_t)i, *rate = m->cdof_dot + 6 * (int64_t)i;
    const double speed = m->qvel[i];
    double column[3] = {axis[3], axis[4], axis[5]};
    sap_vector_add_cross(axis, arm, column);
    for (int k = 0; k < 3; ++k) {
      const int64_t place = k * (int64_t)m->nv + i;
      motion->J[place] = column[k];
      if (motion->J_r) {
        motion->J_r[place] = axis[k];
      }
      v[k] += column[k] * speed;
      w[k] += axis[k] * speed;
      bias_r[k] += rate[k] * speed;
      bias[k] += rate[3 + k] * speed;
    }
  }
  sap_vector_add_cross(bias_r, arm, bias);
  sap_vector_add_cross(w, v, bias);
}

/* Adds sign times the rows of a frame times x (3) to y (3); entries are n numbers apart. */
static void add_turned(const double *frame, double sign, const double *x, int32_t n, double *y) {
  for (int r = 0; r < 3; ++r, y += n) {
    const double a = sign * frame[3 * r], b = sign * frame[3 * r + 1], c = sign * frame[3 * r + 2];
    *y += a * x[0] + b * x[n] + c * x[2 * (int64_t)n];
  }
}

void tasks_find_contact(const struct tasks_mechanism *m, const int32_t bodies[2],
                        const double *point, const double *frame, double *scratch, double *J,
                        double *u, double *bias) {
  memset(J, 0, 3 * (size_t)m->nv * sizeof *J);
  memset(u, 0, 3 * sizeof *u);
  memset(bias, 0, 3 * sizeof *bias);
  for (int side = 0; side < 2; ++side) {
    const double sign = side ? 1.0 : -1.0;
    struct tasks_motion motion = {.J = scratch};
    tasks_find_motion(m, bodies[side], point, &motion);
    for (int32_t i = m->last_dof[bodies[side]]; i >= 0; i = m->dof_parent[i]) {
      add_turned(frame, sign, scratch + i, m->nv, J + i);
    }
    add_turned(frame, sign, motion.v, 1, u);
    add_turned(frame, sign, motion.bias, 1, bias);
  }
}

/* Subtracts J^T of a wrench on the centre of mass of a body from h. */
static void subtract_wrench(const struct tasks_mechanism *m, int32_t body, const double *wrench,
                            double *h) {
  const double *com = m->com + 3 * (int64_t)m->root[body], *x = m->xipos + 3 * (int64_t)body;
  const double arm[3] = {x[0] - com[0], x[1] - com[1], x[2] - com[2]};
  double torque[3] = {wrench[3], wrench[4], wrench[5]};
  sap_vector_add_cross(arm, wrench, torque);
  for (int32_t i = m->last_dof[body]; i >= 0; i = m->dof_parent[i]) {
    const double *axis = m->cdof + 6 * (int64_t)i;
    h[i] -= sap_vector_dot(3, axis, torque) + sap_vector_dot(3, axis + 3, wrench);
  }
}

void tasks_find_bias(const struct tasks_mechanism *m, const struct tasks_loads *loads, double *h) {
  for (int32_t i = 0; i < m->nv; ++i) {
    h[i] = loads->bias[i] - loads->passive[i] - loads->applied[i];
  }
  for (int32_t k = 0; k < loads->n_q; ++k) {
    const int32_t i = loads->actuated[k];
    h[i] = loads->bias[i] - loads->passive[i];
  }
  for (int32_t body = 0; body < m->n_bodies; ++body) {
    const double *wrench = loads->wrenches + 6 * (int64_t)body;
    if (!(sap_vector_dot(6, wrench, wrench) <= 0.0)) {
      subtract_wrench(m, body, wrench, h);
    }
  }
}

void tasks_fill_mass(int32_t nv, const double *M, const int32_t *rownnz, const int32_t *rowadr,
                     const int32_t *colind, double *full) {
  memset(full, 0, sizeof *full * (size_t)nv * (size_t)nv);
  for (int32_t i = 0; i < nv; ++i) {
    for (int32_t p = rowadr[i]; p < rowadr[i] + rownnz[i]; ++p) {
      const int64_t j = colind[p];
      full[i * (int64_t)nv + j] = full[j * nv + i] = M[p];
    }
  }
}
