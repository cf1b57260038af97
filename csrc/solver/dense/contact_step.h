/* Takes steps of a component with contacts (dense_contacts.h) from a velocity that was
 * evaluated. */
#ifndef SAPWOOD_SOLVER_DENSE_CONTACT_STEP_H
#define SAPWOOD_SOLVER_DENSE_CONTACT_STEP_H

#include "solver/dense/dense_component.h"

/* Are rows of the tree condensed, instead of all impulses being unknowns? */
int sap_contact_step_condenses(const struct sap_dense_component *tree);

/* The result of a step. It fails if H is not positive definite to round-off. It settles if it obeys
 * the laws of all contacts and rows. It leaves rows if some could not be activated. */
enum sap_contact_step {
  SAP_CONTACT_STEP_FAILS,
  SAP_CONTACT_STEP_SETTLES,
  SAP_CONTACT_STEP_LEAVES_ROWS
};

/* Moves v by the impulses of the contacts and of all rows or, with condensation, of the activated
 * rows. */
enum sap_contact_step sap_contact_step_take(struct sap_dense *dense,
                                            const struct sap_dense_component *tree, int is_first);

#endif
