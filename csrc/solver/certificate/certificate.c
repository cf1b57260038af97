#include "solver/certificate/certificate.h"

#include <math.h>
#include <string.h>

#include "problem/problem_check.h"
#include "problem/products/round_off.h"

/* Adds |S g|^2 and | |S| e |^2 of one tree, S = U^-1. |S| e uses S itself: a recurrence over U
 * without signs would be useless for long chains. */
static void add_tree(const struct sap_vector_loops *loops, int32_t n, const double *A,
                     const uint64_t *strips, const double *S, const double *dw,
                     const double *gradient, double *e, struct sap_norms *norms) {
  /* e += ((n + 2) u + asymmetry) |A| |dw|: the terms of A (v - v*), and v - v* itself */
  loops->add_absolute(n, A, (n + 2) * sap_u + sap_asymmetry, dw, e);
  loops->add_norms(n, strips, S, gradient, e, norms);
}

/* Does the same for all velocities of a reduced tree, from those that remain. */
static void add_reduced(const struct sap_vector_loops *loops, const struct sap_reduced_tree *tree,
                        const uint64_t *strips, const double *S, const double *gradient,
                        const double *e, struct sap_norms *norms) {
  const size_t bytes = (size_t)tree->n * sizeof(double);
  memset(tree->error, 0, bytes);
  memcpy(tree->gradient, tree->momentum, bytes);
  for (int32_t k = 0; k < tree->n_t; ++k) {
    const int32_t j = tree->t[k];
    tree->gradient[j] = gradient[k];
    tree->error[j] = e[k];
  }
  add_tree(loops, tree->n, tree->A_whole, strips, S, tree->dw, tree->gradient, tree->error, norms);
}

double sap_bound_error(struct sap_workspace *w, const struct sap_island *island) {
  const struct sap_plan *plan = w->plan;
  plan->jacobian_loops->bound_impulse(&w->J, island, &w->pool, w->reach, w->n_steps, w->error);
  /* where A is diagonal, |A| |dw| = |A dw| */
  w->norms = plan->vectors->add_magnitudes(island->scalar_begin, island->scalar_end, 4 * sap_u,
                                           w->momentum, sap_u, w->impulse, w->scale, w->gradient,
                                           w->error);
  return sqrt(w->norms.bound);
}

/* Returns the first node from `node` on with a block that is not diagonal. */
static int32_t skip_diagonal(const struct sap_workspace *w, int32_t node, int32_t end) {
  while (node < end && !w->dense[node] && !w->reduced[node]) {
    ++node;
  }
  return node;
}

/* Adds the norms of the tree at a position; its block is not diagonal. */
static void add_node(const struct sap_workspace *w, int32_t node, struct sap_norms *norms) {
  const struct sap_vector_loops *loops = w->plan->vectors;
  const struct sap_graph *graph = w->graph;
  const int32_t s = graph->tree.node_scalar[node];
  const int32_t t = graph->node_tree[node];
  const uint64_t *strips = w->plan->masses.strips + graph->tree_v[t];
  const double *S = w->plan->masses.S + graph->tree_A[t];
  if (w->reduced[node]) {
    add_reduced(loops, w->reduced[node], strips, S, w->gradient + s, w->error + s, norms);
  } else {
    add_tree(loops, sap_node_size(&graph->tree, node), w->A[node], strips, S, w->dw + s,
             w->gradient + s, w->error + s, norms);
  }
}

double sap_certificate(struct sap_workspace *w, const struct sap_island *island) {
  const int32_t *scalar = w->graph->tree.node_scalar, end = island->node_end;
  struct sap_norms norms = w->norms; /* complete if all blocks are diagonal */
  if (w->plan->leaves_bounds_out) {
    return INFINITY;
  }
  if (skip_diagonal(w, island->node_begin, end) < end) {
    norms = (struct sap_norms){0, 0};
    for (int32_t i = island->node_begin; i < end;) {
      const int32_t begin = i;
      i = skip_diagonal(w, i, end);
      w->plan->vectors->add_diagonal_norms(scalar[begin], scalar[i], w->scale, w->gradient,
                                           w->error, &norms);
      if (i < end) {
        add_node(w, i++, &norms);
      }
    }
  }
  const double bound = sqrt(norms.value) + sqrt(norms.bound);
  return bound * bound;
}

double sap_complementarity(const struct sap_workspace *w, const struct sap_island *island) {
  double sum = 0;
  if (w->plan->leaves_bounds_out) {
    return INFINITY;
  }
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    sum += sap_laws[law]->complementarity(&w->pool, range[0], range[1]);
  }
  return sum;
}
