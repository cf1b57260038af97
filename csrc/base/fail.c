#include "base/fail.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *const status_text[] = {
    "ok",
    "out of memory",
    "invalid argument",
    "a block of A is not positive definite",
    "the solve was interrupted",
};
_Static_assert(sizeof status_text / sizeof *status_text == SAP_INTERRUPTED + 1,
               "one text per status");

static const char *const outcome_text[] = {
    "converged", "stalled",    "iteration_limit", "friction_limit",
    "breakdown", "non_finite", "proximal_limit",
};
_Static_assert(sizeof outcome_text / sizeof *outcome_text == SAP_PROXIMAL_LIMIT + 1,
               "one text per outcome");

const char *sap_status_text(sap_status status) {
  return status <= SAP_INTERRUPTED ? status_text[status] : "unknown status";
}

const char *sap_outcome_text(sap_outcome outcome) {
  return outcome <= SAP_PROXIMAL_LIMIT ? outcome_text[outcome] : "unknown outcome";
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

sap_status sap_check_rules(const struct sap_scalar_rule *rules, size_t n, sap_error *error) {
  for (size_t i = 0; i < n; ++i) {
    if (!rules[i].holds) {
      return sap_invalid(error, rules[i].argument, -1, rules[i].value, rules[i].rule);
    }
  }
  return SAP_OK;
}

int sap_fault_text(const sap_error *error, const char *name, char *text, size_t n) {
  const char *rule = error->rule;
  const int64_t i = error->index;
  switch (error->kind) {
    case SAP_ERROR_TREE:
      return snprintf(text, n, "%s: the block of tree %" PRId64 " %s", name, i, rule);
    case SAP_ERROR_CONSTRAINT:
      return snprintf(text, n, "%s: the rows of %s %" PRId64 " %s", name,
                      error->group < 0 ? "contact" : "constraint", i, rule);
    default: break;
  }
  if (isnan(error->value)) {
    return i < 0 ? snprintf(text, n, "%s: %s", name, rule)
                 : snprintf(text, n, "%s[%" PRId64 "]: %s", name, i, rule);
  }
  return i < 0 ? snprintf(text, n, "%s = %g: %s", name, error->value, rule)
               : snprintf(text, n, "%s[%" PRId64 "] = %g: %s", name, i, error->value, rule);
}

size_t sap_error_text(const sap_error *error, char *text, size_t n) {
  int length = 0;
  if (n > 0) {
    text[0] = 0;
  }
  if (error->group >= 0) {
    length = snprintf(text, n, "group %" PRId32 ": ", error->group);
  }
  const size_t begin = length < 0 ? 0 : (size_t)length, used = begin < n ? begin : n;
  length = sap_fault_text(error, error->argument, n > 0 ? text + used : NULL, n - used);
  return begin + (length < 0 ? 0 : (size_t)length);
}
