#include "linalg/junction_tree.h"

#include <string.h>

void sap_junction_tree_carve(struct sap_junction_tree *tree, struct sap_arena *arena,
                             int32_t n_nodes, int32_t n_edges) {
  const size_t n = (size_t)n_nodes;
  tree->n_nodes = n_nodes;
  tree->n_edges = n_edges;
  tree->order = sap_arena_take(arena, n, sizeof(int32_t));
  tree->position = sap_arena_take(arena, n, sizeof(int32_t));
  tree->node_scalar = sap_arena_take(arena, n + 1, sizeof(int32_t));
  tree->node_supernode = sap_arena_take(arena, n, sizeof(int32_t));
  tree->supernode = sap_arena_take(arena, n, sizeof(struct sap_supernode));
  tree->component = sap_arena_take(arena, n, sizeof(struct sap_component));
  sap_ordering_carve(&tree->ordering, arena, n_nodes, n_edges);
  tree->neighbour_start = sap_arena_take(arena, n + 1, sizeof(int32_t));
  tree->neighbour = sap_arena_take(arena, (size_t)n_edges, sizeof(int32_t));
  tree->etree = sap_arena_take(arena, n, sizeof(int32_t));
  tree->count = sap_arena_take(arena, n, sizeof(int32_t));
  tree->mark = sap_arena_take(arena, n, sizeof(int32_t));
  tree->link = sap_arena_take(arena, n, sizeof(int32_t));
  tree->stack = sap_arena_take(arena, n, sizeof(int32_t));
  tree->scratch = sap_arena_take(arena, n, sizeof(int32_t));
  tree->zeros = sap_arena_take(arena, n, sizeof(int64_t));
}

void sap_junction_tree_carve_rows(struct sap_junction_tree *tree, struct sap_arena *arena) {
  tree->row_node = sap_arena_take(arena, (size_t)tree->n_row_nodes, sizeof(int32_t));
  tree->row_offset = sap_arena_take(arena, (size_t)tree->n_row_nodes, sizeof(int32_t));
}

void sap_junction_tree_carve_updates(struct sap_junction_tree *tree, struct sap_arena *arena) {
  tree->segment = sap_arena_take(arena, (size_t)tree->n_segments, sizeof(struct sap_segment));
  tree->update = sap_arena_take(arena, (size_t)tree->n_updates, sizeof(struct sap_update));
}

/* ---- order ---- */

/* Lists the neighbours of each position at lower positions. */
static void list_lower_neighbours(struct sap_junction_tree *tree, const int32_t *edge_a,
                                  const int32_t *edge_b) {
  int32_t *start = tree->neighbour_start;
  memset(start, 0, ((size_t)tree->n_nodes + 1) * sizeof *start);
  for (int32_t pass = 0; pass < 2; ++pass) {
    for (int32_t e = 0; e < tree->n_edges; ++e) {
      const int32_t a = tree->position[edge_a[e]], b = tree->position[edge_b[e]];
      const int32_t high = a > b ? a : b, low = a > b ? b : a;
      if (pass == 0) {
        start[high + 1]++;
      } else {
        tree->neighbour[start[high]++] = low;
      }
    }
    if (pass == 0) {
      for (int32_t i = 0; i < tree->n_nodes; ++i) {
        start[i + 1] += start[i];
      }
    }
  }
  /* the second pass left each start at its end */
  for (int32_t i = tree->n_nodes; i > 0; --i) {
    start[i] = start[i - 1];
  }
  start[0] = 0;
}

static void set_positions(struct sap_junction_tree *tree) {
  for (int32_t k = 0; k < tree->n_nodes; ++k) {
    tree->position[tree->order[k]] = k;
  }
}

