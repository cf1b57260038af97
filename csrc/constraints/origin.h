/* Where the triples of a pool come from in a problem, and where their results go. */
#ifndef SAPWOOD_CONSTRAINTS_ORIGIN_H
#define SAPWOOD_CONSTRAINTS_ORIGIN_H

#include "sapwood.h"

/* where the rows of a triple lie in a group, or in the problem's sap_spin */
struct sap_triple_rows {
  const sap_constraints *group; /* NULL for sap_spin */
  /* of each row, the velocity of tree_a that it moves, where J has its only entry; else NULL */
  const int32_t *dof;
  const double *J;   /* first row, of tree_a */
  int64_t a_step;    /* from one row of tree_a to the next, in doubles */
  int64_t b, b_step; /* from J to the first row of tree_b, and on to the next */
  int64_t row;       /* first row, in the group; in sap_spin the contact */
  int64_t place;     /* first row, in all groups */
  int32_t n;         /* rows, 1 to 3 */
};

struct sap_origin {
  const int32_t *triple;              /* the problem's triple at each place: contacts come first */
  const struct sap_triple_rows *rows; /* of the triples behind the contacts */
  int32_t n_contacts;
};

/* of a triple that is none of a contact */
static inline const struct sap_triple_rows *sap_rows_at(const struct sap_origin *origin,
                                                        int32_t place) {
  return &origin->rows[origin->triple[place] - origin->n_contacts];
}

#endif
