#include "linalg/lapack.h"

#ifdef SAP_WITH_LAPACK

extern void dpotrf_(const char *uplo, const int *n, double *A, const int *lda, int *info);
extern void dpotrs_(const char *uplo, const int *n, const int *nrhs, const double *A,
                    const int *lda, double *B, const int *ldb, int *info);

int32_t sap_lapack_factor(const struct sap_junction_tree *tree,
                          const struct sap_component *component, double *square) {
  const int n = component->scalar_end - component->scalar_begin;
  int info = 0;
  dpotrf_("L", &n, square, &n, &info);
  if (info == 0) {
    return -1;
  }
  int32_t node = component->node_begin;
  while (tree->node_scalar[node + 1] <= component->scalar_begin + info - 1) {
    ++node;
  }
  return node;
}

void sap_lapack_solve(const struct sap_component *component, const double *square, double *x) {
  const int n = component->scalar_end - component->scalar_begin, one = 1;
  int info = 0;
  dpotrs_("L", &n, &one, square, &n, x + component->scalar_begin, &n, &info);
}

#else

int32_t sap_lapack_factor(const struct sap_junction_tree *tree,
                          const struct sap_component *component, double *square) {
  (void)tree;
  (void)square;
  return component->node_begin;
}

void sap_lapack_solve(const struct sap_component *component, const double *square, double *x) {
  (void)component;
  (void)square;
  (void)x;
}

#endif
