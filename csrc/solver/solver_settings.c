#include <math.h>

#include "base/fail.h"
#include "base/threads.h"
#include "sapwood.h"

sap_settings sap_settings_default(void) {
  return (sap_settings){
      .relative_tolerance = 1e-6,
      .absolute_tolerance = 1e-16,
      .natural_tolerance = 1e-9,
      .max_iterations = 1000,
      .line_search = SAP_LINE_SEARCH_EXACT,
      .line_search_tolerance = 0.01,
      .line_search_max_trials = 50,
      .max_step = 1.5,
      .armijo_rho = 0.8,
      .armijo_c = 1e-4,
      .start = SAP_START_STICKING,
      .start_threshold = 0.05,
      .turning = 1,
      .mixed_precision = 1,
      .friction = SAP_FRICTION_CONVEX,
      .soft_norm = 0,
      .islands = 1,
      .record_history = 0,
      .threads = 1,
  };
}

sap_status sap_settings_check(const sap_settings *s, sap_error *error) {
  const struct sap_scalar_rule rules[] = {
      {"relative_tolerance", s->relative_tolerance,
       s->relative_tolerance >= 0 && s->relative_tolerance < 1, "must be in [0, 1)"},
      {"absolute_tolerance", s->absolute_tolerance,
       s->absolute_tolerance >= 0 && isfinite(s->absolute_tolerance), "must be finite and >= 0"},
      {"natural_tolerance", s->natural_tolerance,
       s->natural_tolerance >= 0 && s->natural_tolerance < 1, "must be in [0, 1)"},
      {"max_iterations", s->max_iterations, s->max_iterations >= 0 && s->max_iterations <= 1000000,
       "must be from 0 to 1000000"},
      {"line_search", s->line_search,
       s->line_search == SAP_LINE_SEARCH_EXACT || s->line_search == SAP_LINE_SEARCH_BACKTRACKING,
       "must be a sap_line_search"},
      {"line_search_tolerance", s->line_search_tolerance,
       s->line_search_tolerance >= 0 && s->line_search_tolerance < 1, "must be in [0, 1)"},
      {"line_search_max_trials", s->line_search_max_trials,
       s->line_search_max_trials >= 1 && s->line_search_max_trials <= 1000000,
       "must be from 1 to 1000000"},
      {"max_step", s->max_step, s->max_step >= 1 && isfinite(s->max_step),
       "must be finite and >= 1"},
      {"armijo_rho", s->armijo_rho, s->armijo_rho > 0 && s->armijo_rho < 1, "must be in (0, 1)"},
      {"armijo_c", s->armijo_c, s->armijo_c > 0 && s->armijo_c < 0.5, "must be in (0, 0.5)"},
      {"start", s->start, s->start == SAP_START_NEWTON || s->start == SAP_START_STICKING,
       "must be a sap_start"},
      {"start_threshold", s->start_threshold, s->start_threshold >= 0, "must be >= 0"},
      {"turning", s->turning, s->turning == 0 || s->turning == 1, "must be 0 or 1"},
      {"mixed_precision", s->mixed_precision, s->mixed_precision == 0 || s->mixed_precision == 1,
       "must be 0 or 1"},
      {"friction", s->friction,
       s->friction >= SAP_FRICTION_CONVEX && s->friction <= SAP_FRICTION_COULOMB,
       "must be a sap_friction"},
      {"soft_norm", s->soft_norm, s->soft_norm >= 0 && isfinite(s->soft_norm),
       "must be finite and >= 0"},
      {"islands", s->islands, s->islands == 0 || s->islands == 1, "must be 0 or 1"},
      {"record_history", s->record_history, s->record_history == 0 || s->record_history == 1,
       "must be 0 or 1"},
      {"threads", s->threads, s->threads >= 1 && s->threads <= SAP_MOST_THREADS,
       "must be from 1 to 256"},
  };
  return sap_check_rules(rules, sizeof rules / sizeof *rules, error);
}
