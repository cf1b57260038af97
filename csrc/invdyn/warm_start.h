/* This module warm starts a call: it keeps marks of the contacts' variables, such as "basic", by
 * the contacts' ids for the next call. Contacts may come, go and change places; new ones begin
 * without marks.
 *
 * Marks lie in blocks (n, width), one after the other. Variables that belong to no contact follow
 * them and always begin without marks. */
#ifndef SAPWOOD_INVDYN_WARM_START_H
#define SAPWOOD_INVDYN_WARM_START_H

#include "base/memory.h"
#include "sapwood/invdyn.h"

enum { INVDYN_MOST_BLOCKS = 3 };

struct invdyn_warm_start {
  int32_t width[INVDYN_MOST_BLOCKS]; /* marks per contact; 0 for unused blocks */
  int64_t *ids;                      /* (n) */
  int8_t *previous;                  /* blocks (n, width) of the last call */
  int8_t *current;                   /* blocks of this call, which the caller writes */
  int32_t n;                         /* contacts of the last call; 0 if nothing is known */
};

/* Carves blocks of n_max contacts and others_max further variables; forgets the last call. */
void invdyn_warm_start_carve(struct invdyn_warm_start *warm_start, int32_t n_max,
                             const int32_t width[INVDYN_MOST_BLOCKS], int32_t others_max,
                             struct sap_arena *arena);

/* Loads `current` for the contacts of a problem: 0 for new ones and for the `n_others` variables of
 * no contact. Returns NULL if nothing is known, or contacts have no ids. */
const int8_t *invdyn_warm_start_load(struct invdyn_warm_start *warm_start,
                                     const invdyn_problem *problem, int32_t n_others);

/* Stores `current`, from which the next call begins. */
void invdyn_warm_start_store(struct invdyn_warm_start *warm_start, const invdyn_problem *problem);

#endif
