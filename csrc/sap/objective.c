#include "sap/objective.h"

#include <math.h>
#include <string.h>

static void clear(double *x, int32_t begin, int32_t end) {
  memset(x + begin, 0, (size_t)(end - begin) * sizeof *x);
}

static double dot(const double *a, const double *b, int32_t begin, int32_t end) {
  double sum = 0;
  for (int32_t i = begin; i < end; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

/* |D x| */
static double scaled_norm(const double *scale, const double *x, int32_t begin, int32_t end) {
  double sum = 0;
  for (int32_t i = begin; i < end; ++i) {
    sum += scale[i] * x[i] * scale[i] * x[i];
  }
  return sqrt(sum);
}

/* y = A x, block by block */
static void multiply_mass(const struct sap_workspace *w, const struct sap_island *island,
                          const double *x, double *y) {
  clear(y, island->scalar_begin, island->scalar_end);
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t n = sap_node_size(&w->graph.tree, i), s = w->graph.tree.node_scalar[i];
    w->kernels->gemv(n, n, w->A[i], n, x + s, y + s);
  }
}

/* x_c = J x; a packed block (3 contacts, n) row-major is (n, 3 contacts) column-major */
static void multiply_jacobian(const struct sap_workspace *w, const struct sap_island *island,
                              const double *x, double *x_c) {
  const struct sap_graph *graph = &w->graph;
  clear(x_c, 3 * island->contact_begin, 3 * island->contact_end);
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    const int32_t rows = 3 * (patch->end - patch->begin);
    double *to = x_c + 3 * (int64_t)patch->begin;
    const int32_t n_low = sap_node_size(&graph->tree, patch->low);
    w->kernels->gemv_transposed(n_low, rows, w->J + patch->J_low, n_low,
                                x + graph->tree.node_scalar[patch->low], to);
    if (patch->high >= 0) {
      const int32_t n_high = sap_node_size(&graph->tree, patch->high);
      w->kernels->gemv_transposed(n_high, rows, w->J + patch->J_high, n_high,
                                  x + graph->tree.node_scalar[patch->high], to);
    }
  }
}

void sap_multiply_jacobian_transposed(const struct sap_workspace *w,
                                      const struct sap_island *island, const double *x_c,
                                      double *y) {
  const struct sap_graph *graph = &w->graph;
  clear(y, island->scalar_begin, island->scalar_end);
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    const int32_t rows = 3 * (patch->end - patch->begin);
    const double *from = x_c + 3 * (int64_t)patch->begin;
    const int32_t n_low = sap_node_size(&graph->tree, patch->low);
    w->kernels->gemv(n_low, rows, w->J + patch->J_low, n_low, from,
                     y + graph->tree.node_scalar[patch->low]);
    if (patch->high >= 0) {
      const int32_t n_high = sap_node_size(&graph->tree, patch->high);
      w->kernels->gemv(n_high, rows, w->J + patch->J_high, n_high, from,
                       y + graph->tree.node_scalar[patch->high]);
    }
  }
}

double sap_momentum_error(double gradient, double scale) {
  return gradient == 0 ? 0 : gradient / scale;
}

void sap_refresh(struct sap_workspace *w, const struct sap_island *island) {
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dw[i] = w->v[i] - w->v_star[i];
  }
  multiply_mass(w, island, w->dw, w->momentum);
  multiply_jacobian(w, island, w->v, w->v_c);
}

struct sap_evaluation sap_evaluate(struct sap_workspace *w, const struct sap_island *island) {
  const int32_t begin = island->scalar_begin, end = island->scalar_end;
  struct sap_evaluation now;

  /* 1/2 |v - v*|_A^2 + sum l_i(v_c) */
  now.cost = 0.5 * dot(w->dw, w->momentum, begin, end);
  now.cost +=
      w->loops->law(&w->contacts, island->contact_begin, island->contact_end, w->v_c, w->gamma);

