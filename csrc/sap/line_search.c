#include "sap/line_search.h"

#include <float.h>
#include <math.h>

struct sap_step sap_search_exact(const struct sap_line *line, const sap_settings *settings) {
  const double flat = settings->line_search_tolerance * -line->product.slope;

  /* at alpha = 1 first: Newton's full step is where the search ends most often */
  struct sap_line_point at = sap_line_at(line, 1);
  int32_t trials = 1;
  if (fabs(at.slope) <= flat) {
    return (struct sap_step){1, trials};
  }
  double left = 0, right = 1; /* slope(left) < 0 < slope(right) */
  if (at.slope < 0) {
    const struct sap_line_point last = sap_line_at(line, settings->max_step);
    ++trials;
    if (last.slope <= 0) {
      return (struct sap_step){settings->max_step, trials};
    }
    left = 1;
    right = settings->max_step;
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
    if (fabs(at.slope) <= flat) {
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
