#include "solver/statistics.h"

#include <float.h>
#include <math.h>

void sap_sums_add(struct sap_sums *sums, const struct sap_sums *part) {
  /* worse outcomes have larger numbers; the problem has the worst one of its islands */
  if (part->outcome > sums->outcome) {
    sums->outcome = part->outcome;
    sums->tree = part->tree;
  }
  if (part->iterations > sums->iterations) {
    sums->iterations = part->iterations;
  }
  sums->total_iterations += part->total_iterations;
  sums->trials += part->trials;
  sums->n_scalars += part->n_scalars;
  sums->cost += part->cost;
  sums->gradient += part->gradient;
  sums->momentum += part->momentum;
  sums->impulse += part->impulse;
  sums->coulomb += part->coulomb;
  sums->bound += part->bound;
  sums->complementarity += part->complementarity;
  sums->assembly_seconds += part->assembly_seconds;
  sums->factor_seconds += part->factor_seconds;
  sums->line_search_seconds += part->line_search_seconds;
}

void sap_sums_add_island(struct sap_sums *sums, const struct sap_island_result *result) {
  const struct sap_newton_result *newton = &result->newton;
  const struct sap_evaluation *last = &newton->last;
  const struct sap_sums part = {.outcome = newton->outcome,
                                .tree = newton->tree,
                                .iterations = newton->iterations,
                                .total_iterations = newton->iterations,
                                .trials = newton->trials,
                                .cost = last->cost,
                                .gradient = last->gradient * last->gradient,
                                .momentum = last->momentum * last->momentum,
                                .impulse = last->impulse * last->impulse,
                                .coulomb = newton->coulomb_gradient * newton->coulomb_gradient,
                                .bound = result->bound,
                                .complementarity = result->complementarity,
                                .assembly_seconds = newton->assembly_seconds,
                                .factor_seconds = newton->factor_seconds,
                                .line_search_seconds = newton->line_search_seconds};
  sap_sums_add(sums, &part);
}

void sap_sums_conclude(const struct sap_sums *sums, int64_t n_constraints,
                       const sap_settings *settings, sap_solution *solution) {
  solution->outcome = sums->outcome;
  solution->tree = sums->tree;
  solution->iterations = sums->iterations;
  solution->total_iterations = sums->total_iterations;
  solution->line_search_trials = sums->trials;
  solution->cost = sums->cost;
  solution->assembly_seconds = sums->assembly_seconds;
  solution->factor_seconds = sums->factor_seconds;
  solution->line_search_seconds = sums->line_search_seconds;
  const double gradient = sqrt(sums->gradient), scale = sqrt(fmax(sums->momentum, sums->impulse));
  /* an island has reached the limit of double precision, but the whole problem meets (20) */
  if (sums->outcome == SAP_STALLED &&
      gradient <= settings->absolute_tolerance + settings->relative_tolerance * scale) {
    solution->outcome = SAP_CONVERGED;
  }
  solution->momentum_error = sap_momentum_error(gradient, scale); /* (24) */
  solution->coulomb_error = settings->friction == SAP_FRICTION_CONVEX
                                ? NAN
                                : sap_momentum_error(sqrt(sums->coulomb), scale);
  solution->complementarity_error = /* (25) */
      sums->complementarity == 0 ? 0
                                 : sums->complementarity / (double)n_constraints / fabs(sums->cost);
  if (!isfinite(sums->gradient + sums->momentum + sums->impulse + sums->cost)) {
    solution->outcome = SAP_NON_FINITE; /* sums may overflow although islands are finite */
  }
  /* NaN gives no bound; the term in DBL_MIN covers squares that underflowed */
  const double square = sums->bound + (double)sums->n_scalars * DBL_MIN;
  solution->velocity_error_bound = isnan(square) ? INFINITY : sqrt(square);
  solution->cost_gap_bound = isnan(square) ? INFINITY : 0.5 * square;
}
