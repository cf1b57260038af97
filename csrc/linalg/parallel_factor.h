/* This module shares the factorization of factorization.h among threads, in double precision.
 *
 * Branches of the junction tree have no columns in common: each is factored by one thread. The
 * supernodes above all branches, the trunk, follow one by one. All threads subtract the products of
 * the panels below from the columns of the next one, and factor it slice by slice. Every entry
 * results from the same operations in the same order as in sap_factor_run(), so that no bit depends
 * on the number of threads. The caller owns the memory. */
#ifndef SAPWOOD_LINALG_PARALLEL_FACTOR_H
#define SAPWOOD_LINALG_PARALLEL_FACTOR_H

#include "base/threads.h"
#include "linalg/factorization.h"

enum { SAP_MOST_BRANCHES = 64 };

/* A subtree of supernodes, begin to end; the last one is its root. */
struct sap_branch {
  int32_t begin, end;
  double work; /* multiply-adds */
};

/* An update of a panel of the trunk. */
struct sap_pull {
  int32_t source, update; /* supernode, number of the update */
};

/* The schedule of a tree of one component. */
struct sap_schedule {
  const struct sap_junction_tree *tree;
  int32_t n_branches, n_trunk;
  struct sap_branch branch[SAP_MOST_BRANCHES]; /* by falling work */
  int32_t *trunk;                              /* (n_trunk) supernodes, ascending */
  int32_t *pull_start;                         /* (n_trunk + 1) */
  struct sap_pull *pull; /* updates of the trunk by target, sources ascending */
  int32_t *own_end;      /* (n_supernodes) end of the updates of a supernode into its own branch */
  double *work;          /* (n_supernodes) multiply-adds of the subtree */
  int32_t *first;        /* (n_supernodes) first supernode of the subtree */
  int32_t *place;        /* (n_supernodes) place in the trunk, or -1 */
};

/* Carves the arrays for schedule->tree, whose updates are listed. */
void sap_schedule_carve(struct sap_schedule *schedule, struct sap_arena *arena);

/* Chooses branches for this many threads. */
void sap_schedule_find(struct sap_schedule *schedule, int32_t n_threads);

/* Factors the one component as sap_factor_run() does, without a right-hand side. */
int32_t sap_factor_run_parallel(const struct sap_factor *factor,
                                const struct sap_schedule *schedule, struct sap_threads *threads);

#endif