/* Finds the elimination tree by path compression (Liu). */
static void find_elimination_tree(struct sap_junction_tree *tree) {
  int32_t *ancestor = tree->link;
  for (int32_t i = 0; i < tree->n_nodes; ++i) {
    tree->etree[i] = -1;
    ancestor[i] = -1;
    for (int32_t p = tree->neighbour_start[i]; p < tree->neighbour_start[i + 1]; ++p) {
      int32_t j = tree->neighbour[p];
      while (j != -1 && j != i) {
        const int32_t next = ancestor[j];
        ancestor[j] = i;
        if (next == -1) {
          tree->etree[j] = i;
        }
        j = next;
      }
    }
  }
}

/* Orders children before parents and makes subtrees contiguous; composes the order with it. */
static void postorder(struct sap_junction_tree *tree) {
  const int32_t n = tree->n_nodes;
  int32_t *first_child = tree->count, *sibling = tree->link, *stack = tree->stack;
  for (int32_t i = 0; i < n; ++i) {
    first_child[i] = -1;
  }
  for (int32_t i = n - 1; i >= 0; --i) {
    const int32_t parent = tree->etree[i];
    if (parent >= 0) {
      sibling[i] = first_child[parent];
      first_child[parent] = i;
    }
  }
  int32_t k = 0;
  for (int32_t root = 0; root < n; ++root) {
    if (tree->etree[root] >= 0) {
      continue;
    }
    int32_t depth = 0;
    stack[depth++] = root;
    while (depth > 0) {
      const int32_t top = stack[depth - 1], child = first_child[top];
      if (child >= 0) {
        first_child[top] = sibling[child];
        stack[depth++] = child;
      } else {
        tree->scratch[k++] = tree->order[top];
        --depth;
      }
    }
  }
  memcpy(tree->order, tree->scratch, (size_t)n * sizeof *tree->order);
}

/* Counts by walks up the row subtrees: count[j] = block rows of column j below the diagonal,
 * scalar_rows[j] = their scalars. */
static void count_column_rows(struct sap_junction_tree *tree, int32_t *scalar_rows) {
  memset(scalar_rows, 0, (size_t)tree->n_nodes * sizeof *scalar_rows);
  for (int32_t i = 0; i < tree->n_nodes; ++i) {
    const int32_t size = sap_node_size(tree, i);
    tree->count[i] = 0;
    tree->mark[i] = i;
    for (int32_t p = tree->neighbour_start[i]; p < tree->neighbour_start[i + 1]; ++p) {
      for (int32_t j = tree->neighbour[p]; tree->mark[j] != i; j = tree->etree[j]) {
        tree->mark[j] = i;
        tree->count[j]++;
        scalar_rows[j] += size;
      }
    }
  }
}

/* ---- supernodes ---- */

static int32_t columns_of(const struct sap_junction_tree *tree, const struct sap_supernode *s) {
  return tree->node_scalar[s->node_end] - tree->node_scalar[s->node_begin];
}

/* Is the dense panel of child and parent merged worth its explicit zeros? Narrow panels cost more
 * in overhead than in flops, so the share of zeros allowed falls with the width. */
static int worth_merging(int64_t columns, int64_t zeros, int64_t entries) {
  const double share = (double)zeros / (double)entries;
  return columns <= 12 || (columns <= 24 && share < 0.3) || (columns <= 48 && share < 0.1) ||
         share < 0.05;
}

/* Finds fundamental runs of equal structure first; then each supernode absorbs the preceding ones
 * that are its children, while that is worth it. n_rows is counted in scalars on the way. */
