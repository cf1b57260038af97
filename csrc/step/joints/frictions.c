/* This file gathers the dry friction of dofs and tendons; see constraints.h. */
#include <string.h>

#include "step/joints/element_rows.h"

/* The frictions of n dofs, and their rows of the engine from `row` on, or -1. */
struct frictions {
  int32_t n, row;
  const int32_t *dof;
  const double *force;
};

/* Finds the frictions in the engine's rows, or in the elements if the engine made no such rows. */
static struct frictions find_frictions(const struct sap_element_gather *g,
                                       const struct sap_element_state *state) {
  int32_t begin = 0;
  while (begin < g->n_engine_rows && state->efc_type[begin] < SAP_ROW_DOF_FRICTION) {
    ++begin;
  }
  int32_t end = begin;
  while (end < g->n_engine_rows && state->efc_type[end] == SAP_ROW_DOF_FRICTION) {
    ++end;
  }
  if (end == begin) {
    return (struct frictions){g->left_out ? g->n_frictions : 0, -1, g->friction_dof, g->friction};
  }
  return (struct frictions){end - begin, begin, state->efc_id + begin,
                            state->efc_frictionloss + begin};
}

/* Returns the slip ratio of dry friction along n dofs, INFINITY if sigma holds at any slip. */
static double slip_ratio_of(const struct sap_element_gather *g, int32_t n, const int32_t *dof,
                            const double *J, double slip_speed) {
  if (!(g->slip_speed > 0.0)) {
    return INFINITY;
  }
  double velocity = 0.0;
  for (int32_t k = 0; k < n; ++k) {
    velocity += J[k] * g->open.v_0[dof[k]];
  }
  return fabs(velocity) / slip_speed;
}

static double slip_speed_of(const struct sap_element_gather *g, int is_angle) {
  return is_angle ? g->slip_rate : g->slip_speed;
}

/* Gathers the frictions of dofs, each a constraint. It goes array by array, because a robot may
 * have one for each joint. */
static void gather_dof_frictions(struct sap_element_cursor *at,
                                 const struct sap_element_state *state) {
  struct sap_element_gather *g = at->gather;
  const struct frictions found = find_frictions(g, state);
  const int32_t n = found.n, *id = found.dof;
  const int32_t *restrict dof_tree = g->dof_tree, *restrict first = g->forest->tree_dofadr;
  struct sap_row_label *restrict label = g->label + g->n_rows;
  double *restrict scale = g->scale + g->n_rows, *restrict release = g->release + g->n_rows;
  double *restrict J = at->J, *restrict slip_ratio = g->value[1] + g->n_rows;
  double *restrict slip_speed = g->row_slip_speed + g->n_rows;
  const int32_t *restrict is_angle = g->elements->dof_angle;
  int32_t *restrict size = g->size + g->n_constraints, *restrict dof = g->dof + g->n_constraints;
  int32_t *restrict tree_a = g->tree_a + g->n_constraints;
  int32_t *restrict tree_b = g->tree_b + g->n_constraints;
  memcpy(g->value[0] + g->n_rows, found.force, sizeof(double) * (size_t)n);
  for (int32_t i = 0; i < n; ++i) {
    scale[i] = J[i] = 1.0;
    release[i] = INFINITY;
    size[i] = 1;
    tree_b[i] = -1;
  }
  for (int32_t i = 0; i < n; ++i) {
    const int32_t tree = dof_tree[id[i]], row = found.row < 0 ? -1 : found.row + i;
    label[i] = (struct sap_row_label){SAP_ELEMENT_DOF, id[i], 0, row};
    tree_a[i] = tree;
    dof[i] = id[i] - first[tree];
    slip_speed[i] = slip_speed_of(g, is_angle && is_angle[id[i]]);
    slip_ratio[i] = slip_ratio_of(g, 1, id + i, J + i, slip_speed[i]);
    at->touched[tree] = 1;
  }
  g->n_rows += n;
  g->n_constraints += n;
  at->J += n;
}

/* Gathers the friction of a tendon, row i of the engine. */
static int gather_tendon_friction(struct sap_element_cursor *at,
                                  const struct sap_element_state *state, int32_t i) {
  struct sap_element_gather *g = at->gather;
  const int32_t id = state->efc_id[i], *tree = g->elements->tendon_tree + 2 * (int64_t)id;
  const struct sap_engine_jacobian row = sap_tendon_row(g->elements, state, id);
  const int moved = sap_row_moves(g, &row, tree);
  if (moved > 0) {
    sap_write_rows(at, 1, &row, 1.0, tree);
    const int32_t at_row =
        sap_append_row(g, (struct sap_row_label){SAP_ELEMENT_TENDON, id, 0, i}, 1.0, 0);
    g->value[0][at_row] = state->efc_frictionloss[i];
    const int32_t *is_angle = g->elements->tendon_angle;
    const double slip_speed = slip_speed_of(g, is_angle && is_angle[id]);
    g->row_slip_speed[at_row] = slip_speed;
    g->value[1][at_row] = slip_ratio_of(g, row.n, row.column, row.value, slip_speed);
    sap_append_constraint(at, 1, tree);
  }
  return moved >= 0;
}

int sap_gather_frictions(struct sap_element_cursor *at, const struct sap_element_state *state) {
  const struct sap_element_gather *g = at->gather;
  gather_dof_frictions(at, state);
  for (int32_t i = 0; i < g->n_engine_rows; ++i) {
    if (state->efc_type[i] == SAP_ROW_TENDON_FRICTION && !gather_tendon_friction(at, state, i)) {
      return 0;
    }
  }
  return 1;
}
