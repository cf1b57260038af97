/* Steps of a tree with contacts (contacts_alone.h) from a velocity that was evaluated. */
#ifndef SAPWOOD_SAP_CONTACT_STEP_H
#define SAPWOOD_SAP_CONTACT_STEP_H

#include "sap/tree_alone.h"

/* Are rows of the tree condensed, and not all impulses unknowns? */
int sap_contact_step_condenses(const struct sap_tree_alone *tree);

/* Before each step of a tree that condenses: rows that the last one has freed, or brought to a
 * bound, become unknowns; before the first one, none are. Returns how many are new, -1 where there
 * are too many. */
int32_t sap_contact_step_mark(const struct sap_tree_alone *tree, int is_first);

/* v to the impulses of the contacts and of all rows or, where these are condensed, of those that
 * are unknown, with the others as they are. 0 where H is not positive definite to round-off. */
int sap_contact_step_take(struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
                          int is_first);

#endif
