#include "solver/newton/iterate.h"

#include <float.h>
#include <string.h>

#include "base/clock.h"
#include "solver/certificate/certificate.h"
#include "solver/solver_tuning.h"

struct sap_stopwatch sap_stopwatch_start(int on) {
  return (struct sap_stopwatch){on, on ? sap_seconds() : 0};
}

void sap_lap(struct sap_stopwatch *watch, double *sum) {
  if (watch->on) {
    const double now = sap_seconds();
    *sum += now - watch->since;
    watch->since = now;
  }
}

void sap_copy(double *to, const double *from, const struct sap_island *island) {
  memcpy(to + island->scalar_begin, from + island->scalar_begin,
         (size_t)(island->scalar_end - island->scalar_begin) * sizeof(double));
}

double sap_dot(const struct sap_island *island, const double *x, const double *y) {
  double sum = 0;
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

int32_t sap_first_part(const sap_settings *settings) {
  const int32_t half = settings->max_iterations - settings->max_iterations / 2;
  return half < SAP_FIRST_PART ? half : SAP_FIRST_PART;
}

double sap_tolerance(const struct sap_workspace *w, const sap_settings *settings,
                     const struct sap_evaluation *now) {
  const int32_t n_islands = w->plan->n_islands;
  return settings->absolute_tolerance / sqrt(n_islands) +
         settings->relative_tolerance * (n_islands > 1 ? sqrt(0.5) : 1) * now->scale;
}

void sap_record(struct sap_workspace *w, const struct sap_island *island, int32_t iteration,
                const struct sap_step *step, double decrease, const struct sap_evaluation *now) {
  const sap_iteration record = {.island = island->index,
                                .iteration = w->records.before + iteration,
                                .trials = step->trials,
                                .step = iteration > 0 ? step->alpha : 0,
                                .cost = now->cost,
                                .decrease = decrease,
                                .momentum_error = sap_momentum_error(now->gradient, now->scale)};
  sap_records_add(&w->records, &record);
}

static int32_t factor_and_solve(struct sap_workspace *w, const struct sap_island *island,
                                enum sap_precision precision, struct sap_stopwatch *watch,
                                struct sap_newton_result *result) {
  sap_assemble(w, island, precision);
  sap_lap(watch, &result->assembly_seconds);
  const int32_t node = sap_factor_run(&w->plan->factor, island->index, w->dv);
  sap_lap(watch, &result->factor_seconds);
  return node;
}

int32_t sap_solve_system(struct sap_workspace *w, const struct sap_island *island,
                         enum sap_precision *precision, struct sap_stopwatch *watch,
                         struct sap_newton_result *result) {
  if (*precision == SAP_SINGLE) {
    double *b = w->dp; /* dp is still unused */
    sap_copy(b, w->dv, island);
    if (factor_and_solve(w, island, SAP_SINGLE, watch, result) < 0 &&
        sap_is_usable(sap_dot(island, b, w->dv))) {
      return -1;
    }
    sap_copy(w->dv, b, island);
    *precision = SAP_DOUBLE;
    result->fallbacks |= SAP_FALLBACK_DOUBLE;
  }
  return factor_and_solve(w, island, SAP_DOUBLE, watch, result);
}

int sap_conclude(struct sap_workspace *w, const struct sap_island *island,
                 const sap_settings *settings, struct sap_evaluation *last) {
  if (!sap_has_rigid_core(island) && last->gradient <= sap_tolerance(w, settings, last)) {
    *last = sap_verify_momentum(w, island, last->constraints);
    const double most = sap_tolerance(w, settings, last);
    if (last->gradient <= most && sap_bound_error(w, island) <= sap_verified_share * most) {
      return 1;
    }
  }
  *last = sap_verify(w, island, settings->friction);
  return 0;
}

int sap_is_faint(const struct sap_evaluation *now) {
  return now->scale * now->scale <= DBL_EPSILON * fabs(now->cost);
}

int sap_is_round_off(struct sap_workspace *w, const struct sap_island *island,
                     const struct sap_evaluation *now) {
  const double error = sap_bound_error(w, island);
  return now->gradient <= error && now->scale <= error;
}
