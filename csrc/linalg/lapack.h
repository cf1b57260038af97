/* Dense Cholesky by LAPACK, for tests and comparison: the one place with Fortran prototypes. */
#ifndef SAPWOOD_LINALG_LAPACK_H
#define SAPWOOD_LINALG_LAPACK_H

#include "linalg/junction_tree.h"

#ifdef SAP_WITH_LAPACK
enum { SAP_LAPACK_AVAILABLE = 1 };
#else
enum { SAP_LAPACK_AVAILABLE = 0 };
#endif

/* as sap_supernodal_factor and sap_supernodal_solve; `square` is the component's dense matrix */
int32_t sap_lapack_factor(const struct sap_junction_tree *tree,
                          const struct sap_component *component, double *square);
void sap_lapack_solve(const struct sap_component *component, const double *square, double *x);

#endif
