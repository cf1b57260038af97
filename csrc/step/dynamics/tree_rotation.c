#include "step/dynamics/tree_rotation.h"

#include <math.h>
#include <string.h>

#include "step/dynamics/roots.h"

/* Returns the weight s of a kinematic tree; 0 if it is not of the pass. */
static double weigh(const struct sap_turning_trees *trees, int32_t first, int32_t last,
                    const double *qvel) {
  const int8_t *turns = trees->forest->dof_turns;
  const int of_root = trees->held ? SAP_HELD_ROOT_TURNS : SAP_ROOT_TURNS;
  const int of_joint = trees->held ? SAP_HELD_JOINT_TURNS : SAP_JOINT_TURNS;
  double root = 0.0, all = 0.0; /* squares of w_r and w */
  for (int32_t i = first; i < last; ++i) {
    const double square = qvel[i] * qvel[i];
    root += turns[i] == of_root ? square : 0.0;
    all += turns[i] == of_root || turns[i] == of_joint ? square : 0.0;
  }
  if (root == 0.0) {
    return 0.0;
  }
  const double turn = trees->dt * sqrt(sqrt(root) * sqrt(all));
  const double part = (turn - SAP_SLOW_TURN) / (SAP_FAST_TURN - SAP_SLOW_TURN);
  const double s = fmin(fmax(part, 0.0), 1.0);
  return s * s * (3.0 - 2.0 * s);
}

int sap_tree_rotation_acts(const struct sap_turning_trees *trees, const double *qvel) {
  const sap_forest *forest = trees->forest;
  for (int32_t first = 0, last; forest->dof_turns && first < forest->nv; first = last) {
    last = sap_root_end(forest, first);
    if (weigh(trees, first, last, qvel) > 0.0) {
      return 1;
    }
  }
  return 0;
}

void sap_tree_rotation_middle(const struct sap_turning_trees *trees, const double *qvel,
                              const double *x, double *v_m) {
  const sap_forest *forest = trees->forest;
  memcpy(v_m, qvel, sizeof *v_m * (size_t)forest->nv);
  for (int32_t first = 0, last; first < forest->nv; first = last) {
    last = sap_root_end(forest, first);
    if (weigh(trees, first, last, qvel) > 0.0) {
      for (int32_t i = first; i < last; ++i) {
        v_m[i] -= 0.5 * trees->dt * x[i];
      }
    }
  }
}

void sap_tree_rotation_change(const struct sap_turning_trees *trees, const double *qvel,
                              const double *qfrc_bias, double *c) {
  const sap_forest *forest = trees->forest;
  for (int32_t first = 0, last; first < forest->nv; first = last) {
    last = sap_root_end(forest, first);
    const int acts = weigh(trees, first, last, qvel) > 0.0;
    for (int32_t i = first; i < last; ++i) {
      c[i] = acts ? c[i] - qfrc_bias[i] : 0.0;
    }
  }
}

/* Returns 1 if the pass converges for the dofs from `first` to `last`; not with numbers that are
 * not finite. */
static int converges(int32_t first, int32_t last, const double *x, const double *Mx,
                     const double *dc, const double *da) {
  double change = 0.0, whole = 0.0;
  for (int32_t i = first; i < last; ++i) {
    change += da[i] * dc[i];
    whole += x[i] * Mx[i];
  }
  return change <= SAP_MOST_RATE * SAP_MOST_RATE * whole && isfinite(whole);
}

int32_t sap_tree_rotation_apply(const struct sap_turning_trees *trees, const double *x,
                                const double *Mx, const double *dc, const double *da,
                                const struct sap_tree_rotation *state) {
  const sap_forest *forest = trees->forest;
  int32_t missed = 0;
  for (int32_t first = 0, last; first < forest->nv; first = last) {
    last = sap_root_end(forest, first);
    const double s = weigh(trees, first, last, state->qvel);
    if (s > 0.0 && !converges(first, last, x, Mx, dc, da)) {
      ++missed;
      continue;
    }
    for (int32_t i = first; i < last && s > 0.0; ++i) {
      state->qfrc_bias[i] += s * dc[i];
      state->qfrc_smooth[i] -= s * dc[i];
      state->qacc_smooth[i] -= s * da[i];
    }
  }
  return missed;
}
