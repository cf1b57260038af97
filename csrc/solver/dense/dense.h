/* Solves small components in dense storage: clamped rows, and few contacts with Coulomb's friction,
 * or with convex friction on a chain. Most steps of an arm, of a robot in the air or on its feet,
 * and of a hand are of this kind, with limits, dry friction, controllers and loops.
 *
 * A component is an island like those of supernodal storage, with the same pool, packed J, laws,
 * objective, certificate and results. Its graph only lists it, without an order of elimination, and
 * H is one dense matrix. The trees of a constraint are the sides of its patch, one or two so far.
 * More of them would lengthen that list and the runs of a row, and change nothing else here.
 *
 * Without contacts the cost of a component is quadratic between bounds in few velocities. With
 * contacts their Delassus problem is solved (contact_step.h). Either way a step activates rows
 * before it ends (condensation.h), so that one is mostly enough. If a few steps are not enough or a
 * number breaks a rule, supernodal storage solves the component from its guess. */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_H
#define SAPWOOD_SOLVER_DENSE_DENSE_H

#include "solver/dense/contact_step.h"
#include "solver/statistics.h"

/* most records of a component, with settings->record_history: one more than its steps */
enum { SAP_DENSE_RECORDS = SAP_DENSE_STEPS + 1 };

struct sap_dense {
  struct sap_workspace work;
  struct sap_dense_row *row; /* (rows of the components) rows of the current one */
  struct sap_records records;
  struct sap_block graph_block, block; /* memory of the graph; of the other arrays */
  struct sap_condensed condensed;
  struct sap_components components;
  struct sap_dense_unknowns unknowns;
  struct sap_graph graph;
  int has_graph; /* 1: graph and workspace fit the last components */
};

/* Makes room for the dense components that sap_components_find() has found, with the triples of
 * the plan. Returns 0 when memory ran out. */
int sap_dense_fit(struct sap_dense *dense, const struct sap_plan *plan, const sap_problem *problem,
                  const sap_sizes *sizes, const sap_settings *settings);

/* Solves the dense components of a problem with valid arrays and masses, and adds their statistics
 * to `sums`. Marks the trees of solved components, and returns their number. */
int32_t sap_dense_solve(struct sap_dense *dense, const sap_problem *problem, const double *v_guess,
                        const sap_settings *settings, struct sap_sums *sums);

/* Writes the entries of the solution's arrays that belong to solved components. */
void sap_dense_write(const struct sap_dense *dense, const sap_solution *solution);

/* Returns the bytes of its memory. */
size_t sap_dense_memory(const struct sap_dense *dense);

void sap_dense_release(struct sap_dense *dense, const sap_allocator *allocator);

#endif
