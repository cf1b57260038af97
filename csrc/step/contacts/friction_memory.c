#include "step/contacts/friction_memory.h"

#include <math.h>
#include <string.h>

/* ---- life ----------------------------------------------------------------------------------- */

sap_status sap_friction_memory_create(sap_friction_memory **memory,
                                      const sap_allocator *allocator) {
  const sap_allocator given = sap_allocator_or_default(allocator);
  *memory = given.allocate(sizeof **memory, given.context);
  if (!*memory) {
    return SAP_OUT_OF_MEMORY;
  }
  **memory = (sap_friction_memory){.allocator = given};
  return SAP_OK;
}

void sap_friction_memory_destroy(sap_friction_memory *memory) {
  if (memory) {
    const sap_allocator allocator = memory->allocator;
    sap_block_release(&memory->lists[0].block, &allocator);
    sap_block_release(&memory->lists[1].block, &allocator);
    sap_block_release(&memory->state, &allocator);
    allocator.release(memory, allocator.context);
  }
}

void sap_friction_memory_forget(sap_friction_memory *memory) {
  memory->lists[memory->last].n_pairs = 0;
  memory->marked = 0;
}

/* ---- the state of the memory ---------------------------------------------------------------- */

static size_t bytes_of(const struct sap_state_part *part) {
  return (size_t)part->n * sizeof *part->values;
}

void sap_friction_memory_check(struct sap_friction_memory *memory,
                               const struct sap_state_part *parts, int n_parts) {
  const unsigned char *state = memory->state.base;
  size_t begin = 0;
  int same = memory->marked;
  for (int i = 0; i < n_parts && same; begin += bytes_of(&parts[i]), ++i) {
    const size_t bytes = bytes_of(&parts[i]);
    same = bytes <= memory->state_bytes - begin &&
           (bytes == 0 || memcmp(state + begin, parts[i].values, bytes) == 0);
  }
  if (!same || begin != memory->state_bytes) {
    sap_friction_memory_forget(memory);
  }
}

void sap_friction_memory_mark(struct sap_friction_memory *memory,
                              const struct sap_state_part *parts, int n_parts) {
  memory->state_bytes = 0;
  for (int i = 0; i < n_parts; ++i) {
    memory->state_bytes += bytes_of(&parts[i]);
  }
  memory->marked = sap_block_reserve(&memory->state, memory->state_bytes, &memory->allocator);
  unsigned char *to = memory->state.base;
  for (int i = 0; i < n_parts && memory->marked; to += bytes_of(&parts[i]), ++i) {
    if (parts[i].n > 0) {
      memcpy(to, parts[i].values, bytes_of(&parts[i]));
    }
  }
}

/* ---- a list --------------------------------------------------------------------------------- */

static void carve(void *context, struct sap_arena *arena) {
  struct sap_remembered_list *list = context;
  const size_t n = (size_t)list->n_contacts;
  list->contacts = sap_arena_take(arena, n, sizeof *list->contacts);
  list->pairs = sap_arena_take(arena, n, sizeof *list->pairs);
  list->table = sap_arena_take(arena, (size_t)list->capacity, sizeof *list->table);
}

/* Returns the first place of a pair in the table. */
static int64_t hash(const struct sap_remembered_list *list, int64_t key) {
  const uint64_t mixed = (uint64_t)key * 0x9E3779B97F4A7C15u; /* 2^64 over the golden ratio */
  return (int64_t)(mixed >> 32) & (list->capacity - 1);
}

static struct sap_remembered_pair *find(const struct sap_remembered_list *list, int64_t key) {
  if (list->n_pairs == 0) {
    return NULL;
  }
  for (int64_t at = hash(list, key);; at = (at + 1) & (list->capacity - 1)) {
    if (list->table[at] < 0 || list->pairs[list->table[at]].key == key) {
      return list->table[at] < 0 ? NULL : &list->pairs[list->table[at]];
    }
  }
}

int sap_remembered_list_clear(struct sap_remembered_list *list, int32_t n_contacts,
                              const sap_allocator *allocator) {
  list->n_contacts = n_contacts;
  list->n_pairs = 0;
  list->capacity = 2;
  while (list->capacity < 2 * (int64_t)n_contacts) {
    list->capacity *= 2;
  }
  if (!sap_block_carve(&list->block, carve, list, allocator)) {
    return 0;
  }
  memset(list->table, 0xff, (size_t)list->capacity * sizeof *list->table);
  return 1;
}

