/* CHOLMOD as a second opinion on our factorization, for tests and benchmarks. Optional: its
 * supernodal module is under the GPL, so the default build leaves it out. It allocates memory of
 * its own. */
#include "linalg/factorization.h"

#ifdef SAP_WITH_CHOLMOD

#include <cholmod.h>
#include <limits.h>
#include <stdlib.h>

struct state {
  cholmod_common common;
  int32_t n_components;
  int *column;             /* column pointers, component after component */
  int *row;                /* row indices, parallel to values */
  cholmod_factor **factor; /* (n_components) */
};

/* Column panel of node i: its own square, then one block per edge to a higher node, in edge order.
 * The entries above the diagonal of the square are there, and CHOLMOD does not read them. */
static void find_places(struct sap_factor *factor, const int32_t *edge_low,
                        const int32_t *edge_high) {
  const struct sap_junction_tree *tree = factor->tree;
  for (int32_t i = 0; i < tree->n_nodes; ++i) {
    factor->diagonal[i].ld = sap_node_size(tree, i);
  }
  for (int32_t e = 0; e < tree->n_edges; ++e) {
    struct sap_place *column = &factor->diagonal[edge_low[e]];
    factor->edge[e].offset = (size_t)column->ld;
    column->ld += sap_node_size(tree, edge_high[e]);
  }
  size_t offset = 0;
  for (int32_t c = 0; c < tree->n_components; ++c) {
    for (int32_t i = tree->component[c].node_begin; i < tree->component[c].node_end; ++i) {
      factor->diagonal[i].offset = offset;
      offset += (size_t)factor->diagonal[i].ld * (size_t)sap_node_size(tree, i);
    }
  }
  factor->n_values = offset;
  for (int32_t e = 0; e < tree->n_edges; ++e) {
    factor->edge[e].offset += factor->diagonal[edge_low[e]].offset;
    factor->edge[e].ld = factor->diagonal[edge_low[e]].ld;
  }
}

/* rows of one block in every one of its columns */
static void list_block(int *row, struct sap_place place, int32_t first, int32_t n_rows,
                       int32_t n_cols) {
  for (int32_t j = 0; j < n_cols; ++j) {
    for (int32_t i = 0; i < n_rows; ++i) {
      row[place.offset + (size_t)j * (size_t)place.ld + (size_t)i] = first + i;
    }
  }
}

/* row indices of all blocks, as scalars of the whole matrix */
static void list_rows(const struct sap_factor *factor, const int32_t *edge_low,
                      const int32_t *edge_high) {
  const struct state *state = factor->state;
  const struct sap_junction_tree *tree = factor->tree;
  for (int32_t i = 0; i < tree->n_nodes; ++i) {
    const int32_t n = sap_node_size(tree, i);
    list_block(state->row, factor->diagonal[i], tree->node_scalar[i], n, n);
  }
  for (int32_t e = 0; e < tree->n_edges; ++e) {
    list_block(state->row, factor->edge[e], tree->node_scalar[edge_high[e]],
               sap_node_size(tree, edge_high[e]), sap_node_size(tree, edge_low[e]));
  }
}

/* column pointers of component c, whose row indices are counted from its own first scalar on */
static void count_columns(const struct sap_factor *factor, int32_t c) {
  const struct state *state = factor->state;
  const struct sap_junction_tree *tree = factor->tree;
  const struct sap_component *component = &tree->component[c];
  int *column = state->column + component->scalar_begin + c;
  for (int32_t i = component->node_begin; i < component->node_end; ++i) {
    for (int32_t j = 0; j < sap_node_size(tree, i); ++j, ++column) {
      column[1] = column[0] + factor->diagonal[i].ld;
    }
  }
  const size_t end = sap_factor_values(factor, component->node_end);
  for (size_t k = sap_factor_values(factor, component->node_begin); k < end; ++k) {
    state->row[k] -= component->scalar_begin;
  }
}

