#include "sap/coulomb.h"

#include <math.h>

#include "sap/certificate.h"
#include "sap/direction.h"
#include "sap/friction.h"
#include "sap/iterate.h"
#include "sap/krylov.h"

/* what an iteration needs to know of those before it */
struct progress {
  struct sap_step step;
  double gradient; /* |D r| of the iterate before */
  double best;     /* |D r| of w->kept */
  int held;        /* solves with bounds held since it was smaller */
  int turned;      /* does the last direction tell of the next one? */
  enum sap_precision precision;
};

static double error_of(const struct sap_evaluation *now) {
  return sap_momentum_error(now->gradient, now->scale);
}

static struct sap_evaluation evaluate(struct sap_workspace *w, const struct sap_island *island) {
  w->pool.friction = SAP_FRICTION_COULOMB;
  return sap_evaluate(w, island);
}

static struct sap_evaluation evaluate_at(struct sap_workspace *w, const struct sap_island *island,
                                         const double *v) {
  sap_copy(w->v, v, island);
  sap_refresh(w, island);
  return evaluate(w, island);
}

/* (H + J^T U J) dv = -r; -1, or the position of the node at which H broke down */
static int32_t find_direction(struct sap_workspace *w, const struct sap_island *island,
                              const sap_settings *settings, struct progress *before,
                              struct sap_stopwatch *watch, struct sap_newton_result *result) {
  if (settings->turning && before->turned && error_of(&result->last) > 1e-2) {
    sap_dual_blend(w, island);
  }
  sap_newton_system(w, island);
  const int32_t node = sap_solve_system(w, island, &before->precision, watch, result);
  if (node < 0) {
    sap_couple_direction(w, island);
    sap_lap(watch, &result->factor_seconds);
  }
  return node;
}

/* Along dv: halves the step until |D r| falls; alpha is 0 where it does not */
static struct sap_step descend(struct sap_workspace *w, const struct sap_island *island,
                               struct sap_evaluation *now) {
  enum { TRIALS = 8 };
  static const double share = 0.1; /* of the decrease of a linear r */
  const struct sap_line line = sap_line_make(w, island);
  const double before = now->gradient;
  sap_dual_predict(w, island);
  struct sap_step step = {.alpha = 1, .trials = 1};
  sap_line_advance(&line, step.alpha);
  for (;; ++step.trials) {
    *now = evaluate(w, island);
    if (now->gradient < (1 - share * step.alpha) * before) {
      return step;
    }
    if (step.trials == TRIALS) {
      step.alpha = 0;
      return step;
    }
    step.alpha *= 0.5;
    sap_line_advance(&line, -step.alpha);
  }
}

/* one solve with the bounds of the best iterate */
static void hold_bounds(struct sap_workspace *w, const struct sap_island *island,
                        const sap_settings *settings, struct progress *before,
                        struct sap_newton_result *result) {
  result->last = evaluate_at(w, island, w->v);
  sap_solve_part(w, island, settings, SAP_FRICTION_LAGGED, 0.1 * error_of(&result->last), result);
  result->last = evaluate(w, island);
  result->outcome = SAP_FRICTION_LIMIT;
  before->turned = 0;
  before->step = (struct sap_step){1, 0};
  ++before->held;
}

static int is_finite(const struct sap_evaluation *now) {
  return isfinite(now->gradient) && isfinite(now->scale) && isfinite(now->cost);
}

struct sap_newton_result sap_coulomb(struct sap_workspace *w, const struct sap_island *island,
                                     const sap_settings *settings) {
  enum { MOST_HELD = 20 };
  static const double rough = 1e-2;
  struct sap_newton_result result = {.outcome = SAP_FRICTION_LIMIT, .tree = -1};
  struct sap_stopwatch watch = sap_stopwatch_start(settings->record_history);
  struct progress before = {
      .step = {1, 0}, .best = INFINITY, .precision = sap_choose_precision(island, settings)};
  const int32_t work =
      island->scalar_end - island->scalar_begin + island->triple_end - island->triple_begin;
  sap_refresh(w, island);
  result.last = evaluate(w, island);
  if (error_of(&result.last) > settings->start_threshold) {
    sap_solve_part(w, island, settings, SAP_FRICTION_CONVEX, rough, &result);
    result.last = evaluate(w, island);
  }
  int bounded = 0;
  for (result.outcome = SAP_FRICTION_LIMIT;; ++result.iterations) {
    if (sap_interrupted(&w->lookout, work)) {
      break;
    }
    if (result.last.gradient <= sap_tolerance(w, settings, &result.last)) {
      bounded = sap_conclude(w, island, settings, &result.last);
    }
    sap_record(w, island, result.iterations, &before.step, 0, &result.last);
    sap_lap(&watch, &result.assembly_seconds);
    if (!is_finite(&result.last)) {
      result.outcome = SAP_NON_FINITE;
      break;
    }
    if (result.last.gradient < before.best) {
      before.best = result.last.gradient;
      before.held = 0;
      sap_copy(w->kept, w->v, island);
    }
    if (result.last.gradient <= sap_tolerance(w, settings, &result.last)) {
      result.outcome = SAP_CONVERGED;
      break;
    }
    if (sap_is_faint(&result.last) && sap_is_round_off(w, island, &result.last)) {
      result.outcome = SAP_CONVERGED;
      bounded = 1;
      break;
    }
    if (result.iterations >= settings->max_iterations || before.held == MOST_HELD) {
      break;
    }
    const int32_t node = find_direction(w, island, settings, &before, &watch, &result);
    if (node >= 0) {
      result.outcome = SAP_BREAKDOWN;
      result.tree = w->plan->graph.node_tree[node];
      break;
    }
    before.step = descend(w, island, &result.last);
    before.turned = 1;
    result.trials += before.step.trials;
    sap_lap(&watch, &result.line_search_seconds);
    if (before.step.alpha == 0) {
      hold_bounds(w, island, settings, &before, &result);
    }
  }
  if (result.outcome != SAP_CONVERGED) {
    sap_copy(w->v, w->kept, island);
    w->pool.friction = SAP_FRICTION_COULOMB;
    result.last = sap_verify(w, island);
    bounded = 0;
  }
  if (!bounded) {
    sap_bound_error(w, island);
  }
  result.coulomb_gradient = result.last.gradient;
  return result;
}
