/* This module lists all constraints as triples of rows, over which the solver iterates.
 *
 * A frictional contact is a triple (t1, t2, n), and one with torsional and rolling friction a pair
 * of them: a second one for its rows about (n, t1, t2), with the trees and the law of the first.
 * The rows of the other kinds, which are not coupled, are taken three at a time: rows of one
 * constraint, or of consecutive single-row constraints that move the same trees. Missing rows of a
 * triple are zero. So products with J, the assembly of H and the graph have one size only, and
 * triples differ only by their law. */
#ifndef SAPWOOD_PROBLEM_TRIPLES_H
#define SAPWOOD_PROBLEM_TRIPLES_H

#include "base/memory.h"
#include "constraints/laws.h"

struct sap_triples {
  struct sap_block block;
  int64_t version;                /* counts the lists that were made; 0: none */
  int32_t n, n_contacts;          /* contacts come first, then second triples, then groups */
  int8_t present[SAP_N_LAWS];     /* is any triple under this law? not set for the first law */
  int has_laws;                   /* is any of these laws present? */
  int has_walls;                  /* is any of these laws infinite outside of a domain? */
  const int32_t *tree_a, *tree_b; /* (n) */
  const int32_t *law; /* (n) enum sap_law_name; NULL without has_laws: all have the first */
  const struct sap_triple_rows *rows; /* (n - n_contacts) */
  sap_sizes sizes;
  /* The list was made from these; `group` and `index` are copies. */
  int is_kept; /* 0 if the list is not that of another problem by sap_triples_are_of() */
  sap_friction friction;
  const sap_constraints *groups;
  sap_constraints *group; /* (n_groups) */
  int32_t n_trees, n_groups;
  int32_t *index; /* tree_nv, then tree_a, tree_b, dof and size of each group */
};

/* Is the list that of a problem, which need not be checked: have its contacts and groups the same
 * indices, those of groups in the same memory? Then its sizes are those of the list. Problems with
 * torsional friction or barriers are listed each time. */
int sap_triples_are_of(const struct sap_triples *triples, const sap_problem *problem,
                       sap_friction friction);

/* Lists the triples of a problem with checked sizes; valid until the next call. Returns
 * SAP_OUT_OF_MEMORY or SAP_OK. */
sap_status sap_triples_list(struct sap_triples *triples, const sap_problem *problem,
                            const sap_sizes *sizes, sap_friction friction,
                            const sap_allocator *memory);

#endif
