#include "invdyn/tasks/task_rows.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "invdyn/invdyn_tuning.h"

/* ---- tasks ----------------------------------------------------------------------------------- */

int32_t tasks_count_rows(const struct tasks_task *task) {
  if (task->kind == TASKS_JOINTS) {
    return task->n;
  }
  return task->axes == (TASKS_POSITION | TASKS_ROTATION) ? 6 : 3;
}

/* Returns a* + k (x* - x) + d (v* - v) of coordinate i. */
static double acceleration(const struct tasks_task *task, int32_t i, double x, double v) {
  return task->k * (task->position[i] - x) + task->d * (task->velocity[i] - v) +
         task->feedforward[i];
}

static void write_joints(const struct tasks_mechanism *m, const struct tasks_task *task, double *T,
                         double *t) {
  for (int32_t i = 0; i < task->n; ++i) {
    const int32_t dof = task->at[i];
    T[i * (int64_t)m->nv + dof] = 1.0;
    t[i] = acceleration(task, i, m->qpos[task->place[i]], m->qvel[dof]);
  }
}

/* Sets r to the rotation vector that turns the orientation `present` to `wanted`: the axis of
 * wanted present^T times its angle, by a multiple q of the quaternion. */
static void find_rotation_error(const double *wanted, const double *present, double *r) {
  double R[9];
  for (int i = 0; i < 9; ++i) {
    R[i] = sap_vector_dot(3, wanted + i / 3 * 3, present + i % 3 * 3);
  }
  const double trace = R[0] + R[4] + R[8];
  const double skew[3] = {R[7] - R[5], R[2] - R[6], R[3] - R[1]};
  double q = 1.0 + trace;
  memcpy(r, skew, sizeof skew);
  if (!(trace > 0.0)) {
    const int larger = R[4] > R[0], i = R[8] > R[4 * larger] ? 2 : larger;
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    q = skew[i];
    r[i] = 1.0 + R[4 * i] - R[4 * j] - R[4 * k];
    r[j] = R[3 * i + j] + R[3 * j + i];
    r[k] = R[3 * i + k] + R[3 * k + i];
  }
  const double length = sap_length(r), sign = q < 0.0 ? -1.0 : 1.0;
  const double angle = 2.0 * atan2(sign * length, sign * q);
  for (int i = 0; i < 3; ++i) {
    r[i] *= length > 0.0 ? angle / length : 0.0;
  }
}

static void write_frame(const struct tasks_mechanism *m, const struct tasks_task *task,
                        double *scratch, double *T, double *t) {
  const int32_t body = task->at[0];
  const double *x = m->xpos + 3 * (int64_t)body;
  const int has_position = (task->axes & TASKS_POSITION) != 0;
  double *T_r = has_position ? T + 3 * (int64_t)m->nv : T, *t_r = has_position ? t + 3 : t;
  struct tasks_motion motion = {.J = has_position ? T : scratch,
                                .J_r = task->axes & TASKS_ROTATION ? T_r : NULL};
  tasks_find_motion(m, body, x, &motion);
  for (int i = 0; i < 3 && has_position; ++i) {
    t[i] = acceleration(task, i, x[i], motion.v[i]) - motion.bias[i];
  }
  if (motion.J_r) {
    double error[3];
    find_rotation_error(task->rotation, m->xmat + 9 * (int64_t)body, error);
    for (int i = 0; i < 3; ++i) {
      t_r[i] = task->k * error[i] - task->d * motion.w[i] - motion.bias_r[i];
    }
  }
}

static void write_centre(const struct tasks_mechanism *m, const struct tasks_task *task,
                         double *scratch, double *T, double *t) {
  const int32_t length = 3 * m->nv;
  double x[3] = {0}, v[3] = {0}, bias[3] = {0};
  for (int32_t b = 0; b < task->n; ++b) {
    const double *point = m->xipos + 3 * (int64_t)task->at[b];
    struct tasks_motion motion = {.J = scratch};
    memset(scratch, 0, (size_t)length * sizeof *scratch);
    tasks_find_motion(m, task->at[b], point, &motion);
    sap_vector_add(length, task->share[b], scratch, T);
    sap_vector_add(3, task->share[b], point, x);
    sap_vector_add(3, task->share[b], motion.v, v);
    sap_vector_add(3, task->share[b], motion.bias, bias);
  }
  for (int i = 0; i < 3; ++i) {
    t[i] = acceleration(task, i, x[i], v[i]) - bias[i];
  }
}

void tasks_write_rows(const struct tasks_mechanism *m, const struct tasks_task *task,
                      double *scratch, double *T, double *t) {
  memset(T, 0, (size_t)tasks_count_rows(task) * (size_t)m->nv * sizeof *T);
  if (task->kind == TASKS_JOINTS) {
    write_joints(m, task, T, t);
  } else if (task->kind == TASKS_FRAME) {
    write_frame(m, task, scratch, T, t);
  } else {
    write_centre(m, task, scratch, T, t);
  }
}

