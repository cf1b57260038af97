/* This module finds the junction tree of a block-sparse symmetric matrix, the structure of its
 * Cholesky factor.
 *
 * The matrix has one dense block per node of a graph (a kinematic tree, of any size) and one per
 * edge. Eliminating the nodes in a fill-reducing order yields cliques; nested cliques are merged,
 * and small ones that waste little, into supernodes: runs of consecutive nodes with one dense panel
 *
 *        [ L ]  n_cols     the supernode's own scalars (residual of the clique)
 *        [ B ]  n_rows     rows of nodes above it in the tree (separator), ascending
 *
 * stored column-major, panel after panel. Scalars are numbered in elimination order. Every
 * connected component of the graph is one contiguous range of nodes, supernodes and scalars.
 *
 * Three passes work in memory of exactly the size that the previous pass found: order() finds order
 * and supernodes, list_rows() the rows of each, list_updates() the segments and updates. The caller
 * owns the memory. */
#ifndef SAPWOOD_LINALG_JUNCTION_TREE_H
#define SAPWOOD_LINALG_JUNCTION_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "linalg/ordering.h"

/* A segment is a run of rows of a panel that is contiguous in the vector of scalars. */
struct sap_segment {
  int32_t scalar; /* first scalar */
  int32_t length;
};

/* An update follows the factorization of a panel: target (n_rows, n_cols) -= B[row..] B[col..]^T.
 * The block is on the diagonal of its target if row == col. */
struct sap_update {
  size_t target; /* offset in the array of values */
  int32_t target_ld;
  int32_t row, n_rows; /* rows of the source panel */
  int32_t col, n_cols; /* rows of the source panel that become columns */
};

/* Panels begin at multiples of this, their leading dimensions are multiples of it, and as many
 * zeros follow them: a vector of doubles may begin at any of their entries, and so may a vector of
 * floats, which ends in the next panel or in further zeros. */
enum { SAP_PANEL_STEP = 8 };

struct sap_supernode {
  int32_t node_begin, node_end; /* its nodes, by position in the order */
  int32_t scalar;               /* first scalar */
  int32_t n_cols, n_rows, ld;   /* ld = n_cols + n_rows, rounded up */
  int32_t parent;               /* supernode, or -1 */
  int32_t row_begin, row_end;   /* its rows in row_node */
  int32_t segment_begin, segment_end;
  int32_t update_begin, update_end;
  size_t values; /* offset of the panel */
};

struct sap_component {
  int32_t node_begin, node_end;
  int32_t supernode_begin, supernode_end;
  int32_t scalar_begin, scalar_end;
};

struct sap_junction_tree {
  int32_t n_nodes, n_edges;
  int32_t n_scalars;
  int32_t n_supernodes, n_components;
  int32_t n_row_nodes, n_segments, n_updates;
  size_t n_values; /* entries of all panels */

  /* the order, carved with the graph */
  int32_t *order;          /* (n_nodes) input node at each position */
  int32_t *position;       /* (n_nodes) inverse of order */
  int32_t *node_scalar;    /* (n_nodes + 1) first scalar, by position */
  int32_t *node_supernode; /* (n_nodes) by position */
  struct sap_supernode *supernode;
  struct sap_component *component;

  /* rows, then updates, each carved once their number is known */
  int32_t *row_node;   /* (n_row_nodes) node positions */
  int32_t *row_offset; /* (n_row_nodes) first panel row of each */
  struct sap_segment *segment;
  struct sap_update *update;

  /* scratch */
  struct sap_ordering ordering;
  int32_t *neighbour_start, *neighbour; /* lower neighbours of each position */
  int32_t *etree, *count, *mark, *link, *stack, *scratch;
  int64_t *zeros;
};

void sap_junction_tree_carve(struct sap_junction_tree *tree, struct sap_arena *arena,
                             int32_t n_nodes, int32_t n_edges);
void sap_junction_tree_carve_rows(struct sap_junction_tree *tree, struct sap_arena *arena);
void sap_junction_tree_carve_updates(struct sap_junction_tree *tree, struct sap_arena *arena);

/* Takes size (n_nodes), the scalars of each node, and edges, pairs of different nodes, each pair
 * once. With `whole` the whole forest counts as one component. */
void sap_junction_tree_order(struct sap_junction_tree *tree, const int32_t *size,
                             const int32_t *edge_a, const int32_t *edge_b, int whole);
/* The same with the order of elimination that the caller has left in tree->order. Children come
 * before their parents and subtrees become contiguous, which changes no structure. */
void sap_junction_tree_keep_order(struct sap_junction_tree *tree, const int32_t *size,
                                  const int32_t *edge_a, const int32_t *edge_b, int whole);
/* Only groups the nodes by component, without an order of elimination or supernodes: for matrices
 * that are factored as a whole. first (n_nodes) is the lowest node of each node's component. */
void sap_junction_tree_group(struct sap_junction_tree *tree, const int32_t *size,
                             const int32_t *first);
void sap_junction_tree_list_rows(struct sap_junction_tree *tree);
void sap_junction_tree_list_updates(struct sap_junction_tree *tree);

/* Returns the number of scalars of the node at a position. */
static inline int32_t sap_node_size(const struct sap_junction_tree *tree, int32_t node) {
  return tree->node_scalar[node + 1] - tree->node_scalar[node];
}

/* Returns the position of the node that holds a scalar, searched from `node` on. */
static inline int32_t sap_node_of_scalar(const struct sap_junction_tree *tree, int32_t node,
                                         int32_t scalar) {
  while (tree->node_scalar[node + 1] <= scalar) {
    ++node;
  }
  return node;
}

/* Returns the place of block (row node, column node) by position, column <= row, both in one
 * clique. */
size_t sap_junction_tree_block(const struct sap_junction_tree *tree, int32_t row, int32_t column,
                               int32_t *ld);

#endif
