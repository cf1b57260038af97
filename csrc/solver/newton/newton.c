#include "solver/newton/newton.h"

#include <float.h>
#include <limits.h>
#include <math.h>

#include "solver/certificate/certificate.h"
#include "solver/newton/direction.h"
#include "solver/newton/feasible.h"
#include "solver/newton/iterate.h"
#include "solver/newton/line_search.h"

/* Reasons for which the iterations end. */
enum newton_end {
  GOES_ON,
  INTERRUPTED,     /* the caller asked for it */
  NOT_FINITE,      /* a cost, a norm or a slope overflowed */
  MEETS_TOLERANCE, /* (20) holds */
  IS_ROUND_OFF,    /* the gradient lies within the proved bound on its round-off */
  NO_PROGRESS,     /* the gradient falls no more, at the end of double precision */
  ITERATION_LIMIT, /* the settings allow no further iteration */
  BLOCKED,         /* walls cut too many steps short */
  BREAKDOWN,       /* H is not positive definite */
  NO_DESCENT,      /* the direction does not descend */
  N_ENDS
};

static const sap_outcome outcome_of[N_ENDS] = {
    [GOES_ON] = SAP_ITERATION_LIMIT,
    [INTERRUPTED] = SAP_ITERATION_LIMIT,
    [NOT_FINITE] = SAP_NON_FINITE,
    [MEETS_TOLERANCE] = SAP_CONVERGED,
    [IS_ROUND_OFF] = SAP_CONVERGED,
    [NO_PROGRESS] = SAP_STALLED,
    [ITERATION_LIMIT] = SAP_ITERATION_LIMIT,
    [BLOCKED] = SAP_ITERATION_LIMIT,
    [BREAKDOWN] = SAP_BREAKDOWN,
    [NO_DESCENT] = SAP_STALLED,
};

/* The iterations of one minimisation. */
struct descent {
  struct sap_workspace *w;
  const struct sap_island *island;
  const sap_settings *settings; /* friction is convex or lagged */
  struct sap_newton_result *result;
  struct sap_stopwatch watch;

  struct sap_line line;         /* along the last direction */
  struct sap_step step;         /* the step along it */
  double previous_gradient;     /* |D grad| before it, sqrt(J); 0 at the guess */
  double previous_cost;         /* l_p before it, J */
  double predicted_decrease;    /* decrease of l_p by Newton's model, J */
  double decrease;              /* decrease of l_p, J; 0 without a history */
  enum sap_precision precision; /* precision of the next factorization */

  double least_gradient; /* least |D grad| so far, sqrt(J) */
  double least_error;    /* e_m of w->best, the least so far */
  int stagnation;        /* iterations at round-off that did not reduce the gradient */
  int blocked;           /* consecutive steps that were cut short, as walls do */
  int moved;             /* 1: the first evaluation did not use the whole v */
  int bounded;           /* 1: the round-off of the last evaluation has a bound */
  int32_t raised;        /* contacts for which the start needed a larger kappa */
};

static struct descent begin(struct sap_workspace *w, const struct sap_island *island,
                            const sap_settings *settings, struct sap_newton_result *result) {
  const struct descent d = {.w = w,
                            .island = island,
                            .settings = settings,
                            .result = result,
                            .watch = sap_stopwatch_start(settings->record_history),
                            .step = {1, 0},
                            .previous_cost = INFINITY,
                            .predicted_decrease = INFINITY,
                            .precision = sap_choose_precision(island, settings),
                            .least_gradient = INFINITY,
                            .least_error = INFINITY,
                            .moved = w->plan->reduction.tree != NULL};
  sap_copy(w->best, w->v, island);
  sap_refresh(w, island);
  return d;
}

static struct sap_evaluation evaluate(const struct descent *d) {
  return sap_evaluate(d->w, d->island, d->settings->friction);
}

