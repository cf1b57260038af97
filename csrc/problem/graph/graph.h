/* This module builds the contact graph: trees are nodes, patches are edges, islands are connected
 * components.
 *
 * It contains only trees that a constraint touches; they are numbered in elimination order
 * ("positions"), and so are their velocities ("scalars"). All triples of one law between the same
 * two trees (or one tree and the world) form a patch; patches are sorted by island, law and lower
 * position. So an island is one contiguous range of positions, scalars, patches and triples, and
 * each law is one range of the triples of an island. Within a patch triples keep their order,
 * except that the second triple of a pair follows the first.
 *
 * Only the remaining velocities of a reduced tree (reduction.h) are scalars. Whole components may
 * be left out, as dense storage solves them. The graph depends only on tree_nv, the trees and laws
 * of the triples, the number of remaining velocities of each tree and the trees that are left out.
 * It is reused while they stay the same. */
#ifndef SAPWOOD_PROBLEM_GRAPH_GRAPH_H
#define SAPWOOD_PROBLEM_GRAPH_GRAPH_H

#include "linalg/junction_tree.h"
#include "problem/triples.h"

struct sap_patch {
  int32_t low, high;     /* positions of its trees, low < high; high = -1 for the world */
  int32_t begin, end;    /* its triples, as places in patch order */
  int32_t edge;          /* edge of the junction tree, -1 for the world */
  int32_t law;           /* law of its triples */
  int32_t pairs;         /* 1 if its law takes pairs: both triples of a contact follow each other */
  int32_t is_diagonal;   /* 1 if its law is diagonal: no rows in the packed J, and no incidences */
  int32_t shares;        /* 1 if an earlier patch of another law has the same two trees */
  int64_t J_low, J_high; /* first row of each side in the packed J, see packed_jacobian.h */
};

/* A patch as one of its trees sees it. */
struct sap_incidence {
  int32_t patch;
  int32_t begin, end; /* its triples */
};

/* Returns the doubles of a packed row of n: whole cache lines and vectors, with zeros after n. */
static inline int32_t sap_stride(int32_t n) { return (n + 7) & ~7; }

struct sap_island {
  int32_t index;
  int32_t node_begin, node_end;
  int32_t scalar_begin, scalar_end;
  int32_t patch_begin, patch_end;
  int32_t triple_begin, triple_end;
  int32_t law_begin[SAP_N_LAWS + 1]; /* its triples by law; joints' count as clamped */
};

/* Returns the first law from `law` on that has triples in the island, else SAP_N_LAWS. */
static inline int sap_law_from(const struct sap_island *island, int law) {
  while (law < SAP_N_LAWS && island->law_begin[law] == island->law_begin[law + 1]) {
    ++law;
  }
  return law;
}

struct sap_graph {
  int64_t version; /* version of the triples that it was built from */
  /* signature: a private copy of the index arrays */
  int32_t n_trees, n_triples, whole, has_laws;
  int32_t *tree_nv, *tree_a, *tree_b;
  int32_t *law;       /* (n_triples) law, if has_laws; else all have the first of the table */
  int32_t *tree_size; /* (n_trees) number of remaining velocities */
  int8_t *left_out;   /* (n_trees) 1: the component of the tree is left out */

  sap_sizes sizes;
  int64_t *tree_v;        /* (n_trees) first velocity of each tree */
  int64_t *tree_A;        /* (n_trees) first entry of its block */
  int32_t *tree_position; /* (n_trees) position, or -1 for a tree outside of the graph */

  int32_t n_nodes, n_patches, n_edges, n_islands;
  int32_t n_places;        /* number of triples in the graph */
  struct sap_patch *patch; /* (n_patches) */
  /* (incidence_start[n_nodes]) patches of each position, in order */
  struct sap_incidence *incidence;
  int32_t *incidence_start;      /* (n_nodes + 1) */
  int64_t *node_J;               /* (n_nodes + 1) first row of each position in the packed J */
  struct sap_island *island;     /* (n_islands) */
  int32_t *triple;               /* (n_places) the problem's triple at each place */
  int64_t *contact_J;            /* (n_places) rows of a contact in the problem's J, by place */
  int32_t *edge_low, *edge_high; /* (n_edges) positions */
  int32_t *node_tree;            /* (n_nodes) the problem's tree at each position */
  int64_t max_node_width;   /* largest number of doubles in the rows of one position, for scratch */
  int32_t max_node_triples; /* largest number of triples of one position */
  struct sap_junction_tree tree;

  /* scratch */
  int32_t *node_of_tree, *tree_of_node, *node_size, *first_node, *low_node, *high_node, *sorted,
      *bucket;
  int32_t *run, *run_begin;
  int64_t *offset;
  int32_t *edge_a, *edge_b;
  struct sap_patch *unsorted;
};

/* Returns the origin of the triples at its places. */
static inline struct sap_origin sap_graph_origin(const struct sap_graph *graph,
                                                 const struct sap_triples *triples) {
  return (struct sap_origin){graph->triple, triples->rows, triples->n_contacts};
}

/* Does the graph begin with the same trees and contacts? The problem may be unchecked. */
int sap_graph_has_contacts(const struct sap_graph *graph, const sap_problem *problem);

/* Do the other triples, the sizes, the trees that are left out and `whole` agree too? */
int sap_graph_has_triples(const struct sap_graph *graph, const struct sap_triples *triples,
                          const int32_t *tree_size, const int8_t *left_out, int whole);

/* Carves the graph of this many trees and triples, without rows of the junction tree. */
void sap_graph_carve(struct sap_graph *graph, struct sap_arena *arena, int32_t n_trees,
                     int32_t n_triples);

/* Builds everything except the rows and updates of the junction tree. left_out (n_trees) may be
 * NULL: then no tree is left out. With `first` (n_trees), the first tree of each tree's component,
 * the nodes are only grouped by component: the junction tree has no supernodes. */
void sap_graph_build(struct sap_graph *graph, const sap_problem *problem,
                     const struct sap_triples *triples, const sap_sizes *sizes,
                     const int32_t *tree_size, const int8_t *left_out, int whole,
                     const int32_t *first);

#endif