/* ---- contacts -------------------------------------------------------------------------------- */

/* Sets the friction of a contact that slides, with the velocity u, against its sliding: J (3, nv)
 * and mu of its forces, and its tangential forces over the normal one. Returns 0 if it does not. */
static int slide(int32_t nv, const double *u, double *J, double *mu, double *over) {
  const double speed = hypot(u[0], u[1]);
  if (!(*mu > 0.0 && speed > tasks_sliding)) {
    return 0;
  }
  for (int k = 0; k < 2; ++k) {
    over[k] = -(*mu / speed) * u[k];
    sap_vector_add(nv, over[k], J + k * (int64_t)nv, J + 2 * (int64_t)nv);
  }
  *mu = 0.0;
  return 1;
}

void tasks_write_contacts(const struct tasks_mechanism *m, const struct tasks_contacts *contacts,
                          double *scratch, const struct tasks_contact_rows *rows) {
  const int64_t length = 3 * (int64_t)m->nv;
  const double T_h = contacts->hold_time;
  for (int32_t i = 0; i < contacts->n; ++i) {
    double *T = rows->T + i * length, *J = rows->J + i * length;
    double *t = rows->t + 3 * (int64_t)i, *w = rows->w + 3 * (int64_t)i;
    double *over = rows->slide + 2 * (int64_t)i;
    double u[3], bias[3];
    tasks_find_contact(m, contacts->bodies + 2 * (int64_t)i, contacts->positions + 3 * (int64_t)i,
                       contacts->frames + 9 * (int64_t)i, scratch, T, u, bias);
    memcpy(J, T, (size_t)length * sizeof *J);
    rows->mu[i] = contacts->mu[i];
    over[0] = over[1] = 0.0;
    const int slides = contacts->may_slide && slide(m->nv, u, J, rows->mu + i, over);
    for (int k = 0; k < 3; ++k) {
      t[k] = u[k] / -T_h - bias[k];
      w[k] = k == 2 || (contacts->mu[i] > 0.0 && !slides) ? contacts->weight : 0.0;
    }
    t[2] -= sap_larger(contacts->gaps[i], 0.0) / (4.0 * T_h * T_h);
  }
}

/* ---- dry friction ---------------------------------------------------------------------------- */

/* Returns the share of dry friction that acts against a motion, -1 to 1. */
static double share_of_friction(double velocity) {
  return sap_lesser(sap_larger(velocity / tasks_moving, -1.0), 1.0);
}

/* Adds the bias force of the friction of a contact against turning. Its torques lie in the
 * ellipsoid of constraints/laws/torsional.h: about axis k, radii[k]^2 turns[k] over the length of
 * all radii times turns. */
static void add_turning(const struct tasks_mechanism *m, const int32_t bodies[2],
                        const double *frame, const double *radii, const double *velocity,
                        double normal, double *h) {
  double w[3] = {0}, torque[3] = {0}, turns[3], slips[3];
  for (int side = 0; side < 2; ++side) {
    for (int32_t i = m->last_dof[bodies[side]]; i >= 0; i = m->dof_parent[i]) {
      sap_vector_add(3, side ? velocity[i] : -velocity[i], m->cdof + 6 * (int64_t)i, w);
    }
  }
  for (int k = 0; k < 3; ++k) {
    turns[k] = sap_vector_dot(3, frame + 3 * (int64_t)k, w);
    slips[k] = radii[k] * turns[k];
  }
  const double slip = sap_length(slips);
  if (slip == 0.0) {
    return;
  }
  const double load = normal * share_of_friction(sap_length(turns));
  for (int k = 0; k < 3; ++k) {
    sap_vector_add(3, load * radii[k] * (slips[k] / slip), frame + 3 * (int64_t)k, torque);
  }
  for (int side = 0; side < 2; ++side) {
    for (int32_t i = m->last_dof[bodies[side]]; i >= 0; i = m->dof_parent[i]) {
      const double force = sap_vector_dot(3, m->cdof + 6 * (int64_t)i, torque);
      h[i] += side ? force : -force;
    }
  }
}

void tasks_add_friction(const struct tasks_mechanism *m, const struct tasks_contacts *contacts,
                        const struct tasks_plan *plan, double *velocity, double *h) {
  for (int32_t i = 0; i < m->nv; ++i) {
    velocity[i] = plan->v[i] + contacts->hold_time * plan->a[i];
    h[i] += plan->loss[i] * share_of_friction(velocity[i]);
  }
  for (int32_t i = 0; plan->forces && i < contacts->n; ++i) {
    const double *radii = contacts->radii + 3 * (int64_t)i;
    if (radii[0] != 0.0 || radii[1] != 0.0 || radii[2] != 0.0) {
      add_turning(m, contacts->bodies + 2 * (int64_t)i, contacts->frames + 9 * (int64_t)i, radii,
                  velocity, plan->forces[3 * (int64_t)i + 2], h);
    }
  }
}
