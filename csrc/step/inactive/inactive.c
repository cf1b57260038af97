#include "step/inactive/inactive.h"

#include <string.h>

#include "base/arithmetic.h"
#include "step/inactive/far_open.h"

void sap_inactive_carve(struct sap_inactive *inactive, struct sap_arena *arena, size_t count) {
  inactive->contacts = sap_arena_take(arena, count, sizeof *inactive->contacts);
}

int sap_inactive_take(struct sap_inactive *inactive, const sap_forest *forest,
                      const struct sap_inactive_contact *contact, const double *J,
                      const double *v_0, const double *v_star) {
  if (inactive->all_act) {
    return 0;
  }
  double *row = inactive->J + inactive->nJ;
  double before = 0.0, free = 0.0;
  for (int side = 0; side < 2 && contact->tree[side] >= 0; ++side) {
    const int32_t first = forest->tree_dofadr[contact->tree[side]];
    const int32_t n = forest->tree_dofnum[contact->tree[side]];
    memcpy(row, J + 2 * (int64_t)n, (size_t)n * sizeof *row);
    before += sap_vector_dot(n, row, v_0 + first);
    free += sap_vector_dot(n, row, v_star + first);
    J += 3 * (int64_t)n;
    row += n;
  }
  if (!sap_is_far_open(contact->phi0, contact->h, before, free)) {
    return 0;
  }
  inactive->contacts[inactive->n++] = *contact;
  inactive->nJ = row - inactive->J;
  return 1;
}

int sap_inactive_check(struct sap_inactive *inactive, const sap_forest *forest, const double *v) {
  const double *row = inactive->J;
  int32_t acting = 0;
  for (int32_t i = 0; i < inactive->n; ++i) {
    const struct sap_inactive_contact *contact = inactive->contacts + i;
    double v_n = 0.0;
    for (int side = 0; side < 2 && contact->tree[side] >= 0; ++side) {
      const int32_t n = forest->tree_dofnum[contact->tree[side]];
      v_n += sap_vector_dot(n, row, v + forest->tree_dofadr[contact->tree[side]]);
      row += n;
    }
    acting += contact->phi0 + contact->h * v_n < 0.0;
  }
  inactive->all_act |= acting > 0;
  return acting > 0;
}
