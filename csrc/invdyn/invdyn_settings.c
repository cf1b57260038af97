#include <math.h>

#include "base/fail.h"
#include "sapwood/invdyn.h"

invdyn_settings invdyn_settings_default(void) {
  return (invdyn_settings){
      .controller = INVDYN_QP_COULOMB,
      .stage_one = INVDYN_CONTACT_CONSISTENT,
      .edges = 4,
      .nearest = 1,
      .smoothing = 1e-2,
      .rank_tolerance = 1e-3,
  };
}

sap_status invdyn_settings_check(const invdyn_settings *s, sap_error *error) {
  static const char weight[] = "must be finite and >= 0";
  const struct sap_scalar_rule rules[] = {
      {"controller", s->controller,
       s->controller >= INVDYN_LCP_NOSLIP && s->controller <= INVDYN_LCP_NEAREST,
       "must be a controller"},
      {"stage_one", s->stage_one,
       s->stage_one >= INVDYN_CONTACT_CONSISTENT && s->stage_one <= INVDYN_PAPER,
       "must be a form of Stage I"},
      {"edges", s->edges, s->edges >= 4 && s->edges <= 1024 && s->edges % 2 == 0,
       "must be even, from 4 to 1024"},
      {"torque_regularization", s->torque_regularization,
       s->torque_regularization >= 0 && s->torque_regularization < INFINITY, weight},
      {"force_regularization", s->force_regularization,
       s->force_regularization >= 0 && s->force_regularization < INFINITY, weight},
      {"smoothing", s->smoothing, s->smoothing >= 0 && s->smoothing < INFINITY, weight},
      {"rank_tolerance", s->rank_tolerance, s->rank_tolerance >= 0 && s->rank_tolerance < 1,
       "must be from 0 to less than 1"},
  };
  return sap_check_rules(rules, sizeof rules / sizeof *rules, error);
}

static const char *const outcome_text[] = {
    "solved",
    "inconsistent_accelerations",
    "degenerate_noslip",
    "torque_limited",
    "ray",
    "iteration_limit",
    "singular",
    "inaccurate",
    "non_finite",
};
_Static_assert(sizeof outcome_text / sizeof *outcome_text == INVDYN_NON_FINITE + 1,
               "one text per outcome");

const char *invdyn_outcome_text(invdyn_outcome outcome) {
  return outcome <= INVDYN_NON_FINITE ? outcome_text[outcome] : "unknown outcome";
}
