/* This module finds the blocks of H and its Cholesky factor for inspection; solves do not use it.
 * It holds the contact graph of one problem with the rows of its junction tree, of all velocities
 * that a constraint can move. A solve builds them likewise island by island, but with fewer
 * velocities if it reduces trees (reduction.h). */
#ifndef SAPWOOD_PROBLEM_GRAPH_STRUCTURE_H
#define SAPWOOD_PROBLEM_GRAPH_STRUCTURE_H

#include "problem/graph/graph.h"

struct sap_structure {
  struct sap_graph graph; /* graph.tree has its rows but no updates */
  struct sap_triples triples;
  struct sap_block graph_block, row_block;
};

/* Finds the structure, which starts as zeros and must be released after any outcome. Returns
 * SAP_INVALID_ARGUMENT for inconsistent sizes, SAP_OUT_OF_MEMORY, or SAP_OK. */
sap_status sap_structure_find(struct sap_structure *structure, const sap_problem *problem,
                              const sap_allocator *allocator, sap_error *error);

void sap_structure_release(struct sap_structure *structure, const sap_allocator *allocator);

#endif
