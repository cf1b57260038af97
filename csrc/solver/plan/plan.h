/* The plan of a problem holds its triples, their reduction, their graph, the places of H, and the
 * numbers of the trees that all threads see. It is made before a solve and is constant while
 * islands are solved. Only the thread that solves an island writes the numbers of that island: the
 * values of its factor, S of its trees, and the velocities of its reduced trees.
 *
 * The plan owns four blocks of memory: the masses of the trees, which dense storage shares, the
 * graph, the rows of its junction tree, and the numbers. The reduction and the list of triples own
 * their memory. The arrays of a thread are in workspace.h. */
#ifndef SAPWOOD_SOLVER_PLAN_PLAN_H
#define SAPWOOD_SOLVER_PLAN_PLAN_H

#include "base/memory.h"
#include "constraints/laws.h"
#include "constraints/linear_law.h"
#include "linalg/lu_factor.h"
#include "problem/graph/graph.h"
#include "problem/products/packed_jacobian.h"
#include "problem/graph/reduction.h"
#include "problem/regularization/regularization.h"
#include "problem/products/vectors.h"
#include "solver/delassus/delassus_newton.h"
#include "solver/delassus/small_problem.h"

struct sap_plan {
  sap_allocator memory;

  /* loops of one instruction set */
  const struct sap_kernels *kernels;
  const struct sap_law_loops *laws[SAP_N_LAWS];
  const struct sap_jacobian_loops *jacobian_loops;
  const struct sap_vector_loops *vectors;
  const struct sap_linear_loops *linear;
  sap_impulses_function *find_impulses;
  const struct sap_small_loops *small_problems;

  /* the structure of the problem, in the order of the factorization */
  sap_friction friction;
  int leaves_bounds_out; /* 1: results have no certificate */
  struct sap_triples triples;
  struct sap_reduction reduction;
  int has_graph; /* 1: the graph and all that depends only on it are valid */
  struct sap_graph graph;
  struct sap_factor factor; /* H and its Cholesky factor */
  struct sap_lu lu;         /* its unsymmetric twin; empty with convex friction */

  /* Inverse factors of the blocks of A, and room for the regularization of physical parameters.
   * With has_masses the factors of all touched trees, diagonal blocks included, exist before
   * islands are bound; otherwise binding computes the factors that it needs. */
  struct sap_masses masses;
  int8_t *is_diagonal; /* (n_trees) */
  int has_masses;
  double *kappa; /* (n_contacts) kappa of physical parameters, if any contact has a rigid core */

  int32_t n_islands; /* islands of the problem, in either storage */

  struct sap_block mass_block;
  sap_sizes mass_room; /* largest sizes that mass_block has room for, with mass_trees */
  int32_t mass_trees;
  struct sap_block graph_block, row_block, number_block;
};

/* Selects the loops of instruction set `set`, as in sap_kernels_of(). */
void sap_plan_take_loops(struct sap_plan *plan, int32_t set);

/* Makes room for the masses of a problem of these sizes, and finds where its trees begin. Returns 0
 * when memory ran out. */
int sap_plan_fit_masses(struct sap_plan *plan, const sap_problem *problem, const sap_sizes *sizes);

/* Does the last graph, which has the contacts of the problem, also fit its triples, their reduction
 * and the trees that are left out (n_trees, or NULL)? Then it is reused. */
int sap_plan_has_graph_of(const struct sap_plan *plan, const int8_t *left_out,
                          const sap_settings *settings);

/* Builds the graph of the problem from its triples and their reduction, then factor and numbers. */
sap_status sap_plan_build(struct sap_plan *plan, const sap_problem *problem, const sap_sizes *sizes,
                          const int8_t *left_out, const sap_settings *settings);

/* Returns the bytes that the plan owns. */
size_t sap_plan_memory(const struct sap_plan *plan);

void sap_plan_release(struct sap_plan *plan);

#endif
