/* This file computes products C += sign A B^T, and the updates that a factored panel pushes into
 * the panels above it, and a slice of a panel into the columns to its right. */
#include "linalg/kernels/panel_product.h"

#ifndef SAP_IN_SINGLE
void SAP_OF_ISA(sap_multiply_)(int32_t m, int32_t n, int32_t k, double sign, const double *A,
                               int32_t lda, const double *B, int32_t ldb, double *C, int32_t ldc,
                               int lower) {
  multiply_any(0, m, n, k, sign, A, lda, B, ldb, C, ldc, lower);
}
#endif

void SAP_OF_PANEL(sap_push_updates_)(const struct sap_supernode *s, const struct sap_update *update,
                                     void *values) {
  real *target = values;
  const real *P = target + s->values;
  for (int32_t i = s->update_begin; i < s->update_end; ++i) {
    const struct sap_update *u = &update[i];
    /* updates of free bodies, the most frequent by far, bypass the tables of jumps */
    if (u->n_cols == 6 && u->n_rows <= SIMD_WIDTH && s->n_cols <= SAP_SLICE) {
      multiply_block(1, 1, 6, u->n_rows, s->n_cols, -1, P + u->row, s->ld, P + u->col, s->ld,
                     target + u->target, u->target_ld);
      continue;
    }
    multiply_any(1, u->n_rows, u->n_cols, s->n_cols, -1, P + u->row, s->ld, P + u->col, s->ld,
                 target + u->target, u->target_ld, u->row == u->col);
  }
}

void SAP_OF_PANEL(sap_push_slice_)(const struct sap_supernode *s, int32_t begin, int32_t end,
                                   void *values) {
  real *P = (real *)values + s->values;
  const real *rows = P + (int64_t)begin * s->ld + end;
  multiply_any(1, s->n_cols + s->n_rows - end, s->n_cols - end, end - begin, -1, rows, s->ld, rows,
               s->ld, P + (int64_t)end * s->ld + end, s->ld, 1);
}
