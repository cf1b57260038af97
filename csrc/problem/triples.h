/* What the solver iterates over: all constraints as triples of rows.
 *
 * A frictional contact is a triple (t1, t2, n), and one with torsional and rolling friction a pair
 * of them: a second one for its rows about (n, t1, t2), with the trees and the law of the first.
 * The rows of the other kinds, which do not know of each other, are taken three at a time: those of
 * one constraint, or of single-row constraints that follow each other and move the same trees. Rows
 * that a triple lacks are zero. So products with J, the assembly of H and the graph know one size
 * only, and a law is all that tells triples apart. */
#ifndef SAPWOOD_PROBLEM_TRIPLES_H
#define SAPWOOD_PROBLEM_TRIPLES_H

#include "base/memory.h"
#include "constraints/laws.h"

struct sap_triples {
  struct sap_block block;
  int32_t n, n_contacts;          /* contacts come first, then second triples, then groups */
  int8_t present[SAP_N_LAWS];     /* is any under this law? not asked of the first one */
  int has_laws;                   /* is any of them present? */
  int has_walls;                  /* is any of them infinite outside of a domain? */
  const int32_t *tree_a, *tree_b; /* (n) */
  const int32_t *law; /* (n) of enum sap_law_name; NULL without has_laws: all are under the first */
  const struct sap_triple_rows *rows; /* (n - n_contacts) */
};

/* Lists the triples of a problem whose sizes have been checked; valid until the next call.
 * SAP_OUT_OF_MEMORY, or SAP_OK. */
sap_status sap_triples_list(struct sap_triples *triples, const sap_problem *problem,
                            sap_friction friction, const sap_allocator *memory);

#endif
