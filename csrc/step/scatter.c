#include "step/scatter.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "constraints/kinds/kinds.h"
#include "step/joints/element_rows.h"
#include "problem/products/vectors.h"

/* Writes the rows of one contact from its wrench: force (n, t1, t2) and torque about (n, t1,
 * t2). */
static void write_rows(const struct sap_listed_contact *contact, enum sap_cone cone,
                       const double *mu, const double *wrench, double *rows) {
  const int32_t dim = contact->dim;
  if (contact->row < 0) {
    return;
  }
  double *row = rows + contact->row;
  if (dim == 1 || cone == SAP_CONE_ELLIPTIC) {
    memcpy(row, wrench, sizeof *row * (size_t)dim);
    return;
  }
  double rest = wrench[0];
  for (int32_t j = 0; j < dim - 1; ++j) {
    rest -= fabs(wrench[1 + j]) / mu[j];
  }
  const double share = 0.5 * rest / (dim - 1);
  for (int32_t j = 0; j < dim - 1; ++j) {
    row[2 * j] = share + fmax(wrench[1 + j] / mu[j], 0.0);
    row[2 * j + 1] = share + fmax(-wrench[1 + j] / mu[j], 0.0);
  }
}

/* Adds J^T f of these rows of one tree to the forces, and returns the end of their block of J. */
static const double *add_block(const struct sap_element_gather *g, int32_t tree, int32_t rows,
                               const double *J, const double *f, double *force) {
  const int32_t n = g->forest->tree_dofnum[tree];
  g->loops->add_rows(rows, n, J, f, force + g->forest->tree_dofadr[tree]);
  return J + (int64_t)rows * n;
}

/* Does the same for the rows of one constraint in one tree or two. */
static const double *add_sides(const struct sap_element_gather *g, int32_t tree_a, int32_t tree_b,
                               int32_t rows, const double *J, const double *f, double *force) {
  J = add_block(g, tree_a, rows, J, f, force);
  return tree_b < 0 ? J : add_block(g, tree_b, rows, J, f, force);
}

/* Replaces a* by the new acceleration if a constraint touches the tree. */
static void find_acceleration(struct sap_gather *gather) {
  const struct sap_forest *forest = gather->forest;
  const double dt = gather->dt, *restrict v = gather->v, *restrict v_0 = gather->free_motion.v_0;
  double *restrict a = gather->free_motion.a_star;
  for (int32_t t = 0, i = 0; t < forest->n_trees; ++t) {
    const int32_t end = i + forest->tree_dofnum[t];
    if (!gather->touched[t]) {
      i = end;
    }
    for (; i < end; ++i) {
      a[i] = (v[i] - v_0[i]) / dt;
    }
  }
}

/* Finds the forces of contacts, and adds them to those of the dofs. Contacts of one tree are
 * adjacent, and are one block. */
static void add_contacts(struct sap_gather *gather, double *qfrc_constraint) {
  const int32_t n_contacts = gather->problem.n_contacts;
  const double dt = gather->dt, *J = gather->J, *restrict gamma = gather->gamma;
  double *restrict f = gather->force;
  for (int64_t i = 0; i < 3 * (int64_t)n_contacts; ++i) {
    f[i] = gamma[i] / dt;
  }
  for (int32_t c = 0, end; c < n_contacts; c = end) {
    const int32_t a = gather->tree_a[c], b = gather->tree_b[c];
    for (end = c + 1;
         b < 0 && end < n_contacts && gather->tree_a[end] == a && gather->tree_b[end] < 0; ++end) {
    }
    J = add_sides(&gather->elements, a, b, 3 * (end - c), J, f + 3 * (int64_t)c, qfrc_constraint);
  }
}

