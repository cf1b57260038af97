/* One model of model.h, one list of contacts and their gather, for the tests of gathering. */
#ifndef SAPWOOD_TESTS_GATHERING_H
#define SAPWOOD_TESTS_GATHERING_H

#include "model.h"

static uint64_t seed;
static struct model m;
static struct list l;
static struct sap_gather g;

static inline void begin(uint64_t first) {
  seed = first;
  make_model(&m, &seed);
  make_list(&l);
}

/* Runs the gather, which is made, once more; returns whether it ends without an error. */
static inline int run(enum sap_cone cone) {
  return CHECK_EQUAL(sap_gather_run(&g, &m.state, &l.list, NULL, cone, &parameters), SAP_OK);
}

/* Makes the gather and runs it; returns whether it ends without an error or a fault. */
static inline int gather(enum sap_cone cone) {
  return CHECK_EQUAL(sap_gather_create(&g, &m.forest, NULL, NULL), SAP_OK) && run(cone) &&
         CHECK_EQUAL(g.fault, SAP_FAULT_NONE);
}

#endif