static int meets_tolerance(const struct descent *d) {
  const struct sap_evaluation *now = &d->result->last;
  return now->gradient <= sap_tolerance(d->w, d->settings, now);
}

/* Does Newton's own H do better, near the end? */
static int is_newtons_turn(const struct sap_evaluation *now) {
  return sap_momentum_error(now->gradient, now->scale) <= sap_primal_dual_from;
}

/* ---- an iterate ------------------------------------------------------------------------------ */

/* Moves back along the line if the round-off of v_c has carried a step out of the domain of a
 * barrier. */
static struct sap_evaluation retreat(const struct descent *d) {
  struct sap_evaluation now = {.cost = INFINITY};
  for (int power = -30; power < 0 && !isfinite(now.cost); power += 6) {
    sap_line_advance(&d->line, -ldexp(d->step.alpha, power));
    now = evaluate(d);
  }
  return now;
}

/* Leads an iterate outside of the domain of a barrier back inside. */
static void enter_domain(struct descent *d) {
  if (isfinite(d->result->last.cost) || !sap_has_rigid_core(d->island)) {
    return;
  }
  if (d->result->iterations > 0) {
    d->result->last = retreat(d);
    return;
  }
  d->raised = sap_start_inside(d->w, d->island, d->settings->friction);
  d->moved = 1;
  sap_copy(d->w->best, d->w->v, d->island);
  d->result->last = evaluate(d);
}

/* Evaluates without the round-off of the steps where the iterate may be the last one. */
static void verify_last(struct descent *d) {
  const int at_end = d->predicted_decrease <= sap_last_decrease * fabs(d->result->last.cost) ||
                     meets_tolerance(d) || sap_is_faint(&d->result->last);
  if (at_end && (d->result->iterations > 0 || d->moved)) {
    d->bounded = sap_conclude(d->w, d->island, d->settings, &d->result->last);
  }
}

static int is_finite(const struct sap_evaluation *now) {
  return isfinite(now->gradient) && isfinite(now->scale) && isfinite(now->cost);
}

/* Has the iteration come to the end of double precision? */
static int is_exhausted(struct descent *d) {
  const struct sap_evaluation *now = &d->result->last;
  const int at_round_off = d->predicted_decrease <= DBL_EPSILON * fabs(now->cost) ||
                           now->gradient <= DBL_EPSILON * now->scale ||
                           now->cost >= d->previous_cost;
  d->stagnation += at_round_off && now->gradient > sap_progress * d->least_gradient;
  return d->stagnation >= SAP_EXHAUSTED;
}

static void keep_best(struct descent *d) {
  const struct sap_evaluation *now = &d->result->last;
  const double error = sap_momentum_error(now->gradient, now->scale);
  d->least_gradient = fmin(d->least_gradient, now->gradient);
  if (error < d->least_error) {
    d->least_error = error;
    sap_copy(d->w->best, d->w->v, d->island);
  }
}

