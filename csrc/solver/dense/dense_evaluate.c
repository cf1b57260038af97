#include "solver/dense/dense_evaluate.h"

#include <math.h>
#include <string.h>

#include "constraints/laws/clamp.h"
#include "problem/problem_check.h"
#include "problem/products/round_off.h"

void sap_tree_multiply(const struct sap_dense *dense, const struct sap_dense_component *tree,
                       const double *x, double *y) {
  const int32_t scalar[2] = {0, tree->n};
  dense->masses.loops->multiply_mass(0, 1, scalar, &tree->A, NULL, x, y);
}

void sap_tree_evaluate(const struct sap_dense *dense, const struct sap_dense_component *tree,
                       struct sap_tree_result *result) {
  const struct sap_vector_loops *loops = dense->masses.loops;
  const int32_t n = tree->n;
  double constraints = 0;
  for (int32_t i = 0; i < n; ++i) {
    dense->dw[i] = tree->v[i] - tree->v_star[i];
    dense->impulse[i] = 0;
  }
  sap_tree_multiply(dense, tree, dense->dw, dense->momentum);
  for (struct sap_dense_row *row = tree->row; row < tree->end; ++row) {
    row->v_c = sap_row_multiply(row, loops, tree->v);
    row->y = (row->v_hat - row->v_c) * row->inverse_R;
    row->gamma = sap_clamp_impulse(row->y, row->lower, row->upper);
    constraints += sap_clamp_cost(row->R, row->y, row->gamma);
    sap_row_add(row, loops, row->gamma, dense->impulse);
  }
  memcpy(dense->of_rows, dense->impulse, (size_t)n * sizeof *dense->of_rows);
  for (struct sap_dense_contact *c = tree->contact; c < tree->contact_end; ++c) {
    constraints += sap_dense_contact_evaluate(c, loops, n, tree->v, dense->impulse);
  }
  result->norms = loops->balance(0, n, dense->dw, dense->momentum, dense->momentum_star,
                                 dense->impulse, dense->scale, dense->gradient);
  result->cost = 0.5 * result->norms.energy + constraints;
}

void sap_dense_certify(const struct sap_dense *dense, const struct sap_dense_component *tree,
                       struct sap_tree_result *result) {
  const struct sap_vector_loops *loops = dense->masses.loops;
  const int32_t n = tree->n;
  const int64_t n_impulses = tree->end - tree->row + tree->n_impulses;
  const double terms = (double)n_impulses + 2;
  double *e = dense->error;
  for (int32_t i = 0; i < n; ++i) {
    e[i] = 4 * sap_u * fabs(dense->momentum[i]) + sap_u * fabs(dense->impulse[i]);
  }
  result->complementarity = 0;
  for (const struct sap_dense_row *row = tree->row; row < tree->end; ++row) {
    const double v_error = (row->n_entries + 2) * sap_u * sap_row_reach(row, loops, tree->v);
    const struct sap_clamped at = {row->y,     row->gamma, row->v_c,
                                   row->v_hat, row->lower, row->upper};
    const double error =
        sap_clamp_error(&at, row->inverse_R, v_error) + terms * sap_u * fabs(row->gamma);
    sap_row_add_absolute(row, loops, error, e);
    result->complementarity += sap_clamp_complementarity(&at, row->R);
  }
  for (const struct sap_dense_contact *c = tree->contact; c < tree->contact_end; ++c) {
    result->complementarity += sap_dense_contact_certify(c, loops, n, tree->v, terms, e);
  }
  struct sap_norms norms = {0, 0};
  loops->add_absolute(n, tree->A, (n + 2) * sap_u + sap_asymmetry, dense->dw, e);
  loops->add_norms(n, tree->inverse.strips, tree->inverse.S, dense->gradient, e, &norms);
  const double bound = sqrt(norms.value) + sqrt(norms.bound);
  result->bound = bound * bound;
}
