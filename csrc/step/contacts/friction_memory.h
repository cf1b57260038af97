/* The memory of lagged friction: the positions of the contacts of each pair of geoms in the step
 * before, and their normal forces f_n.
 *
 *     b = dt mu f_n          f_n = gamma_n/dt of the step before, dt and mu of this one
 *
 * A contact inherits the force of the nearest previous contact of the same two geoms. Positions
 * count from the centre of all contacts of the pair, because bodies move. They may differ by a
 * quarter of the extent of these contacts, the diagonal of the box around them. A remembered
 * contact serves one contact. A contact without a match has an unknown bound; without friction its
 * bound is 0.
 *
 * A hash table finds the pairs. The cost is linear in the contacts, and quadratic in those of one
 * pair: engines keep few, and patches some hundred.
 *
 * The memory holds for one state: it may be marked with the state that a step left, and is
 * forgotten if the next step starts from any other.
 *
 * Ownership: a memory owns two lists, for the step before and for the present step. They change
 * places when a step is taken; they grow as needed and are kept. */
#ifndef SAPWOOD_STEP_CONTACTS_FRICTION_MEMORY_H
#define SAPWOOD_STEP_CONTACTS_FRICTION_MEMORY_H

#include "step/gather.h"

struct sap_remembered_contact {
  double position[3]; /* position from the centre of its pair, m */
  double force;       /* f_n, N */
  int taken;          /* 1 if a contact of the present step has inherited it */
};

/* The contacts begin <= i < end of two geoms. */
struct sap_remembered_pair {
  int64_t key; /* result of sap_pair_key */
  int32_t begin, end;
  double extent; /* diagonal of the box around the contacts, m */
};

struct sap_remembered_list {
  struct sap_block block;
  struct sap_remembered_contact *contacts;
  struct sap_remembered_pair *pairs; /* (n_pairs) */
  int32_t *table; /* (capacity) indices of pairs at the hash of their key or after, or -1 */
  int32_t n_contacts, n_pairs;
  int64_t capacity; /* a power of two, more than n_pairs */
};

struct sap_friction_memory {
  sap_allocator allocator;
  struct sap_remembered_list lists[2];
  int last; /* index of the list of the step before */
  struct sap_block state;
  size_t state_bytes;
  int marked; /* 1 if `state` marks the memory */
};

/* Empties a list and gives it room for some contacts; returns 0 if memory runs out. */
int sap_remembered_list_clear(struct sap_remembered_list *list, int32_t n_contacts,
                              const sap_allocator *allocator);

/* Adds a pair without contacts; of two pairs with one key the first is found. */
struct sap_remembered_pair *sap_remembered_list_add(struct sap_remembered_list *list, int64_t key,
                                                    int32_t begin, double extent);

/* An array of the state. */
struct sap_state_part {
  const double *values;
  int64_t n;
};

/* Forgets everything if the state differs in any bit from the mark, or if there is no mark. */
void sap_friction_memory_check(struct sap_friction_memory *memory,
                               const struct sap_state_part *parts, int n_parts);

/* Marks the memory with the state that a step left. If memory runs out, it forgets everything. */
void sap_friction_memory_mark(struct sap_friction_memory *memory,
                              const struct sap_state_part *parts, int n_parts);

/* Lists the gathered contacts, and gives the problem the bounds of their friction. */
sap_status sap_friction_memory_recall(struct sap_friction_memory *memory,
                                      struct sap_gather *gather);

/* Makes the step whose contacts were listed last the step before, with the impulses of the gather
 * and without a mark. The caller calls it once that step was taken. */
void sap_friction_memory_keep(struct sap_friction_memory *memory, const struct sap_gather *gather);

#endif
