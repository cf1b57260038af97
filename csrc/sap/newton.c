#include "sap/newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "sap/direction.h"
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
        .step = iteration > 0 ? step.alpha : 0,
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
static struct sap_step search(const struct sap_line *line, int below_roundoff,
                              const sap_settings *settings) {
  if (settings->line_search == SAP_LINE_SEARCH_EXACT) {
    return sap_search_exact(line, settings);
  }
  return below_roundoff ? (struct sap_step){1, 0} : sap_search_backtracking(line, settings);
}

/* the direction at an iterate, with the extra curvature or the sticking start where they help */
static int32_t find_direction(struct sap_workspace *w, const struct sap_island *island,
                              const sap_settings *settings, const struct sap_newton_result *result,
                              double shortest_step, double last_step) {
  const double e_m = result->last.gradient / result->last.scale;
  if (settings->turning) {
    if (result->iterations == 0) {
      sap_turn_reset(w, island);
    }
    sap_turn_follow(w, island, shortest_step < 0.5 && last_step < 0.95 && e_m > 0.01);
  }
  if (settings->start == SAP_START_STICKING && result->iterations == 0 &&
      e_m > settings->start_threshold) {
    const int32_t node = sap_sticking_direction(w, island);
    double slope = 0; /* the quadratic is not l_p: its minimiser may lie uphill */
    for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
      slope += w->gradient[i] * w->dv[i];
    }
    if (node >= 0 || slope < 0) {
      return node;
    }
    sap_evaluate(w, island);
  }
  return sap_newton_direction(w, island);
}

struct sap_newton_result sap_newton(struct sap_workspace *w, const struct sap_island *island,
                                    const sap_settings *settings) {
  struct sap_newton_result result = {.outcome = SAP_ITERATION_LIMIT, .tree = -1};
  const int timing = settings->record_history;
  double clock = timing ? sap_seconds() : 0;
  double smallest = INFINITY; /* |D grad| of w->best */
  struct sap_step step = {1, 0};
  double shortest_step = 1;
  double predicted = INFINITY; /* decrease that Newton's model promised for the last step */
  double decrease = 0;
  int idle = 0; /* iterations below round-off that did not reduce the gradient */

  copy(w->best, w->v, island);
  sap_refresh(w, island);
  for (;; ++result.iterations) {
    result.last = sap_evaluate(w, island);
    /* near the end velocities are formed anew from v: their sum of steps has gathered round-off */
    if (result.iterations > 0 && (predicted <= 1e-8 * fabs(result.last.cost) ||
                                  result.last.gradient <= tolerance(w, settings, &result.last))) {
      sap_refresh(w, island);
      result.last = sap_evaluate(w, island);
    }
    record(w, island, result.iterations, step, decrease, &result.last);
    lap(timing, &clock, &result.assembly_seconds);
    if (!isfinite(result.last.gradient) || !isfinite(result.last.cost)) {
      result.outcome = SAP_NON_FINITE;
      break;
    }
    idle += (predicted <= DBL_EPSILON * fabs(result.last.cost) ||
             result.last.gradient <= DBL_EPSILON * result.last.scale) &&
            result.last.gradient > 0.9 * smallest;
    if (result.last.gradient < smallest) {
      smallest = result.last.gradient;
      copy(w->best, w->v, island);
    }
    if (result.last.gradient <= tolerance(w, settings, &result.last)) {
      result.outcome = SAP_CONVERGED;
      break;
    }
    if (idle == 3) {
      result.outcome = SAP_STALLED;
      break;
    }
    if (result.iterations == settings->max_iterations) {
      break;
    }

    /* H dv = -grad */
    const int32_t node = find_direction(w, island, settings, &result, shortest_step, step.alpha);
    lap(timing, &clock, &result.factor_seconds);
    if (node >= 0) {
      result.outcome = SAP_BREAKDOWN;
      result.tree = w->graph.node_tree[node];
      break;
    }

    /* alpha = argmin l(v + alpha dv) */
    const struct sap_line line = sap_line_make(w, island);
    if (!(line.slope < 0)) {
      result.outcome = SAP_STALLED;
      break;
    }
    predicted = -0.5 * line.slope;
    step = search(&line, predicted <= 10 * DBL_EPSILON * fabs(result.last.cost), settings);
    shortest_step = fmin(shortest_step, step.alpha);
    decrease = w->history_capacity > 0 ? -sap_line_difference(&line, step.alpha) : 0;
    result.trials += step.trials;
    sap_line_advance(&line, step.alpha);
    lap(timing, &clock, &result.line_search_seconds);
  }

  /* away from convergence the best iterate counts, not the last, and nothing that steps have summed up */
  if (result.outcome != SAP_CONVERGED) {
    copy(w->v, w->best, island);
    sap_refresh(w, island);
    result.last = sap_evaluate(w, island);
  }
  return result;
}
