#include "sap/certificate.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "sap/problem.h"

/* unit round-off, doubled: covers the products of (1 + u) that first-order bounds leave out */
static const double u = DBL_EPSILON;

/* adds |S g|^2 and | |S| e |^2 of one tree, S = L^-1. |S| e from S itself: a recurrence over L with signs dropped
 * would be useless for long chains. */
static void add_tree(const struct sap_vector_loops *loops, int32_t n, const double *A,
                     const double *S, const double *dw, const double *momentum,
                     const double *impulse, const double *gradient, double *e,
                     struct sap_norms *norms) {
  /* e += u (|A dw| + |J^T gamma|) + ((n + 2) u + asymmetry) |A| |dw|: the momentum balance without contact,
   * and v - v* itself */
  loops->add_absolute(n, A, (n + 2) * u + sap_asymmetry, dw, e);
  loops->add_magnitudes(0, n, u, momentum, u, impulse, e);
  loops->add_norms(n, S, gradient, e, norms);
}

/* the same for trees [begin, end) whose blocks are diagonal: |A| |dw| = |A dw|, S = D */
static void add_diagonal_trees(const struct sap_workspace *w, int32_t begin, int32_t end, double *e,
                               struct sap_norms *norms) {
  const int32_t *scalar = w->graph.tree.node_scalar;
  w->vectors->add_magnitudes(scalar[begin], scalar[end], 4 * u, w->momentum, u, w->impulse, e);
  w->vectors->add_diagonal_norms(scalar[begin], scalar[end], w->scale, w->gradient, e, norms);
}

/* the same for all velocities of a reduced tree, from the part that stays */
static void add_reduced(const struct sap_vector_loops *loops, const struct sap_reduced_tree *tree,
                        const double *S, const double *impulse, const double *gradient,
                        const double *e, struct sap_norms *norms) {
  const size_t bytes = (size_t)tree->n * sizeof(double);
  memset(tree->impulse, 0, bytes);
  memset(tree->error, 0, bytes);
  memcpy(tree->gradient, tree->momentum, bytes);
  for (int32_t k = 0; k < tree->n_t; ++k) {
    const int32_t j = tree->t[k];
    tree->impulse[j] = impulse[k];
    tree->gradient[j] = gradient[k];
    tree->error[j] = e[k];
  }
  add_tree(loops, tree->n, tree->A_whole, S, tree->dw, tree->momentum, tree->impulse,
           tree->gradient, tree->error, norms);
}

static int is_diagonal(const struct sap_workspace *w, int32_t node) {
  return !w->dense[node] && !w->reduced[node];
}

double sap_bound_impulse(struct sap_workspace *w, const struct sap_island *island) {
  struct sap_norms norms = {0, 0};
  w->jacobian_loops->bound_impulse(&w->J, island, &w->pool, w->reach, w->n_steps, w->error);
  w->vectors->add_diagonal_norms(island->scalar_begin, island->scalar_end, w->scale, w->gradient,
                                 w->error, &norms);
  return sqrt(norms.bound);
}

double sap_certificate(struct sap_workspace *w, const struct sap_island *island) {
  const struct sap_graph *graph = &w->graph;
  double *e = w->error;
  struct sap_norms norms = {0, 0};
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    if (is_diagonal(w, i)) {
      const int32_t begin = i;
      while (i + 1 < island->node_end && is_diagonal(w, i + 1)) {
        ++i;
      }
      add_diagonal_trees(w, begin, i + 1, e, &norms);
      continue;
    }
    const int32_t s = graph->tree.node_scalar[i];
    const double *S = w->S + graph->tree_A[graph->node_tree[i]];
    if (w->reduced[i]) {
      add_reduced(w->vectors, w->reduced[i], S, w->impulse + s, w->gradient + s, e + s, &norms);
    } else {
      add_tree(w->vectors, sap_node_size(&graph->tree, i), w->A[i], S, w->dw + s, w->momentum + s,
               w->impulse + s, w->gradient + s, e + s, &norms);
    }
  }
  const double bound = sqrt(norms.value) + sqrt(norms.bound);
  return bound * bound;
}

double sap_complementarity(const struct sap_workspace *w, const struct sap_island *island) {
  double sum = 0;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    sum += sap_laws[law].complementarity(&w->pool, range[0], range[1]);
  }
  return sum;
}
