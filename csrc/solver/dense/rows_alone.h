/* Small problems: clamped rows, and under Coulomb's friction few contacts. So are most steps of an
 * arm, of a robot in the air or on its feet, and of a hand, with limits, dry friction, controllers
 * and loops. Trees that constraints join are one tree here (component.h).
 *
 * Without contacts the cost of a tree is quadratic between bounds in few velocities. With contacts
 * it is solved in the space of their impulses (contacts_alone.h). Either way rows that a step turns
 * are taken along before it ends (condensation.h), so that mostly one is enough, and neither needs
 * a graph or a plan. Where a few steps are not enough or a number breaks a rule, it leaves the
 * problem to the islands, which begin anew. */
#ifndef SAPWOOD_SOLVER_DENSE_ROWS_ALONE_H
#define SAPWOOD_SOLVER_DENSE_ROWS_ALONE_H

#include "solver/dense/tree_alone.h"

enum sap_dense_outcome {
  SAP_DENSE_UNFIT, /* the problem is not for dense storage, or a number of it breaks a rule */
  SAP_DENSE_NO_MEMORY,
  SAP_DENSE_FAILED, /* the steps that are allowed did not suffice */
  SAP_DENSE_SOLVED  /* the solution has everything but symbolic fields */
};

/* `physical` is NULL where the problem has its regularization already. Unless the outcome is
 * SAP_DENSE_SOLVED nothing is written to the solution and its arrays; those of `physical` may have
 * been. */
enum sap_dense_outcome sap_rows_alone_solve(struct sap_rows_alone *alone,
                                            const sap_problem *problem,
                                            const struct sap_regularization *physical,
                                            const double *v_guess, const sap_settings *settings,
                                            const sap_allocator *allocator, sap_solution *solution);

/* bytes that it keeps */
size_t sap_rows_alone_memory(const struct sap_rows_alone *alone);

void sap_rows_alone_release(struct sap_rows_alone *alone, const sap_allocator *allocator);

#endif
