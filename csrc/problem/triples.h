/* What the solver iterates over: all constraints as triples of rows.
 *
 * A frictional contact is a triple (t1, t2, n). The rows of the other kinds, which do not know of
 * each other, are taken three at a time: those of one constraint, or of single-row constraints that
 * follow each other and move the same trees. Rows that a triple lacks are zero. So products with J,
 * the assembly of H and the graph know one size only, and a law is all that tells triples apart. */
#ifndef SAPWOOD_PROBLEM_TRIPLES_H
#define SAPWOOD_PROBLEM_TRIPLES_H

#include "base/memory.h"
#include "constraints/pool.h"

/* where the rows of a triple lie in a group */
struct sap_triple_rows {
  const sap_constraints *group;
  const double *J;   /* first row, of tree_a */
  int64_t a_step;    /* from one row of tree_a to the next, in doubles */
  int64_t b, b_step; /* from J to the first row of tree_b, and on to the next */
  int64_t row;       /* first row, in the group */
  int64_t place;     /* first row, in all groups */
  int32_t n;         /* rows, 1 to 3 */
};

struct sap_triples {
  struct sap_block block;
  int32_t n, n_contacts; /* contacts come first */
  int has_barriers;
  const int32_t *tree_a, *tree_b; /* (n) */
  const int32_t
      *law; /* (n) of enum sap_law_name; NULL where there are contacts without core alone */
  const struct sap_triple_rows *rows; /* (n - n_contacts) */
};

/* Lists the triples of a problem whose sizes have been checked; valid until the next call.
 * SAP_OUT_OF_MEMORY, or SAP_OK. */
sap_status sap_triples_list(struct sap_triples *triples, const sap_problem *problem,
                            const sap_allocator *memory);

#endif
