/* Reporting what is wrong with an argument in one line. Each fills *error, which may be NULL. */
#ifndef SAPWOOD_BASE_FAIL_H
#define SAPWOOD_BASE_FAIL_H

#include "sapwood.h"

/* an entry of an array, or a scalar where index is -1; returns status */
sap_status sap_fail(sap_error *error, sap_status status, const char *argument, int64_t index,
                    double value, const char *rule);

/* the same of SAP_INVALID_ARGUMENT, which it returns where the analyzer sees it */
static inline sap_status sap_invalid(sap_error *error, const char *argument, int64_t index,
                                     double value, const char *rule) {
  sap_fail(error, SAP_INVALID_ARGUMENT, argument, index, value, rule);
  return SAP_INVALID_ARGUMENT;
}

/* the block of a tree, or the rows of a constraint; returns status */
sap_status sap_fail_whole(sap_error *error, sap_status status, sap_error_kind kind,
                          const char *argument, int64_t index, double value, const char *rule);

/* says that a failure is one of group g; returns status */
static inline sap_status sap_of_group(sap_status status, int32_t g, sap_error *error) {
  if (status != SAP_OK && error) {
    error->group = g;
  }
  return status;
}

/* What is wrong with the argument, called `name`: an entry with its index and value, or what the
 * error is about as a whole. Returns the length of the text as snprintf() does. */
int sap_fault_text(const sap_error *error, const char *name, char *text, size_t n);

#endif
