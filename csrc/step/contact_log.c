#include "step/contact_log.h"

#include <string.h>

#include "step/step_tuning.h"

/* Returns a sufficient capacity; -1 if no array can be as long. */
static int64_t next_capacity(const struct sap_contact_log *log, int64_t more) {
  const int64_t most = (int64_t)(PTRDIFF_MAX / sizeof *log->records) / 2;
  if (more > most - log->n) {
    return -1;
  }
  const int64_t grown = log->capacity + log->capacity / 2 + SAP_FIRST_RECORDS;
  return grown < log->n + more ? log->n + more : grown;
}

sap_contact_record *sap_contact_log_room(struct sap_contact_log *log, int64_t more) {
  if (!log->records || more > log->capacity - log->n) {
    const int64_t capacity = next_capacity(log, more);
    sap_contact_record *records =
        capacity < 0
            ? NULL
            : log->allocator.allocate((size_t)capacity * sizeof *records, log->allocator.context);
    if (!records) {
      return NULL;
    }
    if (log->records && log->n > 0) {
      memcpy(records, log->records, (size_t)log->n * sizeof *records);
    }
    sap_contact_log_release(log);
    log->records = records;
    log->capacity = capacity;
  }
  return log->records + log->n;
}

void sap_contact_log_release(struct sap_contact_log *log) {
  if (log->records) {
    log->allocator.release(log->records, log->allocator.context);
  }
  log->records = NULL;
  log->capacity = 0;
}
