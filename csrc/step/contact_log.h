/* The contacts of many steps, one after the other in one array.
 *
 * Ownership: a log owns its array, which grows by half when it must. */
#ifndef SAPWOOD_STEP_CONTACT_LOG_H
#define SAPWOOD_STEP_CONTACT_LOG_H

#include "sapwood/stepper.h"

struct sap_contact_log {
  sap_allocator allocator;
  sap_contact_record *records; /* (capacity), the first n of them told */
  int64_t n, capacity;
};

/* Room for `more` records behind those that are there: NULL when memory ran out, and the log is as
 * it was. They count once n says so. */
sap_contact_record *sap_contact_log_room(struct sap_contact_log *log, int64_t more);

void sap_contact_log_release(struct sap_contact_log *log);

#endif
