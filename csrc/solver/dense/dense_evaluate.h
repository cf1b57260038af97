/* One tree of dense.h at a velocity: its impulses, gradient and cost, and what is proved of
 * them. */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_EVALUATE_H
#define SAPWOOD_SOLVER_DENSE_DENSE_EVALUATE_H

#include "solver/dense/dense_component.h"

/* norms of one tree, and what is proved of it */
struct sap_tree_result {
  struct sap_balance norms; /* squares */
  double cost, bound, complementarity;
  int32_t iterations;
};

/* y = A x */
void sap_tree_multiply(const struct sap_dense *dense, const struct sap_dense_component *tree,
                       const double *x, double *y);

/* impulses at v, and the gradient; the cost of the tree and its norms */
void sap_tree_evaluate(const struct sap_dense *dense, const struct sap_dense_component *tree,
                       struct sap_tree_result *result);

/* The certificate and (25), as certificate.h has them, at the velocity that was evaluated */
void sap_dense_certify(const struct sap_dense *dense, const struct sap_dense_component *tree,
                       struct sap_tree_result *result);

#endif
