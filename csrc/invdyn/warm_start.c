#include "invdyn/warm_start.h"

#include <string.h>

void invdyn_warm_start_carve(struct invdyn_warm_start *warm_start, int32_t n_max,
                             const int32_t width[INVDYN_MOST_BLOCKS], int32_t others_max,
                             struct sap_arena *arena) {
  size_t marks = 0;
  for (int32_t b = 0; b < INVDYN_MOST_BLOCKS; ++b) {
    warm_start->width[b] = width[b];
    marks += (size_t)n_max * (size_t)width[b];
  }
  warm_start->ids = sap_arena_take(arena, (size_t)n_max, sizeof(int64_t));
  warm_start->previous = sap_arena_take(arena, marks, 1);
  warm_start->current = sap_arena_take(arena, marks + (size_t)others_max, 1);
  warm_start->n = 0;
}

/* Returns the number of marks of n contacts. */
static size_t length(const struct invdyn_warm_start *warm_start, int32_t n) {
  size_t widths = 0;
  for (int32_t b = 0; b < INVDYN_MOST_BLOCKS; ++b) {
    widths += (size_t)warm_start->width[b];
  }
  return (size_t)n * widths;
}

/* Returns the place of an id in the last call, searched from `first` on; -1 for a new one. */
static int32_t find(const struct invdyn_warm_start *warm_start, int64_t id, int32_t first) {
  for (int32_t k = 0; k < warm_start->n; ++k) {
    const int32_t at = first + k < warm_start->n ? first + k : first + k - warm_start->n;
    if (warm_start->ids[at] == id) {
      return at;
    }
  }
  return -1;
}

/* Copies the marks of contact `from` of the last call to contact `to` of n. */
static void copy_contact(struct invdyn_warm_start *warm_start, int32_t n, int32_t to,
                         int32_t from) {
  int8_t *current = warm_start->current;
  const int8_t *previous = warm_start->previous;
  for (int32_t b = 0; b < INVDYN_MOST_BLOCKS; ++b) {
    const int64_t width = warm_start->width[b];
    memcpy(current + to * width, previous + from * width, (size_t)width);
    current += n * width;
    previous += warm_start->n * width;
  }
}

const int8_t *invdyn_warm_start_load(struct invdyn_warm_start *warm_start,
                                     const invdyn_problem *problem, int32_t n_others) {
  memset(warm_start->current, 0, length(warm_start, problem->n) + (size_t)n_others);
  if (!problem->ids || warm_start->n == 0) {
    return NULL;
  }
  int32_t next = 0; /* most often ids come in the order of the last call */
  for (int32_t i = 0; i < problem->n; ++i) {
    const int32_t at = find(warm_start, problem->ids[i], next);
    if (at >= 0) {
      copy_contact(warm_start, problem->n, i, at);
      next = at + 1 < warm_start->n ? at + 1 : 0;
    }
  }
  return warm_start->current;
}

void invdyn_warm_start_store(struct invdyn_warm_start *warm_start, const invdyn_problem *problem) {
  warm_start->n = problem->ids ? problem->n : 0;
  if (problem->ids) {
    memcpy(warm_start->ids, problem->ids, (size_t)problem->n * sizeof(int64_t));
    memcpy(warm_start->previous, warm_start->current, length(warm_start, problem->n));
  }
}
