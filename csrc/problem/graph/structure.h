/* Where H and its Cholesky factor have blocks: the contact graph of one problem with the rows of
 * its junction tree, built as a solve builds them island by island, of all velocities that a
 * constraint can move. A solve that reduces trees (reduction.h) has fewer. For those who want to
 * see it. */
#ifndef SAPWOOD_PROBLEM_GRAPH_STRUCTURE_H
#define SAPWOOD_PROBLEM_GRAPH_STRUCTURE_H

#include "problem/graph/graph.h"

struct sap_structure {
  struct sap_graph graph; /* graph.tree with its rows, without updates */
  struct sap_triples triples;
  struct sap_block graph_block, row_block;
};

/* structure starts as zeros, and is released by sap_structure_release() whatever came of it.
 * SAP_INVALID_ARGUMENT for sizes that do not fit each other, SAP_OUT_OF_MEMORY, or SAP_OK. */
sap_status sap_structure_find(struct sap_structure *structure, const sap_problem *problem,
                              const sap_allocator *allocator, sap_error *error);

void sap_structure_release(struct sap_structure *structure, const sap_allocator *allocator);

#endif
