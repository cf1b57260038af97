/* Small components in dense storage: clamped rows, and under Coulomb's friction few contacts. So
 * are most steps of an arm, of a robot in the air or on its feet, and of a hand, with limits, dry
 * friction, controllers and loops. The trees of a component are taken as one (joined_trees.h).
 *
 * Without contacts the cost of a component is quadratic between bounds in few velocities. With
 * contacts it is solved in the space of their impulses (dense_contacts.h). Either way rows that a
 * step turns are taken along before it ends (condensation.h), so that mostly one is enough, and
 * neither needs a graph or a plan. Where a few steps are not enough or a number breaks a rule, the
 * component is left to the islands, which begin anew. */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_H
#define SAPWOOD_SOLVER_DENSE_DENSE_H

#include "solver/statistics.h"
#include "solver/dense/dense_component.h"

/* a component's most records, with settings->record_history: one more than its steps */
enum { SAP_DENSE_RECORDS = 5 };

/* Makes room for the components of a problem whose sizes have been checked, as
 * sap_components_find() has found them; 0 when memory ran out. */
int sap_dense_fit(struct sap_dense *dense, const sap_sizes *sizes, const sap_settings *settings,
                  const sap_allocator *allocator);

/* Solves the dense components of a problem whose arrays are given and whose masses are there, and
 * adds their statistics to `sums`; returns how many were solved, whose trees are marked so. */
int32_t sap_dense_solve(struct sap_dense *dense, const sap_problem *problem, const double *v_guess,
                        const sap_settings *settings, struct sap_sums *sums);

/* Writes the arrays of the solution where they belong to components that were solved. */
void sap_dense_write(const struct sap_dense *dense, const sap_problem *problem,
                     const sap_solution *solution);

/* bytes that it keeps */
size_t sap_dense_memory(const struct sap_dense *dense);

void sap_dense_release(struct sap_dense *dense, const sap_allocator *allocator);

#endif
