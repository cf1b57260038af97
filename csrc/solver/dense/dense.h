/* Solves small components in dense storage: clamped rows, and few contacts with Coulomb's friction.
 * Most steps of an arm, of a robot in the air or on its feet, and of a hand are of this kind, with
 * limits, dry friction, controllers and loops. The trees of a component are joined to one
 * (joined_trees.h).
 *
 * Without contacts the cost of a component is quadratic between bounds in few velocities. With
 * contacts their Delassus problem is solved (dense_contacts.h). Either way a step activates rows
 * before it ends (condensation.h), so that one is mostly enough, and neither needs a graph or a
 * plan. If a few steps are not enough or a number breaks a rule, the islands solve the component
 * from its guess. */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_H
#define SAPWOOD_SOLVER_DENSE_DENSE_H

#include "solver/statistics.h"
#include "solver/dense/dense_component.h"

/* most records of a component, with settings->record_history: one more than its steps */
enum { SAP_DENSE_RECORDS = 5 };

/* Makes room for the components that sap_components_find() has found. Returns 0 when memory ran
 * out. */
int sap_dense_fit(struct sap_dense *dense, const sap_sizes *sizes, const sap_settings *settings,
                  const sap_allocator *allocator);

/* Solves the dense components of a problem with valid arrays and masses, and adds their statistics
 * to `sums`. Marks the trees of solved components, and returns their number. */
int32_t sap_dense_solve(struct sap_dense *dense, const sap_problem *problem, const double *v_guess,
                        const sap_settings *settings, struct sap_sums *sums);

/* Writes the entries of the solution's arrays that belong to solved components. */
void sap_dense_write(const struct sap_dense *dense, const sap_problem *problem,
                     const sap_solution *solution);

/* Returns the bytes of its memory. */
size_t sap_dense_memory(const struct sap_dense *dense);

void sap_dense_release(struct sap_dense *dense, const sap_allocator *allocator);

#endif
