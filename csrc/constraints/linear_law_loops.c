/* This file is compiled once per instruction set. */
#include "constraints/linear_law.h"
#include "linalg/kernels/isa.h"

static void multiply(const struct sap_linear_law *from, int32_t begin, int32_t end,
                     double *const x[3], double *const y[3]) {
  const struct sap_linear_law law = *from;
  const double *x_1 = x[0], *x_2 = x[1], *x_n = x[2];
  double *y_1 = y[0], *y_2 = y[1], *y_n = y[2];
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    const double in[3] = {x_1[i], x_2[i], x_n[i]};
    double out[3];
    sap_linear_multiply(&law, i, in, out);
    y_1[i] = out[0];
    y_2[i] = out[1];
    y_n[i] = out[2];
  }
}

static void set_origin(const struct sap_linear_law *from, const struct sap_pool *from_pool,
                       int32_t begin, int32_t end) {
  const struct sap_linear_law law = *from;
  const struct sap_pool pool = *from_pool;
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    const double v_c[3] = {pool.v_c[0][i], pool.v_c[1][i], pool.v_c[2][i]};
    double change[3];
    sap_linear_multiply(&law, i, v_c, change);
    law.origin[0][i] = pool.gamma[0][i] + change[0];
    law.origin[1][i] = pool.gamma[1][i] + change[1];
    law.origin[2][i] = pool.gamma[2][i] + change[2];
  }
}

static void measure(const struct sap_linear_law *from, const struct sap_pool *from_pool,
                    const double *weight, int32_t begin, int32_t end, double *gap) {
  const struct sap_linear_law law = *from;
  const struct sap_pool pool = *from_pool;
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    const double v_c[3] = {pool.v_c[0][i], pool.v_c[1][i], pool.v_c[2][i]};
    double change[3];
    sap_linear_multiply(&law, i, v_c, change);
    const double gap_1 = pool.gamma[0][i] - (law.origin[0][i] - change[0]);
    const double gap_2 = pool.gamma[1][i] - (law.origin[1][i] - change[1]);
    const double gap_n = pool.gamma[2][i] - (law.origin[2][i] - change[2]);
    gap[i] = weight[i] * (gap_1 * gap_1 + gap_2 * gap_2 + gap_n * gap_n);
  }
}

const struct sap_linear_loops SAP_OF_ISA(sap_linear_loops_);
const struct sap_linear_loops SAP_OF_ISA(sap_linear_loops_) = {multiply, set_origin, measure};
