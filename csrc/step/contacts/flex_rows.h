/* Rows of J of contacts of flexes, from the engine's rows.
 *
 * A contact of a flex lies between vertices that move by themselves, so no geom tells its motion;
 * the engine's Jacobian has it. Its rows are those of n, t1, t2 and of the torques about them, or
 * the edges of a pyramid for each component k but n:
 *
 *     e_k+ = n + mu_k k,  e_k- = n - mu_k k     n = (e_1+ + e_1-)/2,  k = (e_k+ - e_k-)/(2 mu_k)
 *
 * A component that the contact lacks has zeros. The surface of flex f counts as the geom
 * n_geoms - n_flexes + f of the forest. */
#ifndef SAPWOOD_STEP_CONTACTS_FLEX_ROWS_H
#define SAPWOOD_STEP_CONTACTS_FLEX_ROWS_H

#include "step/contacts/listed_contact.h"
#include "step/joints/element_gather.h"

struct sap_flex_rows {
  const struct sap_element_gather *elements;
  const struct sap_element_state *state;
  const struct sap_contact_list *list;
  enum sap_cone cone;
};

/* Returns 1 if a side of the contact is a flex. */
static inline int sap_is_flex_contact(const struct sap_element_gather *elements,
                                      const struct sap_listed_contact *contact) {
  const int32_t first =
      elements->elements ? elements->forest->n_geoms - elements->elements->n_flexes : INT32_MAX;
  return contact->geom[0] >= first || contact->geom[1] >= first;
}

/* Finds the trees that a contact moves, -1 for none. Returns 0 if its rows are not in their arrays,
 * or move more than two trees. */
int sap_flex_trees(const struct sap_flex_rows *rows, const struct sap_listed_contact *contact,
                   int32_t tree[2]);

/* Write the rows of J along (t1, t2, n), or about (n, t1, t2), in the blocks of these trees. They
 * return the length of J, 0 if it is zero, -1 if it is not finite. */
int64_t sap_flex_jacobian(const struct sap_flex_rows *rows,
                          const struct sap_listed_contact *contact, const int32_t tree[2],
                          double *J);
int64_t sap_flex_turning(const struct sap_flex_rows *rows, const struct sap_listed_contact *contact,
                         const int32_t tree[2], double *J);

#endif
