#include "solver/dense/tree_at.h"

#include <math.h>
#include <string.h>

#include "constraints/laws/clamp.h"
#include "problem/problem_check.h"
#include "problem/products/round_off.h"

void sap_tree_multiply(const struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
                       const double *x, double *y) {
  const int32_t scalar[2] = {0, tree->n};
  alone->masses.loops->multiply_mass(0, 1, scalar, &tree->A, NULL, x, y);
}

void sap_tree_evaluate(const struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
                       struct sap_tree_result *result) {
  const struct sap_vector_loops *loops = alone->masses.loops;
  const int32_t n = tree->n;
  double constraints = 0;
  for (int32_t i = 0; i < n; ++i) {
    alone->dw[i] = tree->v[i] - tree->v_star[i];
    alone->impulse[i] = 0;
  }
  sap_tree_multiply(alone, tree, alone->dw, alone->momentum);
  for (struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    row->v_c = sap_row_multiply(row, loops, tree->v);
    row->y = (row->v_hat - row->v_c) * row->inverse_R;
    row->gamma = sap_clamp_impulse(row->y, row->lower, row->upper);
    constraints += sap_clamp_cost(row->R, row->y, row->gamma);
    sap_row_add(row, loops, row->gamma, alone->impulse);
  }
  memcpy(alone->of_rows, alone->impulse, (size_t)n * sizeof *alone->of_rows);
  for (struct sap_contact_alone *c = tree->contact; c < tree->contact_end; ++c) {
    constraints += sap_contact_alone_evaluate(c, loops, n, tree->v, alone->impulse);
  }
  result->norms = loops->balance(0, n, alone->dw, alone->momentum, alone->momentum_star,
                                 alone->impulse, alone->scale, alone->gradient);
  result->cost = 0.5 * result->norms.energy + constraints;
}

void sap_tree_certify(const struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
                      struct sap_tree_result *result) {
  const struct sap_vector_loops *loops = alone->masses.loops;
  const int32_t n = tree->n;
  const int64_t n_impulses = tree->end - tree->row + tree->n_impulses;
  const double terms = (double)n_impulses + 2;
  double *e = alone->error;
  for (int32_t i = 0; i < n; ++i) {
    e[i] = 4 * sap_u * fabs(alone->momentum[i]) + sap_u * fabs(alone->impulse[i]);
  }
  result->complementarity = 0;
  for (const struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    const double v_error = (row->n_entries + 2) * sap_u * sap_row_reach(row, loops, tree->v);
    const struct sap_clamped at = {row->y,     row->gamma, row->v_c,
                                   row->v_hat, row->lower, row->upper};
    const double error =
        sap_clamp_error(&at, row->inverse_R, v_error) + terms * sap_u * fabs(row->gamma);
    sap_row_add_absolute(row, loops, error, e);
    result->complementarity += sap_clamp_complementarity(&at, row->R);
  }
  for (const struct sap_contact_alone *c = tree->contact; c < tree->contact_end; ++c) {
    result->complementarity += sap_contact_alone_certify(c, loops, n, tree->v, terms, e);
  }
  struct sap_norms norms = {0, 0};
  loops->add_absolute(n, tree->A, (n + 2) * sap_u + sap_asymmetry, alone->dw, e);
  loops->add_norms(n, tree->inverse.strips, tree->inverse.S, alone->gradient, e, &norms);
  const double bound = sqrt(norms.value) + sqrt(norms.bound);
  result->bound = bound * bound;
}