/* component c as CHOLMOD sees it, in place */
static cholmod_sparse view_component(const struct sap_factor *factor, int32_t c) {
  const struct state *state = factor->state;
  const struct sap_component *component = &factor->tree->component[c];
  const size_t begin = sap_factor_values(factor, component->node_begin);
  const size_t n = (size_t)(component->scalar_end - component->scalar_begin);
  return (cholmod_sparse){
      .nrow = n,
      .ncol = n,
      .nzmax = sap_factor_values(factor, component->node_end) - begin,
      .p = state->column + component->scalar_begin + c,
      .i = state->row + begin,
      .x = factor->values + begin,
      .stype = -1,
      .itype = CHOLMOD_INT,
      .xtype = CHOLMOD_REAL,
      .dtype = CHOLMOD_DOUBLE,
      .sorted = 0,
      .packed = 1,
  };
}

static sap_status analyze(struct sap_factor *factor, const int32_t *edge_low,
                          const int32_t *edge_high) {
  const struct sap_junction_tree *tree = factor->tree;
  struct state *state = factor->n_values < INT_MAX ? calloc(1, sizeof *state) : NULL;
  if (!state) {
    return SAP_OUT_OF_MEMORY;
  }
  factor->state = state;
  cholmod_start(&state->common);
  state->common.print = 0;
  state->common.quick_return_if_not_posdef = 1;
  const size_t n_columns = (size_t)tree->n_scalars + (size_t)tree->n_components;
  state->column = calloc(n_columns + 1, sizeof *state->column);
  state->row = calloc(factor->n_values + 1, sizeof *state->row);
  state->factor = calloc((size_t)tree->n_components + 1, sizeof(cholmod_factor *));
  if (!state->column || !state->row || !state->factor) {
    return SAP_OUT_OF_MEMORY;
  }
  list_rows(factor, edge_low, edge_high);
  for (int32_t c = 0; c < tree->n_components; ++c) {
    count_columns(factor, c);
    cholmod_sparse H = view_component(factor, c);
    state->factor[c] = cholmod_analyze(&H, &state->common);
    state->n_components = c + 1;
    if (!state->factor[c]) {
      return SAP_OUT_OF_MEMORY;
    }
  }
  return SAP_OK;
}

static void solve(const struct sap_factor *factor, int32_t c, double *x) {
  struct state *state = factor->state;
  const struct sap_component *component = &factor->tree->component[c];
  const size_t n = (size_t)(component->scalar_end - component->scalar_begin);
  double *segment = x + component->scalar_begin;
  cholmod_dense b = {.nrow = n,
                     .ncol = 1,
                     .nzmax = n,
                     .d = n,
                     .x = segment,
                     .xtype = CHOLMOD_REAL,
                     .dtype = CHOLMOD_DOUBLE};
  cholmod_dense *solved = cholmod_solve(CHOLMOD_A, state->factor[c], &b, &state->common);
  const double *y = solved ? solved->x : NULL;
  for (size_t i = 0; i < n; ++i) {
    segment[i] = y ? y[i] : 0;
  }
  cholmod_free_dense(&solved, &state->common);
}

static int32_t run(const struct sap_factor *factor, int32_t c, double *x) {
  struct state *state = factor->state;
  const struct sap_component *component = &factor->tree->component[c];
  cholmod_sparse H = view_component(factor, c);
  cholmod_factorize(&H, state->factor[c], &state->common);
  const cholmod_factor *L = state->factor[c];
  if (state->common.status == CHOLMOD_OK) {
    if (x) {
      solve(factor, c, x);
    }
    return -1;
  }
  /* minor counts columns in CHOLMOD's own order; it is n when memory ran out */
  const int failed = L->minor < L->n ? ((const int *)L->Perm)[L->minor] : 0;
  return sap_node_of_scalar(factor->tree, component->node_begin, component->scalar_begin + failed);
}

static void release(struct sap_factor *factor) {
  struct state *state = factor->state;
  for (int32_t c = 0; c < state->n_components; ++c) {
    cholmod_free_factor(&state->factor[c], &state->common);
  }
  cholmod_finish(&state->common);
  free(state->factor);
  free(state->row);
  free(state->column);
  free(state);
}

const struct sap_backend sap_backend_cholmod = {
    .place = find_places,
    .analyze = analyze,
    .run = run,
    .solve = solve,
    .release = release,
};

#endif