struct sap_remembered_pair *sap_remembered_list_add(struct sap_remembered_list *list, int64_t key,
                                                    int32_t begin, double extent) {
  int64_t at = hash(list, key);
  while (list->table[at] >= 0) {
    at = (at + 1) & (list->capacity - 1);
  }
  list->table[at] = list->n_pairs;
  struct sap_remembered_pair *pair = &list->pairs[list->n_pairs++];
  *pair = (struct sap_remembered_pair){.key = key, .begin = begin, .end = begin, .extent = extent};
  return pair;
}

/* Finds the positions from the centre of the pair, and its extent. */
static void centre(struct sap_remembered_list *list, struct sap_remembered_pair *pair) {
  double squares = 0;
  for (int j = 0; j < 3; ++j) {
    double sum = 0, low = INFINITY, high = -INFINITY;
    for (int32_t i = pair->begin; i < pair->end; ++i) {
      const double p = list->contacts[i].position[j];
      sum += p;
      low = fmin(low, p);
      high = fmax(high, p);
    }
    const double mean = sum / (pair->end - pair->begin);
    for (int32_t i = pair->begin; i < pair->end; ++i) {
      list->contacts[i].position[j] -= mean;
    }
    squares += (high - low) * (high - low);
  }
  pair->extent = sqrt(squares);
}

/* Lists the pairs; contacts of two geoms are adjacent in the gather. */
static void list_pairs(struct sap_remembered_list *list, const struct sap_gather *gather) {
  const struct sap_listed_contact *contacts = gather->contacts;
  int32_t end = 0;
  for (int32_t begin = 0; begin < list->n_contacts; begin = end) {
    const int32_t *geom = contacts[begin].geom;
    while (end < list->n_contacts && memcmp(contacts[end].geom, geom, 2 * sizeof *geom) == 0) {
      ++end;
    }
    struct sap_remembered_pair *pair =
        sap_remembered_list_add(list, sap_pair_key(gather->forest, geom[0], geom[1]), begin, 0.0);
    pair->end = end;
    centre(list, pair);
  }
}

/* ---- from one step to the next -------------------------------------------------------------- */

/* Returns the nearest contact of a pair that no other has inherited, or NULL. */
static struct sap_remembered_contact *nearest(const struct sap_remembered_list *list,
                                              const struct sap_remembered_pair *pair,
                                              const double *p) {
  struct sap_remembered_contact *found = NULL;
  double least = pair->extent * pair->extent / 16;
  for (int32_t i = pair->begin; i < pair->end; ++i) {
    struct sap_remembered_contact *contact = &list->contacts[i];
    const double d[3] = {p[0] - contact->position[0], p[1] - contact->position[1],
                         p[2] - contact->position[2]};
    const double distance = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    if (!contact->taken && distance <= least) {
      least = distance;
      found = contact;
    }
  }
  return found;
}

/* Finds the bounds of the contacts of a pair that was there before. */
static void match(const struct sap_remembered_list *before, const struct sap_remembered_pair *old,
                  const struct sap_remembered_list *now, const struct sap_remembered_pair *pair,
                  const struct sap_gather *gather) {
  for (int32_t i = old->begin; i < old->end; ++i) {
    before->contacts[i].taken = 0;
  }
  for (int32_t i = pair->begin; i < pair->end; ++i) {
    struct sap_remembered_contact *same = nearest(before, old, now->contacts[i].position);
    if (same) {
      same->taken = 1;
      gather->friction_bound[i] = gather->dt * gather->mu[i] * same->force;
    }
  }
}

sap_status sap_friction_memory_recall(struct sap_friction_memory *memory,
                                      struct sap_gather *gather) {
  const struct sap_remembered_list *before = &memory->lists[memory->last];
  struct sap_remembered_list *now = &memory->lists[!memory->last];
  if (!sap_remembered_list_clear(now, gather->problem.n_contacts, &memory->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < now->n_contacts; ++i) {
    memcpy(now->contacts[i].position, gather->position + 3 * (int64_t)i,
           sizeof now->contacts[i].position);
    gather->friction_bound[i] = gather->mu[i] > 0 ? NAN : 0;
  }
  list_pairs(now, gather);
  for (int32_t k = 0; k < now->n_pairs; ++k) {
    const struct sap_remembered_pair *old = find(before, now->pairs[k].key);
    if (old) {
      match(before, old, now, &now->pairs[k], gather);
    }
  }
  gather->problem.friction_bound = gather->friction_bound;
  return SAP_OK;
}

void sap_friction_memory_keep(struct sap_friction_memory *memory, const struct sap_gather *gather) {
  struct sap_remembered_list *now = &memory->lists[!memory->last];
  for (int32_t i = 0; i < now->n_contacts; ++i) {
    now->contacts[i].force = gather->gamma[3 * (int64_t)i + 2] / gather->dt;
  }
  memory->last = !memory->last;
  memory->marked = 0;
}
