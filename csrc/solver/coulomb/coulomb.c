#include "solver/coulomb/coulomb.h"

#include <math.h>

#include "solver/certificate/certificate.h"
#include "solver/newton/direction.h"
#include "solver/newton/iterate.h"
#include "solver/coulomb/disputes.h"
#include "solver/coulomb/part.h"
#include "solver/coulomb/reversals.h"
#include "solver/solver_tuning.h"

/* Reasons for the end of the search. */
enum search_end {
  GOES_ON,
  INTERRUPTED,     /* the caller asked for it */
  NOT_FINITE,      /* a cost or a norm overflowed */
  MEETS_TOLERANCE, /* (20) holds */
  IS_ROUND_OFF,    /* the residual lies within the proved bound on its round-off */
  NO_PROGRESS,     /* a fixed-point step brought no less than round-off */
  ITERATION_LIMIT, /* the settings allow no further iteration */
  LEADS_NOWHERE,   /* fixed-point steps bring nothing */
  BREAKDOWN,       /* H is not positive definite */
  N_ENDS
};

static const sap_outcome outcome_of[N_ENDS] = {
    [GOES_ON] = SAP_FRICTION_LIMIT,
    [INTERRUPTED] = SAP_FRICTION_LIMIT,
    [NOT_FINITE] = SAP_NON_FINITE,
    [MEETS_TOLERANCE] = SAP_CONVERGED,
    [IS_ROUND_OFF] = SAP_CONVERGED,
    [NO_PROGRESS] = SAP_STALLED,
    [ITERATION_LIMIT] = SAP_FRICTION_LIMIT,
    [LEADS_NOWHERE] = SAP_FRICTION_LIMIT,
    [BREAKDOWN] = SAP_BREAKDOWN,
};

/* The memory of an iteration. */
struct progress {
  struct sap_step step;
  double best;           /* least e_c so far, at the best iterate w->best_v */
  double best_norm;      /* |D r| at the best iterate, sqrt(J) */
  double reference_norm; /* |D r| at its last decrease by a tenth, sqrt(J) */
  int stagnation;        /* iterations since then; SAP_STAGNATION if further ones bring nothing */
  int fixed_point_steps; /* fixed-point steps in a row */
  int bounded;           /* 1: the round-off of the last evaluation has a bound */
  int predicts;          /* 1: the last direction gives a prediction for the next one */
  double norm_before;    /* |D r| before the last step, sqrt(J); 0 before the first one */
  double norm_earlier;   /* |D r| before the step ahead of that one, sqrt(J) */
  enum sap_factor_kind kind; /* kind of the last factorization */
  int reuses;                /* 1: the last direction is from an earlier factorization */
  int was_refused;           /* 1: the last step did not lower |D r| by a tenth */
};

static double error_of(const struct sap_evaluation *now) {
  return sap_momentum_error(now->gradient, now->scale);
}

static struct sap_evaluation evaluate(struct sap_workspace *w, const struct sap_island *island) {
  return sap_evaluate(w, island, SAP_FRICTION_COULOMB);
}

/* Is the previous factorization enough for the last step, as in newton.c? */
static int factor_suffices(const struct progress *before, double gradient, double tolerance) {
  return before->predicts && before->step.alpha == 1 &&
         gradient * gradient <= sap_reuse_margin * tolerance * before->norm_before;
}

/* Solves H dv = -r, and makes the line along dv. Returns -1, or the position of the node at which
 * A + J^T G J broke down. */
static int32_t find_direction(struct sap_workspace *w, const struct sap_island *island,
                              const sap_settings *settings, struct progress *before,
                              struct sap_stopwatch *watch, struct sap_newton_result *result,
                              struct sap_line *line) {
  before->reuses = settings->turning && factor_suffices(before, result->last.gradient,
                                                        sap_tolerance(w, settings, &result->last));
  if (before->reuses) {
    sap_newton_system(w, island);
    sap_direction_solve(w, island, before->kind, w->dv);
    sap_lap(watch, &result->factor_seconds);
    *line = sap_line_make(w, island, SAP_FRICTION_COULOMB);
    return -1;
  }
  sap_newton_system(w, island);
  if (settings->turning && before->predicts && error_of(&result->last) > sap_primal_dual_from) {
    sap_dual_blend(w, island, SAP_FRICTION_COULOMB);
    sap_stick_reversed(w, island, w->dv);
  }
  return sap_unsymmetric_direction(w, island, watch, result, &before->kind, line);
}

/* Takes the full step, or where that is not the solution one of the steps with contacts in dispute:
 * the best, or the last without progress. |D r| may rise: contacts that have to leap to other
 * impulses raise it first. */