/* Evaluates the iterate, and says whether it is the last one. */
static enum newton_end visit(struct descent *d, int patience) {
  const struct sap_island *island = d->island;
  const int32_t work =
      island->scalar_end - island->scalar_begin + island->triple_end - island->triple_begin;
  struct sap_evaluation *now = &d->result->last;
  *now = evaluate(d);
  if (sap_interrupted(&d->w->interrupt_check, work)) {
    return INTERRUPTED;
  }
  enter_domain(d);
  verify_last(d);
  sap_record(d->w, island, d->result->iterations, &d->step, d->decrease, now);
  sap_lap(&d->watch, &d->result->assembly_seconds);
  if (!is_finite(now)) {
    return NOT_FINITE;
  }
  const int exhausted = is_exhausted(d);
  keep_best(d);
  if (meets_tolerance(d)) {
    return MEETS_TOLERANCE;
  }
  if (sap_is_faint(now) && sap_is_round_off(d->w, island, now)) {
    d->bounded = 1;
    return IS_ROUND_OFF;
  }
  return exhausted                                              ? NO_PROGRESS
         : d->result->iterations == d->settings->max_iterations ? ITERATION_LIMIT
         : d->blocked >= patience                               ? BLOCKED
                                                                : GOES_ON;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Is gradient^T dv < 0? The stick quadratic is not l_p, and its minimiser may lie uphill. */
static int descends(const struct descent *d) {
  return sap_dot(d->island, d->w->gradient, d->w->dv) < 0;
}

/* Solves H dv = right side by a new factorization. Returns -1, or the position of the node at which
 * H broke down. */
static int32_t solve_system(struct descent *d) {
  return sap_solve_system(d->w, d->island, &d->precision, &d->watch, d->result);
}

/* Finds the last step with the factorization of the previous iteration. Returns 0 if that is not
 * enough. After a full step another one with the same H leaves about the same share of the
 * gradient. */
static int reuse_factor(struct descent *d) {
  const struct sap_evaluation *now = &d->result->last;
  if (!(d->settings->turning && fabs(d->step.alpha - 1) < sap_reuse_step &&
        now->gradient * now->gradient <=
            sap_reuse_margin * sap_tolerance(d->w, d->settings, now) * d->previous_gradient)) {
    return 0;
  }
  sap_newton_system(d->w, d->island);
  sap_factor_solve(&d->w->plan->factor, d->island->index, d->w->dv);
  sap_lap(&d->watch, &d->result->factor_seconds);
  if (d->precision == SAP_DOUBLE || sap_is_usable(-sap_dot(d->island, d->w->gradient, d->w->dv))) {
    return 1;
  }
  d->precision = SAP_DOUBLE;
  d->result->fallbacks |= SAP_FALLBACK_DOUBLE;
  return 0;
}

/* Takes the stick start as the first direction if the guess is poor. Returns 0 otherwise, or if it
 * leads uphill. */
static int start_from_stick(struct descent *d) {
  const struct sap_evaluation *now = &d->result->last;
  if (d->settings->start != SAP_START_STICKING || d->result->iterations > 0 ||
      !(sap_momentum_error(now->gradient, now->scale) > d->settings->start_threshold)) {
    return 0;
  }
  sap_stick_system(d->w, d->island);
  if (solve_system(d) < 0 && descends(d)) {
    return 1;
  }
  evaluate(d);
  return 0;
}

/* Solves H dv = -grad, with primal-dual friction, the previous factorization or the stick start
 * where they help. Returns -1, or the position of the node at which H broke down. */
static int32_t find_direction(struct descent *d) {
  if (reuse_factor(d)) {
    return -1;
  }
  if (d->settings->turning && d->result->iterations > 0 && !is_newtons_turn(&d->result->last)) {
    sap_dual_blend(d->w, d->island, d->settings->friction);
  }
  if (start_from_stick(d)) {
    return -1;
  }
  sap_newton_system(d->w, d->island);
  return solve_system(d);
}

/* Finds alpha = argmin l(v + alpha dv). Below round-off costs cannot be compared, but slopes
 * can. */
static struct sap_step search(const struct descent *d) {
  const int below_roundoff = d->predicted_decrease <= 10 * DBL_EPSILON * fabs(d->previous_cost);
  if (d->settings->line_search == SAP_LINE_SEARCH_EXACT) {
    return sap_search_exact(&d->line, d->settings);
  }
  if (!below_roundoff) {
    return sap_search_backtracking(&d->line, d->settings);
  }
  return sap_line_at(&d->line, 1).slope < INFINITY ? (struct sap_step){1, 0}
                                                   : sap_search_exact(&d->line, d->settings);
}

static enum newton_end take_step(struct descent *d) {
  const int32_t node = find_direction(d);
  if (node >= 0) {
    d->result->tree = d->w->graph->node_tree[node];
    return BREAKDOWN;
  }
  d->line = sap_line_make(d->w, d->island, d->settings->friction);
  const double slope = d->line.product.slope;
  if (!(slope < 0)) {
    return isfinite(slope) ? NO_DESCENT : NOT_FINITE;
  }
  if (d->settings->turning) {
    sap_dual_predict(d->w, d->island, d->settings->friction);
  }
  d->predicted_decrease = -0.5 * slope;
  d->previous_gradient = d->result->last.gradient;
  d->previous_cost = d->result->last.cost;
  d->step = search(d);
  d->decrease = d->w->records.capacity > 0 ? -sap_line_difference(&d->line, d->step.alpha) : 0;
  d->blocked = d->step.alpha < sap_short_step ? d->blocked + 1 : 0;
  d->result->trials += d->step.trials;
  sap_line_advance(&d->line, d->step.alpha);
  sap_lap(&d->watch, &d->result->line_search_seconds);
  ++d->result->iterations;
  return GOES_ON;
}

/* ---- the iterations -------------------------------------------------------------------------- */

/* Concludes the minimisation. Without convergence the result is the best iterate, evaluated without
 * sums of steps. */
static void conclude(struct descent *d, enum newton_end end) {
  d->result->outcome = outcome_of[end];
  if (d->result->outcome != SAP_CONVERGED) {
    sap_copy(d->w->v, d->w->best, d->island);
    d->result->last = sap_verify(d->w, d->island, d->settings->friction);
    d->bounded = 0;
    if (d->result->outcome == SAP_STALLED && meets_tolerance(d)) {
      d->result->outcome = SAP_CONVERGED;
    }
  }
  if (!d->bounded) {
    sap_bound_error(d->w, d->island);
  }
}

/* Finds the minimiser with the present kappa. *raised is the number of contacts for which the start
 * needed a larger kappa. Gives up after `patience` consecutive steps that walls cut short. */
static struct sap_newton_result minimize(struct sap_workspace *w, const struct sap_island *island,
                                         const sap_settings *settings, int patience,
                                         int32_t *raised) {
  struct sap_newton_result result = {.tree = -1};
  struct descent d = begin(w, island, settings, &result);
  enum newton_end end = visit(&d, patience);
  while (end == GOES_ON) {
    end = take_step(&d);
    end = end == GOES_ON ? visit(&d, patience) : end;
  }
  conclude(&d, end);
  *raised = d.raised;
  return result;
}

/* ---- barriers -------------------------------------------------------------------------------- */

/* Continues the same iterations with the present kappa, as a later part. */
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
  int32_t raised;
  if (!sap_has_rigid_core(island)) {
    return minimize(w, island, settings, INT_MAX, &raised);
  }
  sap_settings rest = *settings;
  rest.max_iterations = sap_first_part(settings);
  struct sap_newton_result result = minimize(w, island, &rest, SAP_BLOCKED_STEPS, &raised);
  /* near the end round-off stops an iteration, and would do so with thicker layers too */
  const int at_end = result.outcome == SAP_CONVERGED ||
                     (result.outcome == SAP_STALLED && is_newtons_turn(&result.last));
  if ((raised == 0 && at_end) || result.iterations == settings->max_iterations) {
    return result;
  }
  /* a surface moves, or walls leave no way between them: the search continues with thicker layers,
   * as thin as each rough minimiser allows */
  raised = sap_fit_barriers(w, island, raised > 0 ? 1 : SAP_DETOUR);
  for (int k = 0; raised > 0 && k < SAP_MOST_ROUNDS; ++k) {
    rest.max_iterations = settings->max_iterations - result.iterations;
    rest.relative_tolerance = fmax(settings->relative_tolerance, sap_rough_round);
    go_on(w, island, &rest, &result);
    raised = sap_fit_barriers(w, island, 1);
  }
  rest = *settings;
  rest.max_iterations -= result.iterations;
  go_on(w, island, &rest, &result);
  return result;
}
