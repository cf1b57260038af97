/* What variables of contacts were in the last call, by the contacts' names: where the next begins.
 * Contacts may come, go and change places; those that are new begin with nothing.
 *
 * Variables lie in blocks (n, width), one after the other. Variables of no contact follow them and
 * always begin with nothing. */
#ifndef SAPWOOD_INVDYN_RECALL_H
#define SAPWOOD_INVDYN_RECALL_H

#include "base/memory.h"
#include "sapwood/invdyn.h"

enum { INVDYN_MOST_BLOCKS = 3 };

struct invdyn_recall {
  int32_t width[INVDYN_MOST_BLOCKS]; /* 0 where there are fewer blocks */
  int64_t *names;                    /* (n) */
  int8_t *was;                       /* blocks (n, width) of the last call */
  int8_t *now;                       /* the same of this call, which the caller writes */
  int32_t n;                         /* contacts of the last call; 0 if nothing is known */
};

/* room for blocks of n_max contacts, and others_max besides; forgets what was */
void invdyn_recall_carve(struct invdyn_recall *of, int32_t n_max,
                         const int32_t width[INVDYN_MOST_BLOCKS], int32_t others_max,
                         struct sap_arena *arena);

/* `now` for the contacts of a problem, 0 for those that are new and for the `n_others` variables of
 * no contact; NULL where nothing is known, or contacts have no names. */
const int8_t *invdyn_recall(struct invdyn_recall *of, const invdyn_problem *problem,
                            int32_t n_others);

/* The next call begins with `now`. */
void invdyn_remember(struct invdyn_recall *of, const invdyn_problem *problem);

#endif