static void find_supernodes(struct sap_junction_tree *tree, const int32_t *scalar_rows) {
  int32_t n = 0;
  for (int32_t j = 0; j < tree->n_nodes; ++j) {
    struct sap_supernode *last = n > 0 ? &tree->supernode[n - 1] : NULL;
    if (last && tree->etree[j - 1] == j && tree->count[j - 1] == tree->count[j] + 1) {
      last->node_end = j + 1;
      last->n_rows = scalar_rows[j];
    } else {
      last = &tree->supernode[n++];
      *last = (struct sap_supernode){.node_begin = j, .node_end = j + 1, .n_rows = scalar_rows[j]};
      tree->zeros[n - 1] = 0;
    }
    /* a run ends where the next column does not continue it */
    const int ends = j + 1 == tree->n_nodes || tree->etree[j] != j + 1 ||
                     tree->count[j] != tree->count[j + 1] + 1;
    while (ends && n > 1) {
      struct sap_supernode *child = &tree->supernode[n - 2], *parent = &tree->supernode[n - 1];
      const int32_t above = tree->etree[child->node_end - 1];
      if (above < parent->node_begin || above >= parent->node_end) {
        break;
      }
      const int64_t child_columns = columns_of(tree, child);
      const int64_t parent_columns = columns_of(tree, parent);
      const int64_t columns = child_columns + parent_columns;
      const int64_t zeros = tree->zeros[n - 2] + tree->zeros[n - 1] +
                            child_columns * (parent_columns + parent->n_rows - child->n_rows);
      if (!worth_merging(columns, zeros, columns * (columns + 1) / 2 + columns * parent->n_rows)) {
        break;
      }
      child->node_end = parent->node_end;
      child->n_rows = parent->n_rows;
      tree->zeros[n - 2] = zeros;
      --n;
    }
  }
  tree->n_supernodes = n;
}

/* Visits every (supernode, row node) pair, rows ascending; without `fill` only counts in
 * row_end. */
static void walk_rows(struct sap_junction_tree *tree, int fill) {
  int32_t *mark = tree->mark;
  for (int32_t s = 0; s < tree->n_supernodes; ++s) {
    mark[s] = -1;
    if (fill) {
      tree->supernode[s].row_end = tree->supernode[s].row_begin;
      tree->scratch[s] = tree->supernode[s].n_cols;
    }
  }
  for (int32_t i = 0; i < tree->n_nodes; ++i) {
    mark[tree->node_supernode[i]] = i;
    for (int32_t p = tree->neighbour_start[i]; p < tree->neighbour_start[i + 1]; ++p) {
      int32_t s = tree->node_supernode[tree->neighbour[p]];
      for (; mark[s] != i; s = tree->supernode[s].parent) {
        struct sap_supernode *node = &tree->supernode[s];
        mark[s] = i;
        if (fill) {
          tree->row_node[node->row_end] = i;
          tree->row_offset[node->row_end] = tree->scratch[s];
          tree->scratch[s] += sap_node_size(tree, i);
        }
        node->row_end++;
      }
    }
  }
}

/* Cuts the rows of s into runs. A segment is a run contiguous in scalars; an update pairs a run of
 * columns inside one target supernode with a run of rows contiguous in the target's panel. With
 * fill == 0 both are only counted. */
static void list_segments(struct sap_junction_tree *tree, struct sap_supernode *s, int fill) {
  s->segment_begin = tree->n_segments;
  for (int32_t r = s->row_begin; r < s->row_end;) {
    int32_t end = r + 1;
    while (end < s->row_end && tree->row_node[end] == tree->row_node[end - 1] + 1) {
      ++end;
    }
    if (fill) {
      const int32_t first = tree->node_scalar[tree->row_node[r]];
      const int32_t last = tree->node_scalar[tree->row_node[end - 1] + 1];
      tree->segment[tree->n_segments] = (struct sap_segment){first, last - first};
    }
    tree->n_segments++;
    r = end;
  }
  s->segment_end = tree->n_segments;
}

/* Returns the panel row just after row index r of s. */
static int32_t row_end_offset(const struct sap_junction_tree *tree, const struct sap_supernode *s,
                              int32_t r) {
  return r + 1 < s->row_end ? tree->row_offset[r + 1] : s->n_cols + s->n_rows;
}