static struct sap_step advance(struct sap_workspace *w, const struct sap_island *island,
                               const sap_settings *settings, const struct sap_line *line,
                               struct progress *before, struct sap_evaluation *now) {
  const double gradient = now->gradient;
  const int refused = before->was_refused;
  const struct sap_dispute_effort effort = {
      .share = refused ? SAP_DISPUTED_AFTER_REFUSAL : SAP_DISPUTED,
      .rounds = refused ? SAP_MORE_DISPUTE_ROUNDS : SAP_DISPUTE_ROUNDS,
      .enough = sap_full_step_share * gradient,
      .thorough = refused,
      .leaps = before->stagnation >= SAP_STUCK};
  sap_dual_predict(w, island, SAP_FRICTION_COULOMB);
  sap_iterate_save(w, island, &w->coulomb.start);
  if (!before->reuses) {
    sap_keep_slope(w, island, 1);
  }
  sap_keep_origin(w, island);
  sap_line_advance(line, 1);
  *now = evaluate(w, island);
  struct sap_step step = {1, 1};
  step.trials += sap_settle_disputes(w, island, settings, before->kind, &effort, now);
  before->was_refused = !(now->gradient <= sap_full_step_share * gradient);
  if (!(error_of(now) < INFINITY)) {
    sap_iterate_restore(w, island, &w->coulomb.start);
    *now = evaluate(w, island);
    step = (struct sap_step){0, step.trials + 1};
  }
  return step;
}

/* Takes the stick start as the first step if the guess is poor: the full step to the minimiser of
 * the quadratic with every touching contact sticking. Returns 0 if it is not taken. */
static int start_from_stick(struct sap_workspace *w, const struct sap_island *island,
                            const sap_settings *settings, struct progress *before,
                            struct sap_stopwatch *watch, struct sap_newton_result *result) {
  if (result->iterations > 0 || settings->start != SAP_START_STICKING ||
      error_of(&result->last) <= fmax(settings->start_threshold, sap_fair_guess)) {
    return 0;
  }
  enum sap_precision precision = SAP_DOUBLE;
  sap_stick_system(w, island);
  if (sap_solve_system(w, island, &precision, watch, result) >= 0) {
    result->last = evaluate(w, island);
    return 0;
  }
  before->kind = SAP_FACTOR_CHOLESKY;
  const struct sap_line line = sap_line_make(w, island, SAP_FRICTION_COULOMB);
  sap_dual_predict(w, island, SAP_FRICTION_CONVEX); /* sticking contacts are not coupled */
  sap_iterate_save(w, island, &w->coulomb.start);
  sap_keep_slope(w, island, 0);
  sap_keep_origin(w, island);
  sap_line_advance(&line, 1);
  result->last = evaluate(w, island);
  const struct sap_dispute_effort effort = {
      .share = SAP_DISPUTED, .rounds = SAP_MORE_DISPUTE_ROUNDS, .enough = INFINITY};
  const int32_t trials =
      1 + sap_settle_disputes(w, island, settings, before->kind, &effort, &result->last);
  before->step = (struct sap_step){1, trials};
  return 1;
}

/* Does the search stay at an iterate, or alternate between two? */
static int repeats(const struct progress *before, double gradient) {
  const double change =
      fmin(fabs(gradient - before->norm_before), fabs(gradient - before->norm_earlier));
  return change <= sap_same_norm * gradient;
}

/* Updates the progress after an iteration that led to this |D r|. */
static void note(struct progress *before, double gradient) {
  const int falls = gradient < sap_progress * before->reference_norm,
            leads_up = !(before->step.alpha > 0);
  before->reference_norm = falls ? gradient : before->reference_norm;
  before->stagnation = leads_up || repeats(before, gradient) ? SAP_STAGNATION
                       : falls                               ? 0
                                                             : before->stagnation + 1;
  before->fixed_point_steps = falls ? 0 : before->fixed_point_steps;
}

/* Takes a fixed-point step: one convex solve whose bounds are those of the iterate, or of the
 * result of the last such step if iterations from there brought nothing. The search continues from
 * its result. */
static void take_fixed_point_step(struct sap_workspace *w, const struct sap_island *island,
                                  const sap_settings *settings, struct progress *before,
                                  struct sap_newton_result *result) {
  if (before->fixed_point_steps > 0) {
    sap_copy(w->v, w->held_v, island);
    sap_refresh(w, island);
    result->last = evaluate(w, island);
  }
  const double tolerance = sap_fixed_point_share * error_of(&result->last);
  sap_solve_part(w, island, settings, SAP_FRICTION_LAGGED, tolerance, result);
  sap_copy(w->held_v, w->v, island);
  result->fallbacks |= SAP_FALLBACK_BOUNDS_HELD;
  result->last = evaluate(w, island);
  result->tree = -1;
  before->predicts = 0;
  before->stagnation = SAP_STAGNATION - SAP_TRIAL_ITERATIONS;
  before->norm_before = 0;
  before->step = (struct sap_step){0};
  ++before->fixed_point_steps;
}

