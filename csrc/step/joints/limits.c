#include "step/joints/element_rows.h"

#include <math.h>

#include "step/dissipation_time.h"

static void append_limit(struct sap_element_gather *g, struct sap_row_label label, double phi0,
                         double k, double tau_d, int is_angle) {
  const int32_t row = sap_append_row(g, label, 1.0, is_angle);
  g->value[0][row] = phi0;
  g->value[1][row] = k;
  g->value[2][row] = tau_d;
}

/* Returns the angle (from 0 to pi) and the axis of a quaternion (w, x, y, z) of any length but 0;
 * the axis is (1, 0, 0) without a rotation. */
static double angle_of(const double *quaternion, double *axis) {
  const double w = quaternion[0], *v = quaternion + 1;
  const double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  if (length == 0.0) {
    axis[0] = 1.0;
    axis[1] = axis[2] = 0.0;
    return 0.0;
  }
  /* the sign takes the shorter way round */
  const double sign = w < 0.0 ? -1.0 : 1.0;
  for (int i = 0; i < 3; ++i) {
    axis[i] = sign * v[i] / length;
  }
  return 2.0 * atan2(length, fabs(w));
}

/* Gathers the one side of a ball's limit, which is never inactive. */
static void gather_ball_limit(struct sap_element_cursor *at, const double *quaternion, int32_t l) {
  struct sap_element_gather *g = at->gather;
  const struct sap_elements *e = g->elements;
  const int32_t dof = e->limit_dofadr[l], tree[2] = {g->dof_tree[dof], -1};
  const double most = e->limit_range[2 * (int64_t)l + 1];
  if (isinf(most)) {
    return;
  }
  double axis[3];
  const double phi0 = most - angle_of(quaternion, axis);
  const struct sap_row_label label = {SAP_ELEMENT_JOINT, e->limit_joint[l], 1, -1};
  append_limit(g, label, phi0, e->limit_k[l], sap_dissipation_time(e->limit_tau_d[l], g->open.dt),
               1);
  sap_write_dofs(at, dof, 3, (const double[3]){-axis[0], -axis[1], -axis[2]});
  sap_append_constraint(at, 1, tree);
}

/* Rates of a dof or a row before the step, and by the free motion after it. */
struct rates {
  double before, after;
};

/* Returns the rates of a row, or of a dof where row is NULL; 0 where they select no sides. */
static struct rates rates_of(const struct sap_open_limits *open, int32_t dof,
                             const struct sap_engine_jacobian *row) {
  if (!open->may_be_inactive || open->acting) {
    return (struct rates){0.0, 0.0};
  }
  return (struct rates){row ? sap_engine_product(row, open->v_0) : open->v_0[dof],
                        row ? sap_engine_product(row, open->v_star) : open->v_star[dof]};
}

/* Gathers both sides of a hinge or a slide. */
static void gather_sides(struct sap_element_cursor *at, double q, int32_t l) {
  struct sap_element_gather *g = at->gather;
  const struct sap_elements *e = g->elements;
  struct sap_open_limits *open = &g->open;
  const double *range = e->limit_range + 2 * (int64_t)l;
  const double tau_d = sap_dissipation_time(e->limit_tau_d[l], open->dt);
  const int32_t dof = e->limit_dofadr[l];
  const struct rates rates = rates_of(open, dof, NULL);
  for (int upper = 0; upper < 2; ++upper) {
    if (isinf(range[upper])) {
      continue;
    }
    /* phi grows with q at the lower limit, and shrinks at the upper one */
    const double sign = upper ? -1.0 : 1.0, phi0 = sign * (q - range[upper]);
    const struct sap_row_label label = {SAP_ELEMENT_JOINT, e->limit_joint[l], upper, -1};
    struct sap_limit_side *inactive = sap_open_limits_take(
        open, 2 * l + upper, sign, phi0, open->dt + tau_d, rates.before, rates.after);
    if (inactive) {
      inactive->label = label;
      inactive->dof = dof;
    } else {
      append_limit(g, label, phi0, e->limit_k[l], tau_d, e->limit_angle && e->limit_angle[l]);
      sap_append_joint(at, dof, sign);
    }
  }
}

static void gather_joint_limits(struct sap_element_cursor *at,
                                const struct sap_element_state *state) {
  const struct sap_elements *e = at->gather->elements;
  for (int32_t l = 0; l < e->n_limits; ++l) {
    const double *q = state->qpos + e->limit_qposadr[l];
    if (e->limit_ball[l]) {
      gather_ball_limit(at, q, l);
    } else {
      gather_sides(at, *q, l);
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
    if (!e->tendon_limited[t]) {
      continue;
    }
    const struct sap_engine_jacobian row = sap_tendon_row(e, state, t);
    const int moved = sap_row_moves(g, &row, tree);
    if (moved < 0) {
      return 0;
    }
    struct sap_open_limits *open = &g->open;
    const double tau_d = sap_dissipation_time(e->tendon_tau_d[t], open->dt);
    const struct rates rates = rates_of(open, -1, &row);
    for (int upper = 0; upper < 2 && moved; ++upper) {
      if (isinf(range[upper])) {
        continue;
      }
      const double sign = upper ? -1.0 : 1.0, phi0 = sign * (state->ten_length[t] - range[upper]);
      const struct sap_row_label label = {SAP_ELEMENT_TENDON, t, upper, -1};
      struct sap_limit_side *inactive =
          sap_open_limits_take(open, 2 * (e->n_limits + t) + upper, sign, phi0, open->dt + tau_d,
                               rates.before, rates.after);
      if (inactive) {
        inactive->label = label;
        inactive->dof = -1;
        inactive->row = row;
        continue;
      }
      sap_write_rows(at, 1, &row, sign, tree);
      append_limit(g, label, phi0, e->tendon_k[t], tau_d, e->tendon_angle && e->tendon_angle[t]);
      sap_append_constraint(at, 1, tree);
    }
  }
  return 1;
}

/* Finds the limits that the engine lists, which are in the same order as the sides here. Each takes
 * the force of the side nearest to it. */
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
