#include "model/scatter.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "constraints/kinds.h"
#include "model/element_rows.h"

/* rows of one contact from its wrench: force (n, t1, t2) and torque about (n, t1, t2) */
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

/* part += J^T f for a block J (3, n) */
static void add_block(int64_t n, const double *restrict J, const double *restrict f,
                      double *restrict part) {
  for (int64_t j = 0; j < n; ++j) {
    part[j] += J[j] * f[0] + J[n + j] * f[1] + J[2 * n + j] * f[2];
  }
}

/* adds the block of a tree to the forces and returns the end of the block */
static const double *add_tree(const struct sap_forest *forest, int32_t tree, const double *J,
                              const double *f, double *force) {
  if (tree < 0) {
    return J;
  }
  const int64_t n = forest->tree_dofnum[tree];
  double *part = force + forest->tree_dofadr[tree];
  if (n == SAP_SIX) {
    add_block(SAP_SIX, J, f, part);
  } else {
    add_block(n, J, f, part);
  }
  return J + 3 * n;
}

/* the new acceleration in place of a* where a contact touches the tree */
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
  memset(rows, 0, sizeof(double) * (size_t)gather->n_rows);
  const struct sap_spin_gather *spins = &gather->spins;
  const double *J = gather->J, *J_spin = spins->J;
  for (int32_t c = 0, s = 0; c < gather->problem.n_contacts; ++c) {
    const int32_t tree_a = gather->tree_a[c], tree_b = gather->tree_b[c];
    const double *gamma = gather->gamma + 3 * (int64_t)c;
    const double f[3] = {gamma[0] / dt, gamma[1] / dt, gamma[2] / dt};
    J = add_tree(forest, tree_a, J, f, qfrc_constraint);
    J = add_tree(forest, tree_b, J, f, qfrc_constraint);
    double wrench[6] = {f[2], f[0], f[1]};
    if (s < spins->spin.n && spins->contact[s] == c) {
      const double *turn = spins->gamma + 3 * (int64_t)s++;
      double *torque = wrench + 3;
      for (int j = 0; j < 3; ++j) {
        torque[j] = turn[j] / dt;
      }
      J_spin = add_tree(forest, tree_a, J_spin, torque, qfrc_constraint);
      J_spin = add_tree(forest, tree_b, J_spin, torque, qfrc_constraint);
    }
    write_rows(gather->contacts + c, cone, gather->edge_friction + SAP_FRICTIONS * (int64_t)c,
               wrench, rows);
  }
}

/* ---- other constraints than contacts --------------------------------------------------------- */

/* force += J^T f of one group, f = gamma/dt */
static void add_group(const struct sap_forest *forest, const sap_constraints *group,
                      const double *gamma, double dt, double *force) {
  const double *J = group->J;
  for (int32_t c = 0; c < group->n; ++c) {
    const int32_t size = sap_rows_of(group, c), dof = sap_dof_of(group, c);
    if (dof >= 0) {
      force[forest->tree_dofadr[group->tree_a[c]] + dof] += *J++ * (*gamma++ / dt);
      continue;
    }
    for (int side = 0; side < 2; ++side) {
      const int32_t tree = side == 0 ? group->tree_a[c] : group->tree_b[c];
      for (int32_t i = 0; i < size && tree >= 0; ++i) {
        const int32_t n = forest->tree_dofnum[tree];
        double *part = force + forest->tree_dofadr[tree];
        for (int32_t j = 0; j < n; ++j) {
          part[j] += J[j] * (gamma[i] / dt);
        }
        J += n;
      }
    }
    gamma += size;
  }
}

/* actuator forces of the rows of controllers, within their bounds to the last bit */
static void add_controllers(const struct sap_element_gather *g,
                            const struct sap_element_state *state, const double *gamma, double dt) {
  const struct sap_elements *e = g->elements;
  for (int32_t c = 0; c < g->n_acting; ++c) {
    const double *range = g->range + 2 * (int64_t)c;
    const double force = sap_lesser(sap_larger(gamma[c] / dt, range[0]), range[1]);
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
  for (int32_t i = 0; i < g->n_groups; ++i) {
    const double *gamma = g->gamma + g->first_row[i];
    if (g->groups[i].kind == SAP_CONTROLLER) {
      add_controllers(g, state, gamma, dt);
    } else {
      add_group(g->forest, g->groups + i, gamma, dt, qfrc_constraint);
    }
  }
  for (int32_t i = 0; i < g->n_rows; ++i) {
    if (g->label[i].row >= 0) {
      rows[g->label[i].row] = g->scale[i] * g->gamma[i] / dt;
    }
  }
  if (g->elements != NULL && g->elements->n_controllers > 0) {
    for (int32_t i = 0; i < g->forest->nv; ++i) {
      state->qfrc_actuator[i] += g->change[i];
      state->qfrc_smooth[i] += g->change[i];
    }
  }
}
