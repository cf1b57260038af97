#include "sap/line_search.h"

#include <float.h>
#include <math.h>

/* Short of the minimum l has fallen all the way, and any tolerance will do; beyond it l may have risen again,
 * however small its slope. */
static int is_flat(const struct sap_line *line, const struct sap_line_point *at,
                   const sap_settings *settings) {
  const double short_of = settings->line_search_tolerance;
  const double beyond = fmin(short_of, 1e-8);
  const double slope = at->slope / -line->product.slope;
  return -short_of <= slope && slope <= beyond;
}

struct sap_step sap_search_exact(const struct sap_line *line, const sap_settings *settings) {
  /* at alpha = 1 first: Newton's full step is where the search ends most often */
  struct sap_line_point at = sap_line_at(line, 1);
  int32_t trials = 1;
  if (is_flat(line, &at, settings)) {
    return (struct sap_step){1, trials};
  }
  double left = 0, right = 1; /* slope(left) < 0 < slope(right) */
  if (at.slope < 0) {
    /* beyond 1: Newton once, then as far as allowed */
    left = 1;
    right = settings->max_step;
    const double newton = 1 - at.slope / at.curvature;
    if (newton < right) {
      at = sap_line_at(line, newton);
      ++trials;
      if (is_flat(line, &at, settings)) {
        return (struct sap_step){newton, trials};
      }
      *(at.slope < 0 ? &left : &right) = newton;
    }
    if (right == settings->max_step) {
      const struct sap_line_point last = sap_line_at(line, right);
      ++trials;
      if (last.slope <= 0) {
        return (struct sap_step){right, trials};
      }
    }
  }
  double step_before = right - left;
  /* past the limit only until there is a point with a lower cost: any with slope < 0 */
  while (trials < settings->line_search_max_trials || left == 0) {
    /* Newton from the last point; bisection when that leaves the bracket or converges slowly */
    double step = -at.slope / at.curvature;
    const double newton = at.alpha + step;
    if (!(newton > left && newton < right) || fabs(step) > 0.5 * fabs(step_before)) {
      step = left + 0.5 * (right - left) - at.alpha;
    }
    const double alpha = at.alpha + step;
    if (!(alpha > left && alpha < right)) {
      break; /* left and right are neighbouring floating-point numbers */
    }
    step_before = step;
    at = sap_line_at(line, alpha);
    ++trials;
    if (is_flat(line, &at, settings)) {
      return (struct sap_step){alpha, trials};
    }
    *(at.slope < 0 ? &left : &right) = alpha;
  }
  return (struct sap_step){left > 0 ? left : right, trials};
}

struct sap_step sap_search_backtracking(const struct sap_line *line, const sap_settings *settings) {
  double alpha = settings->max_step;
  double difference = sap_line_difference(line, alpha);
  int32_t trials = 1;
  /* past the limit only until the cost is lower at all */
  while (trials < settings->line_search_max_trials || (difference >= 0 && alpha > DBL_MIN)) {
    const double shorter = settings->armijo_rho * alpha;
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
