#include "sap/friction.h"

#include <math.h>

#include "sap/coulomb.h"

void sap_solve_part(struct sap_workspace *w, const struct sap_island *island,
                    const sap_settings *settings, sap_friction friction, double tolerance,
                    struct sap_newton_result *sum) {
  sap_settings rest = *settings;
  rest.relative_tolerance = fmax(settings->relative_tolerance, tolerance);
  rest.max_iterations -= sum->iterations;
  rest.start = sum->iterations > 0 ? SAP_START_NEWTON : settings->start;
  w->pool.friction = friction;
  w->records.before = sum->iterations;
  struct sap_newton_result part = sap_newton(w, island, &rest);
  w->records.before = 0;
  part.iterations += sum->iterations;
  part.trials += sum->trials;
  part.assembly_seconds += sum->assembly_seconds;
  part.factor_seconds += sum->factor_seconds;
  part.line_search_seconds += sum->line_search_seconds;
  *sum = part;
}

/* how many bounds are not known */
static int32_t count_unknown(const struct sap_workspace *w, const struct sap_island *island) {
  int32_t n = 0;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    for (int32_t i = island->law_begin[law];
         w->plan->laws[law]->depart && i < island->law_begin[law + 1]; ++i) {
      n += isnan(w->pool.contact.bound[i]);
    }
  }
  return n;
}

/* b = mu gamma_n for those */
static void find_unknown(struct sap_workspace *w, const struct sap_island *island) {
  const struct sap_contacts *contact = &w->pool.contact;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    for (int32_t i = island->law_begin[law];
         w->plan->laws[law]->depart && i < island->law_begin[law + 1]; ++i) {
      contact->bound[i] =
          isnan(contact->bound[i]) ? contact->mu[i] * w->pool.gamma[2][i] : contact->bound[i];
    }
  }
}

/* |D grad| with Coulomb's friction in place of that of the bounds held */
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
  static const double rough = 1e-2;
  struct sap_newton_result result = {.outcome = SAP_CONVERGED, .tree = -1};
  if (count_unknown(w, island) > 0) {
    sap_solve_part(w, island, settings, SAP_FRICTION_CONVEX, rough, &result);
    find_unknown(w, island);
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
