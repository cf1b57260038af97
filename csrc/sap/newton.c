#include "sap/newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "sap/line_search.h"

static void copy(double *to, const double *from, const struct sap_island *island) {
  memcpy(to + island->scalar_begin, from + island->scalar_begin,
         (size_t)(island->scalar_end - island->scalar_begin) * sizeof(double));
}

/* right side of (20). Where every island meets it with eps_r/sqrt(2), the whole problem meets it with
 * eps_r: |g|^2 <= eps^2 sum max(p^2, j^2) <= 2 eps^2 max(sum p^2, sum j^2). */
static double tolerance(const struct sap_workspace *w, const sap_settings *settings,
                        const struct sap_evaluation *now) {
  const int32_t n = w->graph.n_islands;
  return settings->absolute_tolerance / sqrt(n) +
         settings->relative_tolerance * (n > 1 ? sqrt(0.5) : 1) * now->scale;
}

static void record(struct sap_workspace *w, const struct sap_island *island, int32_t iteration,
                   struct sap_step step, double decrease, const struct sap_evaluation *now) {
  if (w->n_history < w->history_capacity) {
    w->history[w->n_history++] = (sap_iteration){
        .island = island->index,
        .iteration = iteration,
        .trials = step.trials,
        .step = step.alpha,
        .cost = now->cost,
        .decrease = decrease,
        .momentum_error = now->scale > 0 ? now->gradient / now->scale : 0,
    };
  }
}

/* adds the time since *since to *sum and moves *since; does nothing unless timing */
static void lap(int timing, double *since, double *sum) {
  if (timing) {
    const double now = sap_seconds();
    *sum += now - *since;
    *since = now;
  }
}

/* below round-off costs cannot be compared, slopes still can */
static struct sap_step search(const struct sap_line *line, struct sap_line_point start,
                              int below_roundoff, const sap_settings *settings) {
  if (settings->line_search == SAP_LINE_SEARCH_EXACT) {
    return sap_search_exact(line, start, settings);
  }
  return below_roundoff ? (struct sap_step){1, 0} : sap_search_backtracking(line, start, settings);
}

struct sap_newton_result sap_newton(struct sap_workspace *w, const struct sap_island *island,
                                    const sap_settings *settings) {
  struct sap_newton_result result = {.outcome = SAP_ITERATION_LIMIT, .tree = -1};
  const int timing = settings->record_history;
  double clock = timing ? sap_seconds() : 0;
  double smallest = INFINITY; /* |D grad| of w->best */
  struct sap_step step = {0, 0};
  double predicted = INFINITY; /* decrease that Newton's model promised for the last step */
  double decrease = 0;

  for (;; ++result.iterations) {
    result.last = sap_evaluate(w, island);
    record(w, island, result.iterations, step, decrease, &result.last);
    if (!isfinite(result.last.gradient) || !isfinite(result.last.cost)) {
      result.outcome = SAP_NON_FINITE;
      break;
    }
    /* no decrease left at machine precision, and the step full: round-off */
    const int exhausted = step.alpha >= 0.5 && predicted <= DBL_EPSILON * fabs(result.last.cost) &&
                          result.last.gradient > 0.9 * smallest;
    if (result.last.gradient < smallest) {
      smallest = result.last.gradient;
      copy(w->best, w->v, island);
    }
    if (result.last.gradient <= tolerance(w, settings, &result.last)) {
      result.outcome = SAP_CONVERGED;
      break;
    }
    if (exhausted) {
      result.outcome = SAP_STALLED;
      break;
    }
    if (result.iterations == settings->max_iterations) {
      break;
    }

    /* H dv = -grad */
    sap_assemble(w, island);
    lap(timing, &clock, &result.assembly_seconds);
    const int32_t node = sap_factor_run(&w->factor, island->index);
    if (node >= 0) {
      result.outcome = SAP_BREAKDOWN;
      result.tree = w->graph.node_tree[node];
      break;
    }
    for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
      w->dv[i] = -w->gradient[i];
    }
    sap_factor_solve(&w->factor, island->index, w->dv);
    lap(timing, &clock, &result.factor_seconds);

    /* alpha = argmin l(v + alpha dv) */
    const struct sap_line line = sap_line_make(w, island);
    const struct sap_line_point start = sap_line_at(&line, 0);
    if (!(start.slope < 0)) {
      result.outcome = SAP_STALLED;
      break;
    }
    predicted = -0.5 * start.slope;
    step = search(&line, start, predicted <= 10 * DBL_EPSILON * fabs(result.last.cost), settings);
    decrease = w->history_capacity > 0 ? -sap_line_difference(&line, step.alpha) : 0;
    result.trials += step.trials;
    for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
      w->v[i] += step.alpha * w->dv[i];
    }
    lap(timing, &clock, &result.line_search_seconds);
  }

  /* away from convergence the best iterate counts, not the last */
  if (result.outcome != SAP_CONVERGED && !(result.last.gradient <= smallest)) {
    copy(w->v, w->best, island);
    result.last = sap_evaluate(w, island);
  }
  return result;
}
