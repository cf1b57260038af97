#include "base/status.h"

static const char *const status_text[] = {
    "ok",
    "out of memory",
    "invalid argument",
    "a block of A is not positive definite",
    "the library was built without this factorization",
    "the solve was interrupted",
};
_Static_assert(sizeof status_text / sizeof *status_text == SAP_INTERRUPTED + 1,
               "one text per status");

static const char *const outcome_text[] = {
    "converged", "stalled", "iteration_limit", "friction_limit", "breakdown", "non_finite",
};
_Static_assert(sizeof outcome_text / sizeof *outcome_text == SAP_NON_FINITE + 1,
               "one text per outcome");

const char *sap_status_text(sap_status status) {
  return status <= SAP_INTERRUPTED ? status_text[status] : "unknown status";
}

const char *sap_outcome_text(sap_outcome outcome) {
  return outcome <= SAP_NON_FINITE ? outcome_text[outcome] : "unknown outcome";
}

sap_status sap_fail_whole(sap_error *error, sap_status status, sap_error_kind kind,
                          const char *argument, int64_t index, double value, const char *rule) {
  if (error) {
    *error = (sap_error){argument, kind, index, -1, value, rule};
  }
  return status;
}

sap_status sap_fail(sap_error *error, sap_status status, const char *argument, int64_t index,
                    double value, const char *rule) {
  const sap_error_kind kind = index < 0 ? SAP_ERROR_SCALAR : SAP_ERROR_ENTRY;
  return sap_fail_whole(error, status, kind, argument, index, value, rule);
}
