#include "solver/newton/newton.h"

#include <float.h>
#include <limits.h>
#include <math.h>

#include "solver/certificate/certificate.h"
#include "solver/newton/direction.h"
#include "solver/newton/feasible.h"
#include "solver/newton/iterate.h"
#include "solver/newton/line_search.h"

/* below round-off costs cannot be compared, slopes still can */
static struct sap_step search(const struct sap_line *line, int below_roundoff,
                              const sap_settings *settings) {
  if (settings->line_search == SAP_LINE_SEARCH_EXACT) {
    return sap_search_exact(line, settings);
  }
  if (!below_roundoff) {
    return sap_search_backtracking(line, settings);
  }
  return sap_line_at(line, 1).slope < INFINITY ? (struct sap_step){1, 0}
                                               : sap_search_exact(line, settings);
}

/* what an iteration needs to know of those before it */
struct progress {
  struct sap_step step;
  double gradient;              /* |D grad| of the iterate before, 0 at the guess */
  double cost;                  /* of the iterate before */
  double predicted;             /* decrease that Newton's model promised for the last step */
  double decrease;              /* decrease that the last step brought */
  double smallest;              /* |D grad| of all iterates, the smallest */
  double best;                  /* e_m of w->best, the least so far */
  int idle;                     /* iterations at round-off that did not reduce the gradient */
  int blocked;                  /* steps without a break that were cut short, as walls do */
  enum sap_precision precision; /* of the next factorization */
};

/* gradient^T dv < 0? The sticking quadratic is not l_p: its minimiser may lie uphill. */
static int descends(const struct sap_workspace *w, const struct sap_island *island) {
  return sap_dot(island, w->gradient, w->dv) < 0;
}

/* Does Newton's own H do better, near the end? */
static int is_newtons_turn(const struct sap_evaluation *now) {
  return sap_momentum_error(now->gradient, now->scale) <= 0.01;
}

/* Will the factorization of the iteration before do for the last step? After a full step another
 * one by the same H leaves about the same share of the gradient. */
static int factor_suffices(const struct progress *before, double gradient, double tolerance) {
  return fabs(before->step.alpha - 1) < 0.1 &&
         gradient * gradient <= 0.5 * tolerance * before->gradient;
}

/* H dv = -grad, with primal-dual friction, the factorization of before or the sticking start where
 * they help */
static int32_t find_direction(struct sap_workspace *w, const struct sap_island *island,
                              const sap_settings *settings, struct progress *before,
                              struct sap_stopwatch *watch, struct sap_newton_result *result) {
  const struct sap_evaluation *now = &result->last;
  const int first = result->iterations == 0;
  if (settings->turning &&
      factor_suffices(before, now->gradient, sap_tolerance(w, settings, now))) {
    sap_newton_system(w, island);
    sap_factor_solve(&w->plan->factor, island->index, w->dv);
    sap_lap(watch, &result->factor_seconds);
    if (before->precision == SAP_DOUBLE || sap_is_usable(-sap_dot(island, w->gradient, w->dv))) {
      return -1;
    }
    before->precision = SAP_DOUBLE;
    result->fallbacks |= SAP_FALLBACK_DOUBLE;
  }
  if (settings->turning && !first && !is_newtons_turn(now)) {
    sap_dual_blend(w, island);
  }
  if (settings->start == SAP_START_STICKING && first &&
      sap_momentum_error(now->gradient, now->scale) > settings->start_threshold) {
    sap_sticking_system(w, island);
    if (sap_solve_system(w, island, &before->precision, watch, result) < 0 && descends(w, island)) {
      return -1;
    }
    sap_evaluate(w, island);
  }
  sap_newton_system(w, island);
  return sap_solve_system(w, island, &before->precision, watch, result);
}

/* has the iteration come to the end of double precision? */
static int exhausted(struct progress *before, const struct sap_evaluation *now) {
  const int at_round_off = before->predicted <= DBL_EPSILON * fabs(now->cost) ||
                           now->gradient <= DBL_EPSILON * now->scale || now->cost >= before->cost;
  before->idle += at_round_off && now->gradient > 0.9 * before->smallest;
  return before->idle >= 3;
}

/* Back along the line where the round-off of v_c has carried a step out of the domain of a
 * barrier */
static struct sap_evaluation retreat(struct sap_workspace *w, const struct sap_island *island,
                                     const struct sap_line *line, double alpha) {
  struct sap_evaluation now = {.cost = INFINITY};
  for (int power = -30; power < 0 && !isfinite(now.cost); power += 6) {
    sap_line_advance(line, -ldexp(alpha, power));
    now = sap_evaluate(w, island);
  }
  return now;
}

/* The minimiser with the present kappa; *raised: how many of them the start needed larger than they
 * should be. Gives up after `patience` steps without a break that were cut short. */
