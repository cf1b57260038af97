/* How a problem is solved: its triples, their reduction, their graph, the places of H, and what
 * belongs to the trees whichever thread solves them. Made before a solve and constant while islands
 * are solved, but for numbers of a tree or an island, which the thread that solves it alone writes:
 * the values of its factor, S of its trees, and the velocities of those that were reduced.
 *
 * It owns four blocks of memory: the masses of the trees, which dense storage shares, the graph,
 * the rows of its junction tree, and the numbers; a reduction and the list of triples have their
 * own. What a thread works on is in workspace.h. */
#ifndef SAPWOOD_SOLVER_PLAN_PLAN_H
#define SAPWOOD_SOLVER_PLAN_PLAN_H

#include "base/memory.h"
#include "constraints/laws.h"
#include "linalg/factorization.h"
#include "problem/graph/graph.h"
#include "problem/products/packed_jacobian.h"
#include "problem/graph/reduction.h"
#include "problem/regularization/regularization.h"
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

  /* Inverse factors of the blocks of A and room for the regularization of physical parameters. With
   * has_masses those of all trees that a constraint touches, of diagonal blocks too, are there
   * before islands are bound; otherwise binding finds the ones that it needs. */
  struct sap_masses masses;
  int8_t *is_diagonal; /* (n_trees) */
  int has_masses;
  double *kappa; /* (n_contacts) kappa of physical parameters, where any contact has a core */

  int32_t n_elsewhere; /* islands that are not in the graph, as dense storage has solved them */

  struct sap_block mass_block;
  sap_sizes mass_room; /* the largest sizes that it was carved for, and as many trees */
  int32_t mass_trees;
  struct sap_block graph_block, row_block, number_block;
};

/* takes the loops for the instruction set of this number, as in sap_kernels_of() */
void sap_plan_take_loops(struct sap_plan *plan, int32_t set);

/* Makes room for the masses of a problem of these sizes, and finds where its trees begin; 0 when
 * memory ran out. */
int sap_plan_fit_masses(struct sap_plan *plan, const sap_problem *problem, const sap_sizes *sizes);

/* Is the graph that was built last that of the problem, whose contacts it has, of its triples and
 * their reduction, without the trees that are left out (n_trees, or NULL)? Then it is kept. */
int sap_plan_has_graph_of(const struct sap_plan *plan, const int8_t *left_out,
                          const sap_settings *settings);

/* builds the graph of the problem, its triples and their reduction, and all that follows from it */
sap_status sap_plan_build(struct sap_plan *plan, const sap_problem *problem, const sap_sizes *sizes,
                          const int8_t *left_out, const sap_settings *settings);

/* bytes that it keeps */
size_t sap_plan_memory(const struct sap_plan *plan);

void sap_plan_release(struct sap_plan *plan);

#endif
