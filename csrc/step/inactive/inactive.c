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
  const int32_t first = forest->tree_dofadr[contact->tree];
  const int32_t n = forest->tree_dofnum[contact->tree];
  const double *row = J + 2 * (int64_t)n;
  if (!sap_is_far_open(contact->phi0, contact->h, sap_vector_dot(n, row, v_0 + first),
                       sap_vector_dot(n, row, v_star + first))) {
    return 0;
  }
  inactive->contacts[inactive->n++] = *contact;
  memcpy(inactive->J + inactive->nJ, row, (size_t)n * sizeof *row);
  inactive->nJ += n;
  return 1;
}

int sap_inactive_check(struct sap_inactive *inactive, const sap_forest *forest, const double *v) {
  const double *row = inactive->J;
  int32_t acting = 0;
  for (int32_t i = 0; i < inactive->n; ++i) {
    const struct sap_inactive_contact *contact = inactive->contacts + i;
    const int32_t n = forest->tree_dofnum[contact->tree];
    const double v_n = sap_vector_dot(n, row, v + forest->tree_dofadr[contact->tree]);
    acting += contact->phi0 + contact->h * v_n < 0.0;
    row += n;
  }
  inactive->all_act |= acting > 0;
  return acting > 0;
}
