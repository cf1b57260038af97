/* Reports an invalid argument in one line. Each function fills *error, which may be NULL. */
#ifndef SAPWOOD_BASE_FAIL_H
#define SAPWOOD_BASE_FAIL_H

#include "sapwood.h"

/* Reports an entry of an array, or a scalar if index is -1; returns status. */
sap_status sap_fail(sap_error *error, sap_status status, const char *argument, int64_t index,
                    double value, const char *rule);

/* Calls sap_fail() with SAP_INVALID_ARGUMENT and returns it where the analyzer sees it. */
static inline sap_status sap_invalid(sap_error *error, const char *argument, int64_t index,
                                     double value, const char *rule) {
  sap_fail(error, SAP_INVALID_ARGUMENT, argument, index, value, rule);
  return SAP_INVALID_ARGUMENT;
}

/* A rule of a scalar argument. It holds where the value is in range, which NaN never is. */
struct sap_scalar_rule {
  const char *argument;
  double value;
  int holds;
  const char *rule;
};

/* Reports the first of n rules that does not hold. */
sap_status sap_check_rules(const struct sap_scalar_rule *rules, size_t n, sap_error *error);

/* Reports the block of a tree or the rows of a constraint; returns status. */
sap_status sap_fail_whole(sap_error *error, sap_status status, sap_error_kind kind,
                          const char *argument, int64_t index, double value, const char *rule);

/* Adds to a failure that it concerns group g; returns status. */
static inline sap_status sap_set_error_group(sap_status status, int32_t g, sap_error *error) {
  if (status != SAP_OK && error) {
    error->group = g;
  }
  return status;
}

/* Writes the fault of the argument called `name`: the entry with its index and value, or the whole
 * object of the error. Returns the length of the text as snprintf() does. */
int sap_fault_text(const sap_error *error, const char *name, char *text, size_t n);

#endif
