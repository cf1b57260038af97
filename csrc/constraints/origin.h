/* This module maps the triples of a pool to their rows in a problem and to their results. */
#ifndef SAPWOOD_CONSTRAINTS_ORIGIN_H
#define SAPWOOD_CONSTRAINTS_ORIGIN_H

#include "sapwood.h"

/* Place of the rows of a triple in a group, or in the problem's sap_spin. */
struct sap_triple_rows {
  const sap_constraints *group; /* NULL for sap_spin */
  /* velocity of tree_a that each row moves, if J has its only entry there; else NULL */
  const int32_t *dof;
  const double *J;   /* first row of tree_a */
  int64_t a_step;    /* doubles, from one row of tree_a to the next */
  int64_t b, b_step; /* doubles, from J to the first row of tree_b, and on to the next */
  int64_t row;       /* first row in the group, or the contact in sap_spin */
  int64_t place;     /* first row in all groups */
  int32_t n;         /* number of rows, 1 to 3 */
};

struct sap_origin {
  const int32_t *triple;              /* triple of the problem at each place; contacts come first */
  const struct sap_triple_rows *rows; /* rows of the triples after the contacts */
  int32_t n_contacts;
};

/* Returns the rows of a triple that is not a contact's own. */
static inline const struct sap_triple_rows *sap_rows_at(const struct sap_origin *origin,
                                                        int32_t place) {
  return &origin->rows[origin->triple[place] - origin->n_contacts];
}

#endif
