#include "invdyn/recall.h"

#include <string.h>

void invdyn_recall_carve(struct invdyn_recall *of, int32_t n_max,
                         const int32_t width[INVDYN_MOST_BLOCKS], int32_t others_max,
                         struct sap_arena *arena) {
  size_t marks = 0;
  for (int32_t b = 0; b < INVDYN_MOST_BLOCKS; ++b) {
    of->width[b] = width[b];
    marks += (size_t)n_max * (size_t)width[b];
  }
  of->names = sap_arena_take(arena, (size_t)n_max, sizeof(int64_t));
  of->was = sap_arena_take(arena, marks, 1);
  of->now = sap_arena_take(arena, marks + (size_t)others_max, 1);
  of->n = 0;
}

/* marks of n contacts */
static size_t length(const struct invdyn_recall *of, int32_t n) {
  size_t widths = 0;
  for (int32_t b = 0; b < INVDYN_MOST_BLOCKS; ++b) {
    widths += (size_t)of->width[b];
  }
  return (size_t)n * widths;
}

/* the place of a name in the last call, looked for from `first` on; -1 for a new one */
static int32_t find(const struct invdyn_recall *of, int64_t name, int32_t first) {
  for (int32_t k = 0; k < of->n; ++k) {
    const int32_t at = first + k < of->n ? first + k : first + k - of->n;
    if (of->names[at] == name) {
      return at;
    }
  }
  return -1;
}

/* what contact `from` of the last call was, contact `to` of n begins with */
static void copy_contact(struct invdyn_recall *of, int32_t n, int32_t to, int32_t from) {
  int8_t *now = of->now;
  const int8_t *was = of->was;
  for (int32_t b = 0; b < INVDYN_MOST_BLOCKS; ++b) {
    const int64_t width = of->width[b];
    memcpy(now + to * width, was + from * width, (size_t)width);
    now += n * width;
    was += of->n * width;
  }
}

const int8_t *invdyn_recall(struct invdyn_recall *of, const invdyn_problem *problem,
                            int32_t n_others) {
  memset(of->now, 0, length(of, problem->n) + (size_t)n_others);
  if (!problem->ids || of->n == 0) {
    return NULL;
  }
  int32_t next = 0; /* most often names come in the order of the last call */
  for (int32_t i = 0; i < problem->n; ++i) {
    const int32_t at = find(of, problem->ids[i], next);
    if (at >= 0) {
      copy_contact(of, problem->n, i, at);
      next = at + 1 < of->n ? at + 1 : 0;
    }
  }
  return of->now;
}

void invdyn_remember(struct invdyn_recall *of, const invdyn_problem *problem) {
  of->n = problem->ids ? problem->n : 0;
  if (problem->ids) {
    memcpy(of->names, problem->ids, (size_t)problem->n * sizeof(int64_t));
    memcpy(of->was, of->now, length(of, problem->n));
  }
}
