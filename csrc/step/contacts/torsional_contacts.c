#include "step/contacts/torsional_contacts.h"

#include <math.h>
#include <string.h>

void sap_torsional_contacts_carve(struct sap_torsional_contacts *gather, struct sap_arena *arena,
                                  size_t count) {
  gather->contact = sap_arena_take(arena, count, sizeof(int32_t));
  gather->mu = sap_arena_take(arena, count, 3 * sizeof(double));
  gather->gamma = sap_arena_take(arena, count, 3 * sizeof(double));
  gather->v_c = sap_arena_take(arena, count, 3 * sizeof(double));
  gather->spin = (sap_spin){.contact = gather->contact, .mu = gather->mu};
  gather->nJ = 0;
}

/* Finds mu (3) from the coefficients of a contact of `dim` dimensions. Returns 1 if any is left, 0
 * for none, -1 if one is not finite. */
static int take_friction(const double *friction, int32_t dim, double *mu) {
  int any = 0;
  for (int32_t k = 0; k < 3; ++k) {
    const double mu_k = k < dim - 3 ? friction[2 + k] : 0.0;
    if (!isfinite(mu_k)) {
      return -1;
    }
    mu[k] = mu_k > SAP_LEAST_FRICTION ? mu_k : 0.0;
    any |= mu[k] > 0.0;
  }
  return any;
}

int64_t sap_torsional_jacobian(const struct sap_forest *forest, const struct sap_motion *one,
                               const struct sap_motion *two, const double *frame,
                               const double *cdof, double *J) {
  const int same = one->tree == two->tree;
  const int64_t first = 3 * (int64_t)one->columns;
  const int64_t length = first + (same ? 0 : 3 * (int64_t)two->columns);
  double against[9];
  for (int j = 0; j < 9; ++j) {
    against[j] = -frame[j];
  }
  memset(J, 0, sizeof *J * (size_t)length);
  if (one->tree >= 0) {
    sap_jacobian_turn(forest, one, against, cdof, J);
  }
  if (two->tree >= 0) {
    sap_jacobian_turn(forest, two, frame, cdof, same ? J : J + first);
  }
  int64_t j = 0;
  while (j < length && J[j] == 0.0) {
    ++j;
  }
  return j < length ? length : 0;
}

enum sap_fault sap_torsional_contacts_add(struct sap_torsional_contacts *gather,
                                          const struct sap_contact_list *list,
                                          const struct sap_listed_contact *contact, int32_t number,
                                          int64_t length) {
  const int32_t n = gather->spin.n, i = contact->index;
  double *mu = gather->mu + 3 * (int64_t)n;
  const int any = take_friction(sap_doubles_at(list->friction, i), contact->dim, mu);
  if (any <= 0) {
    return any < 0 ? SAP_FAULT_CONTACT : SAP_FAULT_NONE;
  }
  if (length < 0) {
    return SAP_FAULT_CONTACT;
  }
  if (length == 0) {
    return SAP_FAULT_NONE;
  }
  const struct sap_field surface = list->surface_velocity;
  if (surface.base && sap_doubles_at(surface, i)[2] != 0.0) {
    return SAP_FAULT_DIMENSION;
  }
  gather->contact[n] = number;
  gather->spin.n = n + 1;
  gather->nJ += length;
  return SAP_FAULT_NONE;
}
