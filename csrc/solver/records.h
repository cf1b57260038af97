/* The history of a solve has one record per iterate, in memory that its owner carves. */
#ifndef SAPWOOD_SOLVER_RECORDS_H
#define SAPWOOD_SOLVER_RECORDS_H

#include "sapwood.h"

struct sap_records {
  sap_iteration *first;
  int32_t n, capacity;
  int32_t before; /* iterations in earlier parts of an island's solve */
};

/* Appends a record where there is room. */
static inline void sap_records_add(struct sap_records *records, const sap_iteration *record) {
  if (records->n < records->capacity) {
    records->first[records->n++] = *record;
  }
}

#endif