  /* grad = A (v - v*) - J^T gamma */
  sap_multiply_jacobian_transposed(w, island, w->gamma, w->impulse);
  double momentum = 0;
  for (int32_t i = begin; i < end; ++i) {
    w->gradient[i] = w->momentum[i] - w->impulse[i];
    const double p = w->scale[i] * (w->momentum[i] + w->momentum_star[i]);
    momentum += p * p;
  }
  now.gradient = scaled_norm(w->scale, w->gradient, begin, end);
  now.momentum = sqrt(momentum);
  now.impulse = scaled_norm(w->scale, w->impulse, begin, end);
  now.scale = fmax(now.momentum, now.impulse);
  return now;
}

/* ---- Hessian ---- */

/* GJ = G J for the contacts [begin, end): J and GJ (3 contacts, n) row-major */
static void multiply_blocks(const struct sap_contact_pool *contacts, int32_t begin, int32_t end,
                            int32_t n, const double *J, double *GJ) {
  double *const *G = contacts->G;
  for (int32_t i = begin; i < end; ++i, J += 3 * (int64_t)n, GJ += 3 * (int64_t)n) {
    const double G_11 = G[SAP_G_11][i], G_12 = G[SAP_G_12][i], G_22 = G[SAP_G_22][i];
    const double G_1n = G[SAP_G_1N][i], G_2n = G[SAP_G_2N][i], G_nn = G[SAP_G_NN][i];
    const double *restrict J_1 = J, *restrict J_2 = J + n, *restrict J_n = J + 2 * (int64_t)n;
    double *restrict GJ_1 = GJ, *restrict GJ_2 = GJ + n, *restrict GJ_n = GJ + 2 * (int64_t)n;
    for (int32_t j = 0; j < n; ++j) {
      GJ_1[j] = G_11 * J_1[j] + G_12 * J_2[j] + G_1n * J_n[j];
      GJ_2[j] = G_12 * J_1[j] + G_22 * J_2[j] + G_2n * J_n[j];
      GJ_n[j] = G_1n * J_1[j] + G_2n * J_2[j] + G_nn * J_n[j];
    }
  }
}

/* block (row tree, column tree) += J_row^T G J_column for a run of contacts */
static void add_block(const struct sap_workspace *w, struct sap_place place, int32_t rows,
                      const double *J_row, int32_t n_row, const double *GJ, int32_t n_column,
                      int lower) {
  w->kernels->multiply(n_row, n_column, rows, 1, J_row, n_row, GJ, n_column,
                       w->factor.values + place.offset, place.ld, lower);
}

/* the run [begin, end) of contacts of a patch, all of them with G != 0 */
static void add_run(struct sap_workspace *w, const struct sap_patch *patch, int32_t begin,
                    int32_t end) {
  const struct sap_graph *graph = &w->graph;
  const struct sap_factor *factor = &w->factor;
  const int32_t skip = 3 * (begin - patch->begin), rows = 3 * (end - begin);
  const int32_t n_low = sap_node_size(&graph->tree, patch->low);
  const double *J_low = w->J + patch->J_low + (int64_t)skip * n_low;
  multiply_blocks(&w->contacts, begin, end, n_low, J_low, w->GJ);
  add_block(w, factor->diagonal[patch->low], rows, J_low, n_low, w->GJ, n_low, 1);
  if (patch->high >= 0) {
    const int32_t n_high = sap_node_size(&graph->tree, patch->high);
    const double *J_high = w->J + patch->J_high + (int64_t)skip * n_high;
    add_block(w, factor->edge[patch->edge], rows, J_high, n_high, w->GJ, n_low, 0);
    multiply_blocks(&w->contacts, begin, end, n_high, J_high, w->GJ);
    add_block(w, factor->diagonal[patch->high], rows, J_high, n_high, w->GJ, n_high, 1);
  }
}

static int acts(const struct sap_workspace *w, int32_t i) { return w->contacts.G[SAP_G_NN][i] > 0; }

