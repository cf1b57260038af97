/* The contacts of many steps, one after the other in one array.
 *
 * Ownership: a log owns its array, which grows by half when it must. */
#ifndef SAPWOOD_STEP_CONTACT_LOG_H
#define SAPWOOD_STEP_CONTACT_LOG_H

#include "sapwood/stepper.h"

struct sap_contact_log {
  sap_allocator allocator;
  sap_contact_record *records; /* (capacity) records, the first n are set */
  int64_t n, capacity;
};

/* Returns room for `more` records behind the present ones; the caller counts them in n. NULL if
 * memory ran out; the log is then unchanged. */
sap_contact_record *sap_contact_log_room(struct sap_contact_log *log, int64_t more);

void sap_contact_log_release(struct sap_contact_log *log);

#endif
