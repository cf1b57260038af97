/* This file gathers equality constraints; see constraints.h. */
#include "step/dissipation_time.h"
#include "step/joints/element_rows.h"

/* Appends row i of the engine as row `part` of an equality constraint; returns its number. */
static int32_t append_equality(struct sap_element_gather *g, const struct sap_element_state *state,
                               int32_t i, int32_t part, double scale, int is_angle) {
  const struct sap_elements *e = g->elements;
  const int32_t id = state->efc_id[i];
  const struct sap_row_label label = {SAP_ELEMENT_EQUALITY, id, part, i};
  const int32_t row = sap_append_row(g, label, scale, is_angle);
  g->value[0][row] = scale * state->efc_pos[i];
  g->value[1][row] = e->equality_k[2 * (int64_t)id];
  g->value[2][row] = sap_dissipation_time(e->equality_tau_d[id], g->open.dt);
  g->value[3][row] = -INFINITY;
  g->value[4][row] = INFINITY;
  return row;
}

static int gather_equality(struct sap_element_cursor *at, const struct sap_element_state *state,
                           int32_t id, int32_t first, int32_t count, int rotation) {
  struct sap_element_gather *g = at->gather;
  const struct sap_elements *e = g->elements;
  const int32_t *tree = e->equality_tree + 2 * (int64_t)id;
  const double scale = rotation ? e->equality_scale[id] : 1.0;
  struct sap_engine_jacobian rows[3];
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (!sap_constraint_row(state, g->forest->nv, first + i, rows + kept)) {
      return 0;
    }
    const int moved = sap_row_moves(g, rows + kept, tree);
    if (moved < 0) {
      return 0;
    }
    if (moved) {
      const int32_t *angle = e->equality_angle;
      const int32_t row = append_equality(g, state, first + i, (rotation ? 3 : 0) + i, scale,
                                          rotation || (angle && angle[id]));
      g->value[1][row] = e->equality_k[2 * (int64_t)id + rotation];
      ++kept;
    }
  }
  if (kept > 0) {
    sap_write_rows(at, kept, rows, scale, tree);
    sap_append_constraint(at, kept, tree);
  }
  return 1;
}

/* Returns the number of rows from i on that are of the same equality constraint. */
static int32_t count_rows(const struct sap_element_gather *g, const struct sap_element_state *state,
                          int32_t i) {
  int32_t end = i + 1;
  while (end < g->n_engine_rows && state->efc_type[end] == SAP_ROW_EQUALITY &&
         state->efc_id[end] == state->efc_id[i]) {
    ++end;
  }
  return end - i;
}

/* Gathers rows that are constraints of their own. */
static int gather_equality_rows(struct sap_element_cursor *at,
                                const struct sap_element_state *state, int32_t first,
                                int32_t count) {
  const struct sap_element_gather *g = at->gather;
  for (int32_t i = 0; i < count; ++i) {
    int32_t tree[2] = {-1, -1};
    struct sap_engine_jacobian row;
    if (!sap_constraint_row(state, g->forest->nv, first + i, &row) ||
        !sap_row_trees(g, &row, tree)) {
      return 0;
    }
    if (tree[0] >= 0) {
      append_equality(at->gather, state, first + i, i, 1.0, 0);
      sap_write_rows(at, 1, &row, 1.0, tree);
      sap_append_constraint(at, 1, tree);
    }
  }
  return 1;
}

int sap_gather_equalities(struct sap_element_cursor *at, const struct sap_element_state *state) {
  const struct sap_element_gather *g = at->gather;
  for (int32_t i = 0; i < g->n_engine_rows;) {
    if (state->efc_type[i] != SAP_ROW_EQUALITY) {
      ++i;
      continue;
    }
    const int32_t id = state->efc_id[i], kind = g->elements->equality_kind[id];
    const int32_t count = kind == SAP_EQUALITY_POINT  ? 3
                          : kind == SAP_EQUALITY_POSE ? 6
                          : kind == SAP_EQUALITY_ROWS ? count_rows(g, state, i)
                                                      : 1;
    for (int32_t j = i; j < i + count; ++j) {
      if (j >= g->n_engine_rows || state->efc_type[j] != SAP_ROW_EQUALITY ||
          state->efc_id[j] != id) {
        return 0;
      }
    }
    if (!(kind == SAP_EQUALITY_ROWS ? gather_equality_rows(at, state, i, count)
                                    : gather_equality(at, state, id, i, count == 1 ? 1 : 3, 0)) ||
        (kind == SAP_EQUALITY_POSE && !gather_equality(at, state, id, i + 3, 3, 1))) {
      return 0;
    }
    i += count;
  }
  return 1;
}