/* Saves the iterate if it is the best, and returns whether it is the last one. */
static enum search_end visit(struct sap_workspace *w, const struct sap_island *island,
                             const sap_settings *settings, struct progress *before,
                             struct sap_newton_result *result) {
  struct sap_evaluation *now = &result->last;
  if (now->gradient <= sap_tolerance(w, settings, now)) {
    before->bounded = sap_conclude(w, island, settings, now);
  }
  sap_record(w, island, result->iterations, &before->step, 0, now);
  if (!(isfinite(now->gradient) && isfinite(now->scale) && isfinite(now->cost))) {
    return NOT_FINITE;
  }
  if (error_of(now) < before->best) {
    before->best = error_of(now);
    before->best_norm = now->gradient;
    sap_copy(w->best_v, w->v, island);
  }
  if (now->gradient <= sap_tolerance(w, settings, now)) {
    return MEETS_TOLERANCE;
  }
  if (sap_is_faint(now) && sap_is_round_off(w, island, now)) {
    before->bounded = 1;
    return IS_ROUND_OFF;
  }
  if (result->iterations == settings->max_iterations) {
    return ITERATION_LIMIT;
  }
  return before->fixed_point_steps == SAP_MOST_FIXED_POINT_STEPS ? LEADS_NOWHERE : GOES_ON;
}

/* Concludes the search. Without convergence the result is the best iterate, evaluated again. */
static void conclude(struct sap_workspace *w, const struct sap_island *island,
                     const sap_settings *settings, const struct progress *before,
                     enum search_end end, struct sap_newton_result *result) {
  result->outcome = outcome_of[end];
  if (result->outcome != SAP_CONVERGED) {
    sap_copy(w->v, w->best_v, island);
    result->last = sap_verify(w, island, SAP_FRICTION_COULOMB);
  }
  if (result->outcome == SAP_STALLED &&
      result->last.gradient <= sap_tolerance(w, settings, &result->last)) {
    result->outcome = SAP_CONVERGED;
  } else if (result->outcome == SAP_CONVERGED && before->bounded) {
    return;
  }
  sap_bound_error(w, island);
}

/* Takes one iteration: the stick start, or Newton's step. */
static enum search_end take_step(struct sap_workspace *w, const struct sap_island *island,
                                 const sap_settings *settings, struct progress *before,
                                 struct sap_stopwatch *watch, struct sap_newton_result *result) {
  const double gradient = result->last.gradient;
  if (!start_from_stick(w, island, settings, before, watch, result)) {
    struct sap_line line;
    const int32_t node = find_direction(w, island, settings, before, watch, result, &line);
    if (node >= 0) {
      result->tree = w->graph->node_tree[node];
      return BREAKDOWN;
    }
    before->step = advance(w, island, settings, &line, before, &result->last);
  }
  before->predicts = 1;
  before->norm_earlier = before->norm_before;
  before->norm_before = gradient;
  result->trials += before->step.trials;
  ++result->iterations;
  sap_lap(watch, &result->line_search_seconds);
  note(before, result->last.gradient);
  return GOES_ON;
}

/* Takes a step, or a fixed-point step if steps make too little progress. */
static enum search_end go_on(struct sap_workspace *w, const struct sap_island *island,
                             const sap_settings *settings, struct progress *before,
                             struct sap_stopwatch *watch, struct sap_newton_result *result) {
  sap_lap(watch, &result->assembly_seconds);
  if (before->stagnation < SAP_STAGNATION) {
    return take_step(w, island, settings, before, watch, result);
  }
  if (before->fixed_point_steps > 0 && before->best_norm <= sap_bound_error(w, island)) {
    return NO_PROGRESS;
  }
  take_fixed_point_step(w, island, settings, before, result);
  *watch = sap_stopwatch_start(settings->record_history);
  return GOES_ON;
}

struct sap_newton_result sap_coulomb(struct sap_workspace *w, const struct sap_island *island,
                                     const sap_settings *settings) {
  struct sap_newton_result result = {.tree = -1};
  struct progress before = {.best = INFINITY, .best_norm = INFINITY, .reference_norm = INFINITY};
  const int32_t work =
      island->scalar_end - island->scalar_begin + island->triple_end - island->triple_begin;
  sap_refresh(w, island);
  sap_find_weights(w, island);
  result.last = evaluate(w, island);
  sap_copy(w->best_v, w->v, island);
  struct sap_stopwatch watch = sap_stopwatch_start(settings->record_history);
  enum search_end end = GOES_ON;
  while (end == GOES_ON) {
    end = sap_interrupted(&w->interrupt_check, work) ? INTERRUPTED
                                                     : visit(w, island, settings, &before, &result);
    end = end == GOES_ON ? go_on(w, island, settings, &before, &watch, &result) : end;
  }
  conclude(w, island, settings, &before, end, &result);
  result.coulomb_gradient = result.last.gradient;
  return result;
}