static void list_updates(struct sap_junction_tree *tree, struct sap_supernode *s, int fill) {
  s->update_begin = tree->n_updates;
  for (int32_t c = s->row_begin; c < s->row_end;) {
    /* columns c..c_end are consecutive nodes of one target */
    const struct sap_supernode *target = &tree->supernode[tree->node_supernode[tree->row_node[c]]];
    int32_t c_end = c + 1;
    while (c_end < s->row_end && tree->row_node[c_end] == tree->row_node[c_end - 1] + 1 &&
           tree->row_node[c_end] < target->node_end) {
      ++c_end;
    }
    const int32_t column = tree->row_node[c];
    /* rows from c on are cut wherever the target's panel does not hold them side by side */
    int32_t t = target->row_begin;
    for (int32_t r = c; r < s->row_end;) {
      const int32_t row = tree->row_node[r];
      const int inside = row < target->node_end;
      int32_t end = r + 1;
      int32_t target_row;
      if (inside) {
        target_row = tree->node_scalar[row] - target->scalar;
        while (end < s->row_end && tree->row_node[end] == tree->row_node[end - 1] + 1 &&
               tree->row_node[end] < target->node_end) {
          ++end;
        }
      } else {
        while (tree->row_node[t] != row) {
          ++t;
        }
        target_row = tree->row_offset[t];
        for (++t;
             end < s->row_end && t < target->row_end && tree->row_node[end] == tree->row_node[t];
             ++end, ++t) {
        }
      }
      if (fill) {
        const int32_t target_column = tree->node_scalar[column] - target->scalar;
        tree->update[tree->n_updates] = (struct sap_update){
            .target =
                target->values + (size_t)target_column * (size_t)target->ld + (size_t)target_row,
            .target_ld = target->ld,
            .row = tree->row_offset[r],
            .n_rows = row_end_offset(tree, s, end - 1) - tree->row_offset[r],
            .col = tree->row_offset[c],
            .n_cols = row_end_offset(tree, s, c_end - 1) - tree->row_offset[c],
        };
      }
      tree->n_updates++;
      r = end;
    }
    c = c_end;
  }
  s->update_end = tree->n_updates;
}

/* Pads rows to whole vectors and avoids columns that are a multiple of 512 bytes apart, which would
 * fall on too few sets of the cache. */
static int32_t leading_dimension(int32_t rows) {
  const int32_t ld = (rows + SAP_PANEL_STEP - 1) / SAP_PANEL_STEP * SAP_PANEL_STEP;
  return ld % 64 == 0 ? ld + SAP_PANEL_STEP : ld;
}

static void size_supernodes(struct sap_junction_tree *tree, int whole) {
  tree->n_values = 0;
  tree->n_components = 0;
  for (int32_t s = 0; s < tree->n_supernodes; ++s) {
    struct sap_supernode *node = &tree->supernode[s];
    node->scalar = tree->node_scalar[node->node_begin];
    node->n_cols = columns_of(tree, node);
    node->ld = leading_dimension(node->n_cols + node->n_rows);
    node->values = tree->n_values;
    node->row_begin = node->row_end = 0;
    tree->n_values += (size_t)node->ld * (size_t)node->n_cols + SAP_PANEL_STEP;
    for (int32_t i = node->node_begin; i < node->node_end; ++i) {
      tree->node_supernode[i] = s;
    }
  }
  for (int32_t s = 0; s < tree->n_supernodes; ++s) {
    struct sap_supernode *node = &tree->supernode[s];
    const int32_t above = tree->etree[node->node_end - 1];
    node->parent = above >= 0 ? tree->node_supernode[above] : -1;
    const int opens = s == 0 || (!whole && tree->supernode[s - 1].parent < 0);
    if (opens) {
      tree->component[tree->n_components++] = (struct sap_component){
          .node_begin = node->node_begin, .supernode_begin = s, .scalar_begin = node->scalar};
    }
    struct sap_component *component = &tree->component[tree->n_components - 1];
    component->node_end = node->node_end;
    component->supernode_end = s + 1;
    component->scalar_end = node->scalar + node->n_cols;
  }
}

static void place_scalars(struct sap_junction_tree *tree, const int32_t *size) {
  tree->node_scalar[0] = 0;
  for (int32_t k = 0; k < tree->n_nodes; ++k) {
    tree->node_scalar[k + 1] = tree->node_scalar[k] + size[tree->order[k]];
  }
  tree->n_scalars = tree->node_scalar[tree->n_nodes];
}

