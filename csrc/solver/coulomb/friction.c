#include "solver/coulomb/friction.h"

#include <math.h>

#include "solver/coulomb/coulomb.h"
#include "solver/coulomb/part.h"
#include "solver/solver_tuning.h"

/* Is there a contact without a bound in the problem? */
static int has_unknown_bounds(const struct sap_workspace *w, int32_t i, int32_t end) {
  while (i < end && !isnan(w->pool.contact.given[i])) {
    ++i;
  }
  return i < end;
}

/* Returns the end of the places of contacts, which come before those of rows. */
static int32_t contacts_end(const struct sap_workspace *w, const struct sap_island *island) {
  int32_t end = island->triple_begin;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    end = w->plan->laws[law]->depart ? island->law_begin[law + 1] : end;
  }
  return end;
}

/* Replaces bounds that follow v by the bounds of the problem where it has them. */
static void take_given(struct sap_workspace *w, int32_t begin, int32_t end) {
  const struct sap_contacts *contact = &w->pool.contact;
  for (int32_t i = begin; i < end; ++i) {
    contact->bound[i] = isnan(contact->given[i]) ? contact->bound[i] : contact->given[i];
  }
}

struct sap_evaluation sap_evaluate_bounded(struct sap_workspace *w,
                                           const struct sap_island *island) {
  const int32_t begin = island->triple_begin, end = contacts_end(w, island);
  if (w->plan->friction == SAP_FRICTION_LAGGED && has_unknown_bounds(w, begin, end)) {
    sap_evaluate(w, island, SAP_FRICTION_COULOMB);
    take_given(w, begin, end);
  }
  return sap_evaluate(w, island, w->plan->friction);
}

/* Returns |D grad| with Coulomb's friction instead of fixed bounds. */
static double coulomb_gradient(struct sap_workspace *w, const struct sap_island *island) {
  double *const *gamma = w->pool.dv_c;
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = island->triple_begin; i < island->triple_end; ++i) {
      gamma[r][i] = 0;
    }
  }
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    if (w->plan->laws[law]->depart) {
      w->plan->laws[law]->depart(&w->pool, range[0], range[1], gamma);
    }
  }
  w->plan->jacobian_loops->multiply_transposed(&w->J, island, gamma, w->dp);
  double sum = 0;
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    const double x = w->scale[i] * (w->gradient[i] - w->dp[i]);
    sum += x * x;
  }
  return sqrt(sum);
}

static struct sap_newton_result lagged(struct sap_workspace *w, const struct sap_island *island,
                                       const sap_settings *settings) {
  const int32_t end = contacts_end(w, island);
  struct sap_newton_result result = {.outcome = SAP_CONVERGED, .tree = -1};
  if (has_unknown_bounds(w, island->triple_begin, end)) {
    sap_settings rest = *settings;
    rest.friction = SAP_FRICTION_COULOMB;
    rest.relative_tolerance = fmax(settings->relative_tolerance, sap_rough_bounds);
    rest.max_iterations = sap_first_part(settings); /* leaves the others for the convex solve */
    result = sap_coulomb(w, island, &rest);
    take_given(w, island->triple_begin, end);
  }
  sap_solve_part(w, island, settings, SAP_FRICTION_LAGGED, 0, &result);
  result.coulomb_gradient = coulomb_gradient(w, island);
  return result;
}

struct sap_newton_result sap_solve_friction(struct sap_workspace *w,
                                            const struct sap_island *island,
                                            const sap_settings *settings) {
  if (settings->friction == SAP_FRICTION_LAGGED) {
    return lagged(w, island, settings);
  }
  if (settings->friction == SAP_FRICTION_COULOMB) {
    return sap_coulomb(w, island, settings);
  }
  struct sap_newton_result result = sap_newton(w, island, settings);
  result.coulomb_gradient = NAN;
  return result;
}
