/* This module shows the blocks of H and its Cholesky factor: the contact graph of one problem with
 * the rows of its junction tree, built island by island as a solve does, of all velocities that a
 * constraint can move. A solve that reduces trees (reduction.h) has fewer. Solves do not use it. */
#ifndef SAPWOOD_PROBLEM_GRAPH_STRUCTURE_H
#define SAPWOOD_PROBLEM_GRAPH_STRUCTURE_H

#include "problem/graph/graph.h"

struct sap_structure {
  struct sap_graph graph; /* graph.tree has its rows but no updates */
  struct sap_triples triples;
  struct sap_block graph_block, row_block;
};

/* Finds the structure, which starts as zeros and must be released by sap_structure_release() after
 * any outcome. Returns SAP_INVALID_ARGUMENT for inconsistent sizes, SAP_OUT_OF_MEMORY, or
 * SAP_OK. */
sap_status sap_structure_find(struct sap_structure *structure, const sap_problem *problem,
                              const sap_allocator *allocator, sap_error *error);

void sap_structure_release(struct sap_structure *structure, const sap_allocator *allocator);

#endif
