/* What lagged friction remembers of the step before: where the contacts of each pair of geoms lay,
 * and their normal forces f_n.
 *
 *     b = dt mu f_n          f_n = gamma_n/dt of the step before, dt and mu of this one
 *
 * A contact takes after the nearest one of the same two geoms. Positions count from the centre of
 * all contacts of the pair, as bodies move, and may differ by a quarter of the extent that these
 * had, the diagonal of the box around them. A contact that is remembered serves one. What finds
 * none has a bound that is not known, but for contacts without friction, where it is 0.
 *
 * Pairs are found by a table: all of it is linear in the contacts, but quadratic in those of one
 * pair, of which engines keep few and patches some hundred.
 *
 * What is remembered holds for one state: it may be marked with the state that a step left, and
 * forgotten where the next step starts from any other.
 *
 * Ownership: a memory owns two lists, that of the step before and that of the present step, which
 * takes its place when that is taken; they grow as needed and are kept. */
#ifndef SAPWOOD_STEP_CONTACTS_FRICTION_MEMORY_H
#define SAPWOOD_STEP_CONTACTS_FRICTION_MEMORY_H

#include "step/gather.h"

struct sap_remembered_contact {
  double position[3]; /* from the centre of its pair, m */
  double force;       /* f_n, N */
  int taken;          /* by a contact of the present step */
};

/* contacts begin <= i < end of two geoms */
struct sap_remembered_pair {
  int64_t key; /* sap_pair_key */
  int32_t begin, end;
  double extent; /* m */
};

struct sap_remembered_list {
  struct sap_block block;
  struct sap_remembered_contact *contacts;
  struct sap_remembered_pair *pairs; /* (n_pairs) */
  int32_t *table;                    /* (capacity) pairs from the hash of their key on, or -1 */
  int32_t n_contacts, n_pairs;
  int64_t capacity; /* a power of two, more than n_pairs */
};

struct sap_friction_memory {
  sap_allocator allocator;
  struct sap_remembered_list lists[2];
  int last; /* the list of the step before */
  struct sap_block state;
  size_t state_bytes;
  int marked; /* with `state` */
};

/* an array of the state */
struct sap_state_part {
  const double *values;
  int64_t n;
};

/* Forgets where the state is another than it was marked with, to the last bit, or there is no
 * mark. */
void sap_friction_memory_check(struct sap_friction_memory *memory,
                               const struct sap_state_part *parts, int n_parts);

/* Marks what is remembered with the state that a step left; where memory runs out it is
 * forgotten. */
void sap_friction_memory_mark(struct sap_friction_memory *memory,
                              const struct sap_state_part *parts, int n_parts);

/* Lists the contacts that were gathered, and gives the problem the bounds of their friction. */
sap_status sap_friction_memory_recall(struct sap_friction_memory *memory,
                                      struct sap_gather *gather);

/* The step whose contacts were listed last was taken with the impulses of the gather: from now on
 * it is the step before, without a mark. */
void sap_friction_memory_keep(struct sap_friction_memory *memory, const struct sap_gather *gather);

#endif
