#include "model/element_rows.h"

#include <math.h>

static void append_limit(struct sap_element_gather *g, struct sap_row_label label, double phi0,
                         double k, double tau_d) {
  const int32_t row = sap_append_row(g, label, 1.0);
  g->value[0][row] = phi0;
  g->value[1][row] = k;
  g->value[2][row] = tau_d;
}

/* Angle (from 0 to pi) and axis of a quaternion (w, x, y, z) of any length but 0; (1, 0, 0) without
 * a rotation. */
static double angle_of(const double *quaternion, double *axis) {
  const double w = quaternion[0], *v = quaternion + 1;
  const double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  if (length == 0.0) {
    axis[0] = 1.0;
    axis[1] = axis[2] = 0.0;
    return 0.0;
  }
  /* the shorter way round */
  const double sign = w < 0.0 ? -1.0 : 1.0;
  for (int i = 0; i < 3; ++i) {
    axis[i] = sign * v[i] / length;
  }
  return 2.0 * atan2(length, fabs(w));
}

static void gather_joint_limits(struct sap_element_cursor *at,
                                const struct sap_element_state *state) {
  static const double one = 1.0;
  struct sap_element_gather *g = at->gather;
  const struct sap_elements *e = g->elements;
  for (int32_t l = 0; l < e->n_limits; ++l) {
    const double *q = state->qpos + e->limit_qposadr[l];
    const double *range = e->limit_range + 2 * (int64_t)l;
    const int32_t dof = e->limit_dofadr[l], tree[2] = {g->dof_tree[dof], -1};
    const int ball = e->limit_ball[l] != 0;
    double axis[3] = {0.0, 0.0, 0.0};
    const double angle = ball ? angle_of(q, axis) : q[0];
    for (int upper = ball; upper < 2; ++upper) {
      /* phi grows with q at the lower limit, and shrinks at the upper one */
      const double sign = upper ? -1.0 : 1.0, phi0 = sign * (angle - range[upper]);
      if (isinf(range[upper])) {
        continue;
      }
      const struct sap_row_label label = {SAP_ELEMENT_JOINT, e->limit_joint[l], upper, -1};
      const struct sap_limit_side side = {.label = label,
                                          .side = 2 * l + upper,
                                          .row = {1, &e->limit_dofadr[l], &one},
                                          .sign = sign,
                                          .phi0 = phi0,
                                          .h = g->open.dt + e->limit_tau_d[l]};
      if (!ball && g->open.waits &&
          sap_open_limits_take(&g->open, &side, g->open.v_0[dof], g->open.a_star[dof])) {
        continue;
      }
      append_limit(g, label, phi0, e->limit_k[l], e->limit_tau_d[l]);
      if (ball) {
        sap_write_dofs(at, dof, 3, (const double[3]){-axis[0], -axis[1], -axis[2]});
        sap_append_constraint(at, 1, tree);
      } else {
        sap_append_joint(at, dof, sign);
      }
    }
  }
}

static int gather_tendon_limits(struct sap_element_cursor *at,
                                const struct sap_element_state *state) {
  struct sap_element_gather *g = at->gather;
  const struct sap_elements *e = g->elements;
  for (int32_t t = 0; t < e->n_tendons; ++t) {
    const int32_t *tree = e->tendon_tree + 2 * (int64_t)t;
    const double *range = e->tendon_range + 2 * (int64_t)t;
    if (!e->tendon_limited[t] || sap_is_ahead_limit(e, t)) {
      continue;
    }
    const struct sap_engine_jacobian row = sap_tendon_row(e, state, t);
    const int moved = sap_row_moves(g, &row, tree);
    if (moved < 0) {
      return 0;
    }
    const int waits = moved && g->open.waits;
    const double v_0 = waits ? sap_engine_product(&row, g->open.v_0) : 0.0;
    const double a_star = waits ? sap_engine_product(&row, g->open.a_star) : 0.0;
    for (int upper = 0; upper < 2 && moved; ++upper) {
      const double sign = upper ? -1.0 : 1.0;
      if (isinf(range[upper])) {
        continue;
      }
      const struct sap_limit_side side = {.label = {SAP_ELEMENT_TENDON, t, upper, -1},
                                          .side = 2 * (e->n_limits + t) + upper,
                                          .row = row,
                                          .sign = sign,
                                          .phi0 = sign * (state->ten_length[t] - range[upper]),
                                          .h = g->open.dt + e->tendon_tau_d[t]};
      if (sap_open_limits_take(&g->open, &side, v_0, a_star)) {
        continue;
      }
      sap_write_rows(at, 1, &row, sign, tree);
      append_limit(g, side.label, side.phi0, e->tendon_k[t], e->tendon_tau_d[t]);
      sap_append_constraint(at, 1, tree);
    }
  }
  return 1;
}

/* Finds the limits that the engine lists, which are in the same order as ours: they take the force
 * of the side that is nearest to them. */
static void match_limits(struct sap_element_gather *g, const struct sap_element_state *state,
                         int32_t begin) {
  const double *phi0 = g->value[0];
  int32_t row = begin;
  for (int32_t i = 0; i < g->n_engine_rows; ++i) {
    const int32_t type = state->efc_type[i], id = state->efc_id[i];
    if (type != SAP_ROW_JOINT_LIMIT && type != SAP_ROW_TENDON_LIMIT) {
      continue;
    }
    const int32_t element = type == SAP_ROW_JOINT_LIMIT ? SAP_ELEMENT_JOINT : SAP_ELEMENT_TENDON;
    while (row < g->n_rows && (g->label[row].element < element ||
                               (g->label[row].element == element && g->label[row].index < id))) {
      ++row;
    }
    int32_t best = -1;
    for (int32_t r = row; r < g->n_rows && r < row + 2; ++r) {
      if (g->label[r].element == element && g->label[r].index == id &&
          (best < 0 || fabs(phi0[r] - state->efc_pos[i]) < fabs(phi0[best] - state->efc_pos[i]))) {
        best = r;
      }
    }
    if (best >= 0) {
      g->label[best].row = i;
    }
  }
}

int sap_gather_limits(struct sap_element_cursor *at, const struct sap_element_state *state) {
  const int32_t begin = at->gather->n_rows;
  gather_joint_limits(at, state);
  if (!gather_tendon_limits(at, state)) {
    return 0;
  }
  match_limits(at->gather, state, begin);
  return 1;
}
