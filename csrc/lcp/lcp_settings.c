#include <math.h>

#include "base/fail.h"

lcp_settings lcp_settings_default(void) {
  return (lcp_settings){
      .method = LCP_LEMKE,
      .tolerance = 1e-9,
      .max_pivots = 0,
      .least_index_after = 0,
      .regularization_first = 0,
      .regularization_factor = 1e4,
      .regularization_last = 1,
  };
}

sap_status lcp_settings_check(const lcp_settings *s, sap_error *error) {
  const struct sap_scalar_rule rules[] = {
      {"method", s->method, s->method >= LCP_LEMKE && s->method <= LCP_AUTO,
       "must be an lcp_method"},
      {"tolerance", s->tolerance, s->tolerance > 0 && s->tolerance < 1, "must be in (0, 1)"},
      {"max_pivots", s->max_pivots, s->max_pivots >= 0, "must be >= 0"},
      {"least_index_after", s->least_index_after, s->least_index_after >= 0, "must be >= 0"},
      {"regularization_first", s->regularization_first,
       s->regularization_first >= 0 && isfinite(s->regularization_first),
       "must be finite and >= 0"},
      {"regularization_factor", s->regularization_factor,
       s->regularization_factor > 1 && isfinite(s->regularization_factor),
       "must be finite and > 1"},
      {"regularization_last", s->regularization_last,
       s->regularization_last >= s->regularization_first && isfinite(s->regularization_last),
       "must be finite and >= regularization_first"},
  };
  return sap_check_rules(rules, sizeof rules / sizeof *rules, error);
}

static const char *const outcome_text[] = {
    "solved", "ray", "infeasible", "iteration_limit", "singular", "inaccurate", "non_finite",
};
_Static_assert(sizeof outcome_text / sizeof *outcome_text == LCP_NON_FINITE + 1,
               "one text per outcome");

const char *lcp_outcome_text(lcp_outcome outcome) {
  return outcome <= LCP_NON_FINITE ? outcome_text[outcome] : "unknown outcome";
}