static struct sap_newton_result minimize(struct sap_workspace *w, const struct sap_island *island,
                                         const sap_settings *settings, int patience,
                                         int32_t *raised) {
  static const double short_step = 0.05;
  struct sap_newton_result result = {.outcome = SAP_ITERATION_LIMIT, .tree = -1};
  struct sap_stopwatch watch = sap_stopwatch_start(settings->record_history);
  struct progress before = {.step = {1, 0},
                            .cost = INFINITY,
                            .predicted = INFINITY,
                            .smallest = INFINITY,
                            .best = INFINITY,
                            .precision = sap_choose_precision(island, settings)};
  struct sap_line line = {0};
  sap_copy(w->best, w->v, island);
  sap_refresh(w, island);
  int moved = w->plan->reduction.tree != NULL; /* are velocities other than formed from v? */
  int bounded = 0;
  *raised = 0;
  const int32_t work =
      island->scalar_end - island->scalar_begin + island->triple_end - island->triple_begin;
  for (;; ++result.iterations) {
    result.last = sap_evaluate(w, island);
    if (sap_interrupted(&w->lookout, work)) {
      break;
    }
    if (!isfinite(result.last.cost) && sap_has_barrier(island)) {
      if (result.iterations == 0) {
        *raised = sap_start_inside(w, island);
        moved = 1;
        sap_copy(w->best, w->v, island);
        result.last = sap_evaluate(w, island);
      } else {
        result.last = retreat(w, island, &line, before.step.alpha);
      }
    }
    const int at_end = before.predicted <= 1e-13 * fabs(result.last.cost) ||
                       result.last.gradient <= sap_tolerance(w, settings, &result.last) ||
                       sap_is_faint(&result.last);
    if (at_end && (result.iterations > 0 || moved)) {
      bounded = sap_conclude(w, island, settings, &result.last);
    }
    sap_record(w, island, result.iterations, &before.step, before.decrease, &result.last);
    sap_lap(&watch, &result.assembly_seconds);
    if (!isfinite(result.last.gradient) || !isfinite(result.last.scale) ||
        !isfinite(result.last.cost)) {
      result.outcome = SAP_NON_FINITE;
      break;
    }
    const int stalled = exhausted(&before, &result.last);
    before.smallest = fmin(before.smallest, result.last.gradient);
    const double error = sap_momentum_error(result.last.gradient, result.last.scale);
    if (error < before.best) {
      before.best = error;
      sap_copy(w->best, w->v, island);
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
    if (stalled) {
      result.outcome = SAP_STALLED;
      break;
    }
    if (result.iterations == settings->max_iterations || before.blocked >= patience) {
      break;
    }

    /* H dv = -grad */
    const int32_t node = find_direction(w, island, settings, &before, &watch, &result);
    if (node >= 0) {
      result.outcome = SAP_BREAKDOWN;
      result.tree = w->plan->graph.node_tree[node];
      break;
    }

    /* alpha = argmin l(v + alpha dv) */
    line = sap_line_make(w, island);
    if (!(line.product.slope < 0)) {
      result.outcome = isfinite(line.product.slope) ? SAP_STALLED : SAP_NON_FINITE;
      break;
    }
    if (settings->turning) {
      sap_dual_predict(w, island);
    }
    before.predicted = -0.5 * line.product.slope;
    before.gradient = result.last.gradient;
    before.cost = result.last.cost;
    before.step = search(&line, before.predicted <= 10 * DBL_EPSILON * fabs(before.cost), settings);
    before.decrease = w->records.capacity > 0 ? -sap_line_difference(&line, before.step.alpha) : 0;
    before.blocked = before.step.alpha < short_step ? before.blocked + 1 : 0;
    result.trials += before.step.trials;
    sap_line_advance(&line, before.step.alpha);
    sap_lap(&watch, &result.line_search_seconds);
  }

  /* away from convergence the best iterate counts, not the last, and nothing that steps have summed
   * up */
  if (result.outcome != SAP_CONVERGED) {
    sap_copy(w->v, w->best, island);
    result.last = sap_verify(w, island);
    bounded = 0;
    if (result.outcome == SAP_STALLED &&
        result.last.gradient <= sap_tolerance(w, settings, &result.last)) {
      result.outcome = SAP_CONVERGED;
    }
  }
  if (!bounded) {
    sap_bound_error(w, island);
  }
  return result;
}

/* a later part of the same iterations, with the present kappa */
static void go_on(struct sap_workspace *w, const struct sap_island *island,
                  const sap_settings *settings, struct sap_newton_result *sum) {
  int32_t raised;
  w->records.before = sum->iterations;
  struct sap_newton_result part = minimize(w, island, settings, INT_MAX, &raised);
  part.iterations += sum->iterations;
  part.trials += sum->trials;
  part.assembly_seconds += sum->assembly_seconds;
  part.factor_seconds += sum->factor_seconds;
  part.line_search_seconds += sum->line_search_seconds;
  *sum = part;
}

struct sap_newton_result sap_newton(struct sap_workspace *w, const struct sap_island *island,
                                    const sap_settings *settings) {
  enum { DETOUR = 16, PATIENCE = 5 };
  int32_t raised;
  if (!sap_has_barrier(island)) {
    return minimize(w, island, settings, INT_MAX, &raised);
  }
  sap_settings rest = *settings;
  rest.max_iterations = sap_first_part(settings);
  struct sap_newton_result result = minimize(w, island, &rest, PATIENCE, &raised);
  /* near the end it is round-off that stops an iteration, and would with thicker layers too */
  const int at_end = result.outcome == SAP_CONVERGED ||
                     (result.outcome == SAP_STALLED && is_newtons_turn(&result.last));
  if ((raised == 0 && at_end) || result.iterations == settings->max_iterations) {
    return result;
  }
  /* a surface that moves, or walls so close that there is no way between them: on with thicker
   * layers, which are made as thin as each rough minimiser allows */
  raised = sap_fit_barriers(w, island, raised > 0 ? 1 : DETOUR);
  for (int k = 0; raised > 0 && k < SAP_MOST_ROUNDS; ++k) {
    rest.max_iterations = settings->max_iterations - result.iterations;
    rest.relative_tolerance = fmax(settings->relative_tolerance, 1e-2);
    go_on(w, island, &rest, &result);
    raised = sap_fit_barriers(w, island, 1);
  }
  rest = *settings;
  rest.max_iterations -= result.iterations;
  go_on(w, island, &rest, &result);
  return result;
}