void sap_scatter(struct sap_gather *gather, enum sap_cone cone, double limit, double *qacc,
                 double *qfrc_constraint, double *rows) {
  const struct sap_forest *forest = gather->forest;
  const double dt = gather->dt, *a = gather->free_motion.a_star;
  const size_t bytes = sizeof(double) * (size_t)forest->nv;
  find_acceleration(gather);
  int32_t outside = 0;
  for (int32_t i = 0; i < forest->nv; ++i) {
    outside += !(fabs(a[i]) <= limit);
  }
  if (outside > 0) {
    int32_t i = 0;
    while (fabs(a[i]) <= limit) {
      ++i;
    }
    gather->fault = SAP_FAULT_ACCELERATION;
    gather->fault_index = i;
    return;
  }
  memcpy(qacc, a, bytes);
  memset(qfrc_constraint, 0, bytes);
  if (gather->n_rows > 0) { /* else the engine has no such array */
    memset(rows, 0, sizeof(double) * (size_t)gather->n_rows);
  }
  add_contacts(gather, qfrc_constraint);
  const struct sap_torsional_contacts *spins = &gather->spins;
  const double *J_spin = spins->J;
  for (int32_t c = 0, s = 0; c < gather->problem.n_contacts; ++c) {
    const double *f = gather->force + 3 * (int64_t)c;
    double wrench[6] = {f[2], f[0], f[1]};
    if (s < spins->spin.n && spins->contact[s] == c) {
      const double *turn = spins->gamma + 3 * (int64_t)s++;
      double *torque = wrench + 3;
      for (int j = 0; j < 3; ++j) {
        torque[j] = turn[j] / dt;
      }
      J_spin = add_sides(&gather->elements, gather->tree_a[c], gather->tree_b[c], 3, J_spin, torque,
                         qfrc_constraint);
    }
    write_rows(gather->contacts + c, cone, gather->edge_friction + SAP_FRICTIONS * (int64_t)c,
               wrench, rows);
  }
}

/* ---- constraints other than contacts -------------------------------------------------------- */

/* Adds J^T f of one group to `force`; neighbours that move the same tree alone are one block. */
static void add_group(const struct sap_element_gather *g, const sap_constraints *group,
                      const double *f, double *force) {
  const double *J = group->J;
  for (int32_t c = 0; c < group->n;) {
    const int32_t a = group->tree_a[c], b = group->tree_b[c], dof = sap_dof_of(group, c);
    int32_t rows = sap_rows_of(group, c++);
    if (dof >= 0) {
      force[g->forest->tree_dofadr[a] + dof] += *J++ * *f++;
      continue;
    }
    while (b < 0 && c < group->n && group->tree_a[c] == a && group->tree_b[c] < 0 &&
           sap_dof_of(group, c) < 0) {
      rows += sap_rows_of(group, c++);
    }
    J = add_sides(g, a, b, rows, J, f, force);
    f += rows;
  }
}

/* Writes actuator forces of the rows of controllers, within their bounds to the last bit. */
static void add_controllers(const struct sap_element_gather *g,
                            const struct sap_element_state *state, const double *f) {
  const struct sap_elements *e = g->elements;
  for (int32_t c = 0; c < g->n_acting; ++c) {
    const double *range = g->range + 2 * (int64_t)c;
    const double force = sap_lesser(sap_larger(f[c], range[0]), range[1]);
    const int32_t output = e->controller_output[g->controller[c]];
    struct sap_engine_jacobian moment;
    if (sap_moment_row(state, output, &moment)) {
      sap_add_row(&moment, force, g->change);
    }
    state->actuator_force[output] = force;
  }
}

void sap_scatter_elements(const struct sap_element_gather *elements,
                          const struct sap_element_state *state, double dt, double *qfrc_constraint,
                          double *rows) {
  const struct sap_element_gather *g = elements;
  const double *restrict gamma = g->gamma;
  double *restrict f = g->force;
  for (int32_t i = 0; i < g->n_rows; ++i) {
    f[i] = gamma[i] / dt;
  }
  for (int32_t i = 0; i < g->n_groups; ++i) {
    if (g->groups[i].kind == SAP_CONTROLLER) {
      add_controllers(g, state, f + g->first_row[i]);
    } else {
      add_group(g, g->groups + i, f + g->first_row[i], qfrc_constraint);
    }
  }
  for (int32_t i = 0; i < g->n_rows; ++i) {
    if (g->label[i].row >= 0) {
      rows[g->label[i].row] = g->scale[i] * f[i];
    }
  }
  if (g->elements != NULL && g->elements->n_controllers > 0) {
    for (int32_t i = 0; i < g->forest->nv; ++i) {
      state->qfrc_actuator[i] += g->change[i];
      state->qfrc_smooth[i] += g->change[i];
    }
  }
}
