/* CHOLMOD as a second opinion on our factorization, for tests and benchmarks. Optional: its supernodal
 * module is under the GPL, so the default build leaves it out. It allocates memory of its own. */
#ifndef SAPWOOD_LINALG_CHOLMOD_BACKEND_H
#define SAPWOOD_LINALG_CHOLMOD_BACKEND_H

#include "linalg/factorization.h"

#ifdef SAP_WITH_CHOLMOD
enum { SAP_CHOLMOD_AVAILABLE = 1 };
#else
enum { SAP_CHOLMOD_AVAILABLE = 0 };
#endif

/* blocks lie in the columns of a sparse lower triangle, without fill */
void sap_cholmod_place(struct sap_factor *factor, const int32_t *edge_low,
                       const int32_t *edge_high);
sap_status sap_cholmod_analyze(struct sap_factor *factor, const int32_t *edge_low,
                               const int32_t *edge_high);
int32_t sap_cholmod_factor(struct sap_factor *factor, int32_t c);
void sap_cholmod_solve(struct sap_factor *factor, int32_t c, double *x);
void sap_cholmod_release(struct sap_cholmod *cholmod);

#endif
