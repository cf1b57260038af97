/* How a problem is solved: its triples, their reduction, their graph, the places of H, and what
 * belongs to the trees whichever thread solves them. Made before a solve and constant while islands
 * are solved, but for numbers of a tree or an island, which the thread that solves it alone writes:
 * the values of its factor, S of its trees, and the velocities of those that were reduced.
 *
 * It owns three blocks of memory: the graph, the rows of its junction tree, and the numbers; a
 * reduction and the list of triples have their own. What a thread works on is in workspace.h. */
#ifndef SAPWOOD_SOLVER_PLAN_PLAN_H
#define SAPWOOD_SOLVER_PLAN_PLAN_H

#include "base/memory.h"
#include "constraints/laws.h"
#include "linalg/factorization.h"
#include "problem/graph/graph.h"
#include "problem/products/packed_jacobian.h"
#include "problem/graph/reduction.h"
#include "problem/products/vectors.h"
#include "solver/delassus/delassus_newton.h"

struct sap_plan {
  sap_allocator memory;

  /* of one instruction set */
  const struct sap_kernels *kernels;
  const struct sap_law_loops *laws[SAP_N_LAWS];
  const struct sap_jacobian_loops *jacobian_loops;
  const struct sap_vector_loops *vectors;
  sap_impulses_function *find_impulses;

  /* what is solved, and in which order */
  sap_friction friction;
  struct sap_triples triples;
  struct sap_reduction reduction;
  int has_graph; /* is all that depends on it alone there? */
  struct sap_graph graph;
  struct sap_factor factor; /* H and its Cholesky factor */

  /* inverse factors of the blocks of A, of diagonal ones where has_masses: sap_invert_mass() */
  double *S;           /* (nA) */
  uint64_t *strips;    /* (nv) */
  int8_t *is_diagonal; /* (n_trees) */
  int has_masses; /* are both there before islands are bound? else binding finds what it needs */

  /* for a problem with physical parameters: scratch of the regularization of rows, where there are
   * any, and of contacts, and what becomes of kappa, where any contact has a core */
  double *inverse; /* (nv) */
  int32_t *island; /* (n_trees) */
  double *load;    /* (n_trees) */
  double *kappa;   /* (n_contacts) */

  struct sap_block graph_block, row_block, number_block;
};

/* takes the loops for the instruction set of this number, as in sap_kernels_of() */
void sap_plan_take_loops(struct sap_plan *plan, int32_t set);

/* Is the graph that was built last that of the problem, whose contacts it has, of its triples and
 * their reduction? Then it is kept. */
int sap_plan_has_graph_of(const struct sap_plan *plan, const sap_settings *settings);

/* builds the graph of the problem, its triples and their reduction, and all that follows from it */
sap_status sap_plan_build(struct sap_plan *plan, const sap_problem *problem, const sap_sizes *sizes,
                          const sap_settings *settings);

/* bytes that it keeps */
size_t sap_plan_memory(const struct sap_plan *plan);

void sap_plan_release(struct sap_plan *plan);

#endif
