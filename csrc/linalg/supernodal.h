/* Supernodal Cholesky factorization H = L L^T over a junction tree, and solves with it.
 *
 * Right-looking: panels are factored in elimination order, and each pushes its updates straight into the
 * panels above it, at places found once per graph. */
#ifndef SAPWOOD_LINALG_SUPERNODAL_H
#define SAPWOOD_LINALG_SUPERNODAL_H

#include "linalg/junction_tree.h"
#include "linalg/kernels.h"

/* values (tree->n_values) holds H on entry, L on return. Returns -1, or the position of the node at
 * which a pivot was not positive. */
int32_t sap_supernodal_factor(const struct sap_junction_tree *tree,
                              const struct sap_component *component,
                              const struct sap_kernels *kernels, double *values);

/* x <- H^-1 x for the scalars of the component; x is indexed by scalar, scratch (tree->max_rows) */
void sap_supernodal_solve(const struct sap_junction_tree *tree,
                          const struct sap_component *component, const struct sap_kernels *kernels,
                          const double *values, double *x, double *scratch);

#endif
