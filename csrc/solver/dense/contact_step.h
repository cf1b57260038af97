/* Steps of a tree with contacts (dense_contacts.h) from a velocity that was evaluated. */
#ifndef SAPWOOD_SOLVER_DENSE_CONTACT_STEP_H
#define SAPWOOD_SOLVER_DENSE_CONTACT_STEP_H

#include "solver/dense/dense_component.h"

/* Are rows of the tree condensed, and not all impulses unknowns? */
int sap_contact_step_condenses(const struct sap_dense_component *tree);

/* what a step leads to: nowhere, H not being positive definite to round-off; to what all rows and
 * contacts ask for; or to what they ask for but some rows that turned and found no room */
enum sap_contact_step {
  SAP_CONTACT_STEP_FAILS,
  SAP_CONTACT_STEP_SETTLES,
  SAP_CONTACT_STEP_LEAVES_ROWS
};

/* v to the impulses of the contacts and of all rows or, where these are condensed, of those that
 * turn on the way. */
enum sap_contact_step sap_contact_step_take(struct sap_dense *dense,
                                            const struct sap_dense_component *tree, int is_first);

#endif