void sap_assemble(struct sap_workspace *w, const struct sap_island *island) {
  const struct sap_graph *graph = &w->graph;
  sap_factor_clear(&w->factor, island->index);

  /* A */
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t n = sap_node_size(&graph->tree, i);
    const struct sap_place place = w->factor.diagonal[i];
    for (int32_t j = 0; j < n; ++j) {
      memcpy(w->factor.values + place.offset + (size_t)j * (size_t)place.ld,
             w->A[i] + (int64_t)j * n, (size_t)n * sizeof(double));
    }
  }

  /* + J^T G J, run by run of contacts that act */
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &graph->patch[p];
    int32_t i = patch->begin;
    while (i < patch->end) {
      if (!acts(w, i)) {
        ++i;
        continue;
      }
      const int32_t begin = i;
      while (i < patch->end && acts(w, i)) {
        ++i;
      }
      add_run(w, patch, begin, i);
    }
  }
}

/* ---- along a line ---- */

struct sap_line sap_line_make(struct sap_workspace *w, const struct sap_island *island) {
  multiply_mass(w, island, w->dv, w->dp);
  multiply_jacobian(w, island, w->dv, w->dv_c);
  for (int r = 0; r < 3; ++r) {
    const double *inverse_R = r < 2 ? w->contacts.inverse_R_t : w->contacts.inverse_R_n;
    for (int32_t i = island->contact_begin; i < island->contact_end; ++i) {
      w->contacts.dy[r][i] = -w->dv_c[3 * (int64_t)i + r] * inverse_R[i];
    }
  }
  return (struct sap_line){
      .w = w,
      .island = island,
      .linear = dot(w->dp, w->dw, island->scalar_begin, island->scalar_end),
      .quadratic = dot(w->dv, w->dp, island->scalar_begin, island->scalar_end),
      .slope = dot(w->gradient, w->dv, island->scalar_begin, island->scalar_end),
  };
}

struct sap_line_point sap_line_at(const struct sap_line *line, double alpha) {
  /* dp^T (v(alpha) - v*) - dv_c^T gamma;  dv^T dp + dv_c^T G dv_c */
  struct sap_line_point point = {.alpha = alpha};
  line->w->loops->line(&line->w->contacts, line->island->contact_begin, line->island->contact_end,
                       alpha, &point.slope, &point.curvature);
  point.slope += line->linear + alpha * line->quadratic;
  point.curvature += line->quadratic;
  return point;
}

double sap_line_difference(const struct sap_line *line, double alpha) {
  const struct sap_contact_pool *p = &line->w->contacts;
  double difference = alpha * (line->linear + 0.5 * alpha * line->quadratic);
  for (int32_t i = line->island->contact_begin; i < line->island->contact_end; ++i) {
    const struct sap_contact contact = sap_pool_get(p, i);
    const double dy[3] = {alpha * p->dy[0][i], alpha * p->dy[1][i], alpha * p->dy[2][i]};
    const struct sap_contact_state at_0 =
        sap_contact_at_impulse(&contact, p->y[0][i], p->y[1][i], p->y[2][i]);
    const struct sap_contact_state at_alpha = sap_contact_at_impulse(
        &contact, p->y[0][i] + dy[0], p->y[1][i] + dy[1], p->y[2][i] + dy[2]);
    difference += sap_contact_cost_difference(&contact, &at_0, &at_alpha, dy);
  }
  return difference;
}

/* x += alpha dx */
static void advance(double *x, double alpha, const double *dx, int32_t begin, int32_t end) {
  for (int32_t i = begin; i < end; ++i) {
    x[i] += alpha * dx[i];
  }
}

void sap_line_advance(const struct sap_line *line, double alpha) {
  struct sap_workspace *w = line->w;
  const struct sap_island *island = line->island;
  advance(w->v, alpha, w->dv, island->scalar_begin, island->scalar_end);
  advance(w->dw, alpha, w->dv, island->scalar_begin, island->scalar_end);
  advance(w->momentum, alpha, w->dp, island->scalar_begin, island->scalar_end);
  advance(w->v_c, alpha, w->dv_c, 3 * island->contact_begin, 3 * island->contact_end);
}