void sap_junction_tree_order(struct sap_junction_tree *tree, const int32_t *size,
                             const int32_t *edge_a, const int32_t *edge_b, int whole) {
  sap_ordering_minimum_degree(&tree->ordering, tree->n_nodes, tree->n_edges, edge_a, edge_b,
                              tree->order);
  sap_junction_tree_keep_order(tree, size, edge_a, edge_b, whole);
}

void sap_junction_tree_keep_order(struct sap_junction_tree *tree, const int32_t *size,
                                  const int32_t *edge_a, const int32_t *edge_b, int whole) {
  set_positions(tree);
  list_lower_neighbours(tree, edge_a, edge_b);
  find_elimination_tree(tree);
  postorder(tree);

  /* repeat all three in the final order */
  set_positions(tree);
  list_lower_neighbours(tree, edge_a, edge_b);
  find_elimination_tree(tree);
  place_scalars(tree, size);
  count_column_rows(tree, tree->scratch);
  find_supernodes(tree, tree->scratch);
  size_supernodes(tree, whole);

  walk_rows(tree, 0);
  tree->n_row_nodes = 0;
  for (int32_t s = 0; s < tree->n_supernodes; ++s) {
    struct sap_supernode *node = &tree->supernode[s];
    const int32_t rows = node->row_end;
    node->row_begin = tree->n_row_nodes;
    tree->n_row_nodes += rows;
  }
}

void sap_junction_tree_group(struct sap_junction_tree *tree, const int32_t *size,
                             const int32_t *first) {
  const int32_t n = tree->n_nodes;
  int32_t *place = tree->scratch, sum = 0;
  memset(place, 0, (size_t)n * sizeof *place);
  for (int32_t i = 0; i < n; ++i) {
    place[first[i]]++;
  }
  for (int32_t i = 0; i < n; ++i) {
    const int32_t count = place[i];
    place[i] = sum;
    sum += count;
  }
  for (int32_t i = 0; i < n; ++i) {
    tree->order[place[first[i]]++] = i;
  }
  set_positions(tree);
  place_scalars(tree, size);
  tree->n_components = 0;
  for (int32_t k = 0; k < n; ++k) {
    if (first[tree->order[k]] == tree->order[k]) {
      tree->component[tree->n_components++] =
          (struct sap_component){.node_begin = k, .scalar_begin = tree->node_scalar[k]};
    }
    struct sap_component *component = &tree->component[tree->n_components - 1];
    component->node_end = k + 1;
    component->scalar_end = tree->node_scalar[k + 1];
  }
}

/* Fills, or only counts, both lists of every supernode. */
static void list_all(struct sap_junction_tree *tree, int fill) {
  tree->n_segments = 0;
  tree->n_updates = 0;
  for (int32_t s = 0; s < tree->n_supernodes; ++s) {
    list_segments(tree, &tree->supernode[s], fill);
    list_updates(tree, &tree->supernode[s], fill);
  }
}

void sap_junction_tree_list_rows(struct sap_junction_tree *tree) {
  walk_rows(tree, 1);
  list_all(tree, 0);
}

void sap_junction_tree_list_updates(struct sap_junction_tree *tree) { list_all(tree, 1); }

size_t sap_junction_tree_block(const struct sap_junction_tree *tree, int32_t row, int32_t column,
                               int32_t *ld) {
  const struct sap_supernode *s = &tree->supernode[tree->node_supernode[column]];
  int32_t panel_row = 0;
  if (row < s->node_end) {
    panel_row = tree->node_scalar[row] - s->scalar;
  } else {
    int32_t low = s->row_begin, high = s->row_end - 1;
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (tree->row_node[middle] < row) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    panel_row = tree->row_offset[low];
  }
  const int32_t panel_column = tree->node_scalar[column] - s->scalar;
  *ld = s->ld;
  return s->values + (size_t)panel_column * (size_t)s->ld + (size_t)panel_row;
}
