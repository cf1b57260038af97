#include "solver/newton/line_search.h"

#include <float.h>
#include <math.h>

#include "solver/solver_tuning.h"

/* Is the slope small enough to end the search? Short of the minimum l has fallen all the way, and a
 * looser tolerance suffices; beyond it l may have risen again, however small its slope. It has not
 * if dl/dalpha <= alpha q/2, q = dv^T A dv: then dl/dalpha at a shorter step t is at most
 * dl/dalpha(alpha) - q (alpha - t), and the integral of this bound is not positive. */
static int is_flat(const struct sap_line *line, const struct sap_line_point *at,
                   const sap_settings *settings) {
  const double short_of = settings->line_search_tolerance;
  const double falls = 0.5 * at->alpha * line->product.quadratic / -line->product.slope;
  const double beyond =
      fmin(fmax(fmin(sap_slope_beyond * short_of, falls), sap_least_slope), short_of);
  const double slope = at->slope / -line->product.slope;
  return -short_of <= slope && slope <= beyond;
}

/* The bracket of the search: slope(left) < 0 < slope(right). */
struct bracket {
  double left, right;
  double wall; /* bound on the domain of barriers; infinite until a wall is met */
  int32_t trials;
};

static int is_interrupted(const struct sap_line *line) {
  return sap_interrupted(&line->w->interrupt_check,
                         line->island->triple_end - line->island->triple_begin);
}

/* Evaluates at alpha. The slope beyond a wall is infinite. */
static struct sap_line_point evaluate(const struct sap_line *line, double alpha,
                                      struct bracket *bracket) {
  const struct sap_line_point at = sap_line_at(line, alpha);
  ++bracket->trials;
  if (at.slope == INFINITY) {
    bracket->wall = fmin(bracket->wall, sap_line_wall(line, alpha));
  }
  return at;
}

/* Returns the next step near a wall. Inside it is the root of -a + c/(wall - alpha) with the value
 * and slope of dl/dalpha at `at`: near its wall dl/dalpha of a log barrier is such a function.
 * Outside it lies well back from the wall. */
static double step_to_wall(const struct bracket *bracket, const struct sap_line_point *at) {
  if (at->slope == INFINITY) {
    const double room = bracket->wall - bracket->left;
    return bracket->left + room / (1 + room);
  }
  const double room = bracket->wall - at->alpha;
  return bracket->wall - room * (at->curvature * room) / (at->curvature * room - at->slope);
}

struct sap_step sap_search_exact(const struct sap_line *line, const sap_settings *settings) {
  struct bracket bracket = {0, 1, INFINITY, 0};
  /* the search tries alpha = 1 first, since it mostly ends at Newton's full step */
  struct sap_line_point at = evaluate(line, 1, &bracket);
  if (is_flat(line, &at, settings)) {
    return (struct sap_step){1, bracket.trials};
  }
  if (at.slope < 0) {
    /* beyond 1 the search takes one Newton step, then the longest allowed step */
    bracket.left = 1;
    bracket.right = settings->max_step;
    const double newton = 1 - at.slope / at.curvature;
    if (newton < bracket.right) {
      at = evaluate(line, newton, &bracket);
      if (is_flat(line, &at, settings)) {
        return (struct sap_step){newton, bracket.trials};
      }
      *(at.slope < 0 ? &bracket.left : &bracket.right) = newton;
    }
    if (bracket.right == settings->max_step) {
      const struct sap_line_point last = evaluate(line, bracket.right, &bracket);
      if (last.slope <= 0) {
        return (struct sap_step){bracket.right, bracket.trials};
      }
    }
  }
  double step_before = bracket.right - bracket.left;
  /* past the limit the search goes on only until a point has a lower cost (any with slope < 0). It
   * ends if the step moves nothing, because slopes are then round-off */
  while ((bracket.trials < settings->line_search_max_trials ||
          (bracket.left == 0 && sap_line_moves(line, bracket.right))) &&
         !is_interrupted(line)) {
    /* takes Newton's step from the last point, or bisects if that leaves the bracket or is slow */
    const double right = fmin(bracket.right, bracket.wall);
    const double next =
        bracket.wall < INFINITY ? step_to_wall(&bracket, &at) : at.alpha - at.slope / at.curvature;
    double step = next - at.alpha;
    if (!(next > bracket.left && next < right) || fabs(step) > 0.5 * fabs(step_before)) {
      step = bracket.left + 0.5 * (right - bracket.left) - at.alpha;
    }
    const double alpha = at.alpha + step;
    if (!(alpha > bracket.left && alpha < right)) {
      break; /* left and right are neighbouring floating-point numbers */
    }
    step_before = step;
    at = evaluate(line, alpha, &bracket);
    if (is_flat(line, &at, settings)) {
      return (struct sap_step){alpha, bracket.trials};
    }
    *(at.slope < 0 ? &bracket.left : &bracket.right) = alpha;
  }
  return (struct sap_step){bracket.left > 0 ? bracket.left : bracket.right, bracket.trials};
}

struct sap_step sap_search_backtracking(const struct sap_line *line, const sap_settings *settings) {
  double alpha = settings->max_step;
  double difference = sap_line_difference(line, alpha);
  int32_t trials = 1;
  /* past the limit the search goes on only until the cost is lower at all, and at least halves the
   * step, however close rho is to 1; below DBL_MIN rho alpha may equal alpha */
  while ((trials < settings->line_search_max_trials || !(difference < 0)) && alpha > DBL_MIN &&
         !is_interrupted(line)) {
    const int within = trials < settings->line_search_max_trials;
    const double shorter =
        (within ? settings->armijo_rho : fmin(settings->armijo_rho, 0.5)) * alpha;
    const double at_shorter = sap_line_difference(line, shorter);
    ++trials;
    if (difference < settings->armijo_c * alpha * line->product.slope && at_shorter >= difference) {
      break;
    }
    alpha = shorter;
    difference = at_shorter;
  }
  return (struct sap_step){alpha, trials};
}
