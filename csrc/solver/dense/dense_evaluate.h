/* Evaluates one tree of dense.h at a velocity: impulses, gradient, cost and certificate. */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_EVALUATE_H
#define SAPWOOD_SOLVER_DENSE_DENSE_EVALUATE_H

#include "solver/dense/dense_component.h"

/* Norms, cost and certificate of one tree. */
struct sap_tree_result {
  struct sap_balance norms; /* squares of the norms, J */
  double cost, bound, complementarity;
  int32_t iterations;
};

/* Computes y = A x. */
void sap_tree_multiply(const struct sap_dense *dense, const struct sap_dense_component *tree,
                       const double *x, double *y);

/* Finds the impulses and the gradient at v, and writes cost and norms to the result. */
void sap_tree_evaluate(const struct sap_dense *dense, const struct sap_dense_component *tree,
                       struct sap_tree_result *result);

/* Finds the certificate and (25), as in certificate.h, at the velocity that was evaluated. */
void sap_dense_certify(const struct sap_dense *dense, const struct sap_dense_component *tree,
                       struct sap_tree_result *result);

#endif
