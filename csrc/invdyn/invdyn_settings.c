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

sap_status invdyn_settings_check(const invdyn_settings *settings, sap_error *error) {
  const struct {
    const char *name;
    double value;
  } weight[] = {{"torque_regularization", settings->torque_regularization},
                {"force_regularization", settings->force_regularization},
                {"smoothing", settings->smoothing}};
  if (settings->controller < INVDYN_LCP_NOSLIP || settings->controller > INVDYN_LCP_NEAREST) {
    return sap_invalid(error, "controller", -1, settings->controller, "must be a controller");
  }
  if (settings->stage_one < INVDYN_CONTACT_CONSISTENT || settings->stage_one > INVDYN_PAPER) {
    return sap_invalid(error, "stage_one", -1, settings->stage_one, "must be a form of Stage I");
  }
  if (settings->edges < 4 || settings->edges > 1024 || settings->edges % 2) {
    return sap_invalid(error, "edges", -1, settings->edges, "must be even, from 4 to 1024");
  }
  for (int i = 0; i < 3; ++i) {
    if (!(weight[i].value >= 0.0 && weight[i].value < INFINITY)) {
      return sap_invalid(error, weight[i].name, -1, weight[i].value, "must be finite and >= 0");
    }
  }
  if (!(settings->rank_tolerance >= 0.0 && settings->rank_tolerance < 1.0)) {
    return sap_invalid(error, "rank_tolerance", -1, settings->rank_tolerance,
                       "must be from 0 to less than 1");
  }
  return SAP_OK;
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
