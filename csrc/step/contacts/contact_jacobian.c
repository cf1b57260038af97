#include "step/contacts/contact_jacobian.h"
#include "step/step_tuning.h"

#include <math.h>
#include <string.h>

/* Adds one side of a contact: the block of its tree is set, or added to if the other side is in the
 * same tree. Returns the number of entries of the block. */
static int64_t add_side(const struct sap_movers *movers, const sap_model_state *state,
                        const struct sap_motion *motion, const double *axes, const double *p,
                        int add, double *J) {
  const int64_t length = 3 * (int64_t)motion->columns;
  if (motion->six && !add) {
    const double *c = state->subtree_com + 3 * (int64_t)motion->root;
    const double r[3] = {p[0] - c[0], p[1] - c[1], p[2] - c[2]};
    sap_jacobian_six(axes, r, movers->transposed + SAP_SIX * (int64_t)motion->first, J);
    return length;
  }
  if (!add) {
    memset(J, 0, sizeof(double) * (size_t)length);
  }
  sap_jacobian_add(movers->forest, motion, axes, p, state->cdof, state->subtree_com, J);
  return length;
}

/* Returns 1 if any of the n entries has a lever arm. */
static int any_moves(const double *x, int64_t n) {
  int64_t i = 0;
  while (i < n && fabs(x[i]) <= sap_no_arm) {
    ++i;
  }
  return i < n;
}

int64_t sap_contact_jacobian(const struct sap_movers *movers, const sap_model_state *state,
                             const int32_t geom[2], const double *axes, const double *p,
                             double *J) {
  const struct sap_motion *one = movers->motion + geom[0], *two = movers->motion + geom[1];
  double against[9], sums[3]; /* directions for the first geom */
  for (int j = 0; j < 9; ++j) {
    against[j] = -axes[j];
  }
  for (int j = 0; j < 3; ++j) {
    sums[j] = (axes[j] + axes[3 + j]) + (axes[6 + j] + p[j]);
  }
  if (!isfinite(sums[0] + sums[1] + sums[2])) {
    return -1;
  }
  int64_t length = 0;
  if (one->tree >= 0) {
    length = add_side(movers, state, one, against, p, 0, J);
  }
  if (two->tree >= 0) {
    const int same = two->tree == one->tree;
    const int64_t added = add_side(movers, state, two, axes, p, same, J + (same ? 0 : length));
    length += same ? 0 : added;
  }
  return any_moves(J, length) ? length : 0;
}
