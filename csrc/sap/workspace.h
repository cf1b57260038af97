/* All that a solve works on, in three blocks of memory: the graph, the rows of its junction tree,
 * and the numbers; a reduction and the list of triples have their own. Islands are bound to it one
 * by one: numbers are gathered in the order of the graph, so that every loop of the iterations runs
 * over contiguous memory and knows the places it writes to. Every thread has such numbers of its
 * own, as many as one would need for all islands, of which it touches those of the islands that it
 * solves: threads that share arrays wait for each other wherever they write to the same cache
 * lines, and where one fetches ahead what the other is about to write. Masses, factors and what
 * eliminates velocities are common. */
#ifndef SAPWOOD_SAP_WORKSPACE_H
#define SAPWOOD_SAP_WORKSPACE_H

#include "base/memory.h"
#include "constraints/laws.h"
#include "linalg/factorization.h"
#include "problem/graph.h"
#include "problem/jacobian.h"
#include "problem/reduction.h"
#include "sap/sharing.h"
#include "problem/vectors.h"

struct sap_records {
  sap_iteration *first;
  int32_t n, capacity;
};

/* views of it by different threads share no cache line */
struct sap_workspace {
  _Alignas(SAP_ALIGNMENT) sap_allocator memory;
  const struct sap_kernels *kernels;
  const struct sap_law_loops *laws[SAP_N_LAWS];
  const struct sap_jacobian_loops *jacobian_loops;
  const struct sap_vector_loops *vectors;
  struct sap_block graph_block, row_block, number_block;
  int has_graph;
  int32_t n_steps; /* that v_c of the island at hand is the sum of, see certificate.h */
  struct sap_triples triples;
  struct sap_reduction reduction;
  struct sap_graph graph;
  struct sap_factor factor; /* H and its Cholesky factor */

  /* inverse Cholesky factors of the blocks of A, of diagonal ones where has_masses:
   * sap_invert_mass() */
  double *S;           /* (nA) */
  int8_t *is_diagonal; /* (n_trees) */
  int has_masses; /* are both there before islands are bound? else binding finds what it needs */
  double *rows;   /* (3, velocities of the widest tree) where there are rows, to regularize them */
  double
      *kappa; /* (n_contacts) of a problem with physical parameters, where any contact has a core */

  /* by position: the block of A, in the caller's array, or A' of a reduced tree, which is NULL
   * otherwise */
  const double **A;                        /* (n_nodes) */
  const struct sap_reduced_tree **reduced; /* (n_nodes) */
  const double **dense;                    /* (n_nodes) A, NULL where it is diagonal */

  /* by island: |D A v|^2 of the velocities that were eliminated */
  double *eliminated; /* (n_islands) */

  /* by place (patch order) */
  struct sap_jacobian J;
  struct sap_pool pool;
  struct sap_scratch scratch;

  /* by scalar */
  double *v, *best; /* iterate, and the one with the smallest gradient */
  double *v_star;
  double *momentum_star; /* A v* */
  double *dw;            /* v - v* */
  double *momentum;      /* A (v - v*) */
  double *impulse;       /* J^T gamma */
  double *gradient;
  double *dv, *dp;  /* direction, and A dv */
  double *error;    /* bound on that of gradient, as for a diagonal A: see certificate.h */
  double *reach;    /* |v| where v_c was formed from v, and |alpha dv| of every step since then */
  double *diagonal; /* of A */
  double *scale;    /* D = diag(A)^(-1/2) of (19) */

  struct sap_norms norms; /* |D gradient|^2 and |D error|^2 of the island at hand */

  struct sap_records records; /* the history */

  /* the same as from `A` to `scale` for every other thread, where there are islands to share */
  unsigned char *own; /* (sharing.n_threads - 1, own_bytes) */
  size_t own_bytes;

  struct sap_sharing sharing;
  struct sap_island_result *result; /* (n_islands) see islands.h */
  struct sap_sums *sums;            /* of islands, see islands.c */
  struct sap_workspace *view;       /* (sharing.n_threads) */
  struct sap_run *solved;           /* by the thread of this view, and not written yet */
  uint64_t n_solves;                /* that were begun, this one included */
};

/* Makes the workspace fit the problem, its triples and their reduction: keeps the graph where it
 * has the same contacts and all the rest, else builds it. *reused says which. */
sap_status sap_workspace_prepare(struct sap_workspace *w, const sap_problem *problem,
                                 const sap_sizes *sizes, int has_contacts,
                                 const sap_settings *settings, int32_t *reused);

/* what a thread works with in one solve: a copy of the struct that has arrays of its own */
void sap_workspace_view(struct sap_workspace *view, const struct sap_workspace *w, int32_t thread);

/* Gathers the numbers of an island; 0 where A, J or a constant breaks a rule of sap_invert_tree()
 * or sap_check_constraints(). */
int sap_workspace_bind(struct sap_workspace *w, const struct sap_island *island,
                       const sap_problem *problem);

/* copies of the velocities that take part, problem order <-> positions; those that were eliminated
 * are as sap_verify() left them */
void sap_workspace_gather(const struct sap_workspace *w, const struct sap_island *island,
                          const double *by_tree, double *by_scalar);
void sap_workspace_scatter(const struct sap_workspace *w, const struct sap_island *island,
                           const double *by_scalar, double *by_tree);

void sap_workspace_release(struct sap_workspace *w);

#endif
