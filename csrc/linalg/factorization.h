/* One face for three ways to factor a block-sparse matrix: our supernodal Cholesky, LAPACK on a
 * dense matrix, CHOLMOD.
 *
 * They differ in where a block lies and in what factor and solve do; whoever assembles only sees
 * addresses. Columns of nodes lie in the order of their positions, so that those of a supernode or
 * component are one range of values. All work on one connected component at a time. */
#ifndef SAPWOOD_LINALG_FACTORIZATION_H
#define SAPWOOD_LINALG_FACTORIZATION_H

#include "linalg/junction_tree.h"
#include "linalg/kernels.h"

/* place of one dense block: values[offset], column-major with this leading dimension */
struct sap_place {
  size_t offset;
  int32_t ld;
};

struct sap_factor {
  sap_factorization kind;
  const struct sap_kernels *kernels;
  const struct sap_junction_tree *tree;
  struct sap_place *diagonal; /* (n_nodes) by position */
  struct sap_place *edge;     /* (n_edges) block (higher position, lower position) */
  int8_t *precision;          /* (n_components) of the panels, set before they are cleared */
  size_t n_values;
  /* floats of a component in single precision lie in the first half of its doubles */
  double *values;
  float *x_single; /* (n_scalars) x where panels are in single precision */
  void *state;     /* of the backend, owned; NULL where it keeps none */
};

/* One way to factor. In place(), edge_low and edge_high (n_edges) are positions, and the backend
 * fills diagonal, edge and n_values. The other functions are those of sap_factor below. */
struct sap_backend {
  void (*place)(struct sap_factor *factor, const int32_t *edge_low, const int32_t *edge_high);
  sap_status (*analyze)(struct sap_factor *factor, const int32_t *edge_low,
                        const int32_t *edge_high); /* NULL: nothing to do */
  int32_t (*run)(const struct sap_factor *factor, int32_t c, double *x);
  void (*solve)(const struct sap_factor *factor, int32_t c, double *x);
  void (*release)(struct sap_factor *factor); /* NULL: keeps no state */
};

extern const struct sap_backend sap_backend_supernodal;
extern const struct sap_backend sap_backend_lapack;  /* built with SAP_WITH_LAPACK */
extern const struct sap_backend sap_backend_cholmod; /* built with SAP_WITH_CHOLMOD */

void sap_factor_carve_places(struct sap_factor *factor, struct sap_arena *arena);
void sap_factor_carve_values(struct sap_factor *factor, struct sap_arena *arena);

/* Finds the places, then, once values are carved, lets the backend analyse. CHOLMOD does so with
 * memory of its own. */
void sap_factor_place(struct sap_factor *factor, const int32_t *edge_low, const int32_t *edge_high);
sap_status sap_factor_analyze(struct sap_factor *factor, const int32_t *edge_low,
                              const int32_t *edge_high);

/* first of the values of the columns from this position on, which may be n_nodes */
static inline size_t sap_factor_values(const struct sap_factor *factor, int32_t node) {
  return node < factor->tree->n_nodes ? factor->diagonal[node].offset : factor->n_values;
}

/* the values of component c, doubles or floats, to be indexed as those of all components */
static inline void *sap_factor_panels(const struct sap_factor *factor, int32_t c) {
  return factor->precision[c] == SAP_SINGLE
             ? (void *)((float *)factor->values +
                        sap_factor_values(factor, factor->tree->component[c].node_begin))
             : (void *)factor->values;
}

/* zeros the columns of supernode s of component c: best done just before their blocks are
 * written */
void sap_factor_clear(const struct sap_factor *factor, int32_t c, const struct sap_supernode *s);

/* Factors H of component c and, where x is not NULL, x <- H^-1 x as below. Returns -1, or the
 * position of a node at which a pivot was not positive: then x is undefined. */
int32_t sap_factor_run(const struct sap_factor *factor, int32_t c, double *x);

/* x <- H^-1 x for the scalars of component c, by the last factorization; x is indexed by scalar */
void sap_factor_solve(const struct sap_factor *factor, int32_t c, double *x);

void sap_factor_release(struct sap_factor *factor);

#endif
