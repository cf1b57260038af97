#include "step/joints/element_rows.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"

static int is_off(int32_t group, int32_t disabled) {
  return disabled < 0 || (group >= 0 && group < 31 && (disabled >> group & 1));
}

int sap_remove_controllers(struct sap_element_gather *g, const struct sap_element_state *state) {
  const struct sap_elements *e = g->elements;
  const int32_t nv = g->forest->nv;
  memset(g->change, 0, sizeof(double) * (size_t)nv);
  for (int32_t c = 0; c < e->n_controllers; ++c) {
    const int32_t output = e->controller_output[c], *tree = e->controller_tree + 2 * (int64_t)c;
    struct sap_engine_jacobian *row = g->moment + c;
    const int moved = sap_moment_row(state, output, row) ? sap_row_moves(g, row, tree) : -1;
    if (moved < 0) {
      return 0;
    }
    sap_add_row(row, -state->actuator_force[output], g->change);
    if (moved && row->n > 0 && !is_off(e->controller_group[c], state->disabled)) {
      g->controller[g->n_acting++] = c;
    }
  }
  /* remainder of the actuator forces of dofs with a bounded total */
  for (int32_t c = 0; c < e->n_controllers; ++c) {
    const int32_t dof = e->controller_dof[c];
    if (dof >= 0 && !is_off(-1, state->disabled)) {
      const double others = state->qfrc_actuator[dof] + g->change[dof];
      const double *total = e->controller_total + 2 * (int64_t)c;
      g->change[dof] += sap_lesser(sap_larger(others, total[0]), total[1]) - others;
    }
  }
  for (int32_t i = 0; i < nv; ++i) {
    g->smooth[i] = state->qfrc_smooth[i] + g->change[i];
  }
  return 1;
}

/* Finds the bounds of the force of controller c: its own, and the remainder of the total of its
 * dof. */
static void find_range(const struct sap_element_gather *g, const struct sap_element_state *state,
                       int32_t c, double *range) {
  const struct sap_elements *e = g->elements;
  const struct sap_engine_jacobian *row = g->moment + c;
  const int32_t dof = e->controller_dof[c];
  memcpy(range, e->controller_range + 2 * (int64_t)c, 2 * sizeof *range);
  if (dof < 0 || row->n != 1 || row->column[0] != dof) {
    return;
  }
  const double others = state->qfrc_actuator[dof] + g->change[dof], gear = row->value[0];
  const double *total = e->controller_total + 2 * (int64_t)c;
  const double below = sap_lesser(total[0] - others, 0.0) / gear;
  const double above = sap_larger(total[1] - others, 0.0) / gear;
  range[0] = sap_larger(gear > 0.0 ? below : above, range[0]);
  range[1] = sap_lesser(gear > 0.0 ? above : below, range[1]);
}

void sap_gather_controllers(struct sap_element_cursor *at, const struct sap_element_state *state) {
  struct sap_element_gather *g = at->gather;
  const struct sap_elements *e = g->elements;
  for (int32_t k = 0; k < g->n_acting; ++k) {
    const int32_t c = g->controller[k];
    const struct sap_engine_jacobian *row = g->moment + c;
    const int32_t output = e->controller_output[c], *tree = e->controller_tree + 2 * (int64_t)c;
    const double Kp = e->controller_gains[2 * (int64_t)c];
    const double Kd = e->controller_gains[2 * (int64_t)c + 1];
    const double length = state->actuator_length[output];
    const double set =
        state->actuator_force[output] + Kp * length + Kd * state->actuator_velocity[output];
    const int32_t at_row =
        sap_append_row(g, (struct sap_row_label){SAP_ELEMENT_OUTPUT, output, 0, -1}, 1.0, 0);
    g->value[0][at_row] = Kp;
    g->value[1][at_row] = Kd;
    g->value[2][at_row] = length;
    g->value[3][at_row] = Kp > 0.0 ? set / Kp : length;
    g->value[4][at_row] = Kp > 0.0 ? 0.0 : set / Kd;
    g->value[5][at_row] = 0.0;
    g->value[6][at_row] = INFINITY;
    find_range(g, state, c, g->range + 2 * (int64_t)k);
    if (row->n == 1) {
      sap_append_joint(at, row->column[0], row->value[0]);
    } else {
      sap_write_rows(at, 1, row, 1.0, tree);
      sap_append_constraint(at, 1, tree);
    }
  }
}
