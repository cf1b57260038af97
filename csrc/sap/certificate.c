#include "sap/certificate.h"

#include <float.h>
#include <math.h>

/* unit round-off, doubled: covers the products of (1 + u) that first-order bounds leave out */
static const double u = DBL_EPSILON;

/* sum += factor |A| |x| for A (m, n) column-major */
static void add_absolute(int32_t m, int32_t n, const double *A, const double *x, double factor,
                         double *sum) {
  for (int32_t j = 0; j < n; ++j) {
    const double scale = factor * fabs(x[j]);
    for (int32_t i = 0; i < m; ++i) {
      sum[i] += fabs(A[(int64_t)j * m + i]) * scale;
    }
  }
}

/* e += (n + 2) u |A| |v - v*|: the momentum balance without contact, and v - v* itself */
static void bound_momentum_error(const struct sap_workspace *w, const struct sap_island *island,
                                 double *e) {
  const struct sap_graph *graph = &w->graph;
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t s = graph->tree.node_scalar[i], n = graph->tree.node_scalar[i + 1] - s;
    for (int32_t j = s; j < s + n; ++j) {
      e[j] = u * (fabs(w->momentum[j]) + fabs(w->impulse[j]));
    }
    add_absolute(n, n, w->A[i], w->dw + s, (n + 2) * u, e + s);
  }
}

/* error of the impulse of one contact from the error dv_c of its velocity: the projection does not
 * expand in the norm of R, |dgamma|_R <= |dy|_R, and has rounding errors of its own */
static void bound_impulse_error(const struct sap_contact *c, const double v_c[3],
                                const double gamma[3], const double dv_c[3], double dgamma[3]) {
  double dy_R = 0;
  for (int r = 0; r < 3; ++r) {
    const double R = r < 2 ? c->R_t : c->R_n;
    const double dy = (dv_c[r] + 4 * u * (fabs(v_c[r]) + fabs(c->v_hat[r]))) / R;
    dy_R += R * dy * dy;
  }
  dy_R = sqrt(dy_R);
  for (int r = 0; r < 3; ++r) {
    dgamma[r] = dy_R / sqrt(r < 2 ? c->R_t : c->R_n) + 16 * u * fabs(gamma[r]);
  }
}

/* one side of a patch: J is (3 contacts, n) */
struct side {
  const double *J;
  int32_t scalar, n;
};

static int32_t sides_of(const struct sap_workspace *w, const struct sap_patch *patch,
                        struct side sides[2]) {
  const int32_t *scalar = w->graph.tree.node_scalar;
  sides[0] = (struct side){w->J + patch->J_low, scalar[patch->low],
                           scalar[patch->low + 1] - scalar[patch->low]};
  if (patch->high < 0) {
    return 1;
  }
  sides[1] = (struct side){w->J + patch->J_high, scalar[patch->high],
                           scalar[patch->high + 1] - scalar[patch->high]};
  return 2;
}

/* e += |J|^T (|dgamma| + n u |gamma|) */
static void bound_contact_error(struct sap_workspace *w, const struct sap_island *island,
                                double *e) {
  /* terms that are summed into one scalar: at most all contacts of the island */
  const double terms = 3.0 * (island->contact_end - island->contact_begin) + 2;
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &w->graph.patch[p];
    struct side sides[2];
    const int32_t n_sides = sides_of(w, patch, sides);
    for (int32_t i = patch->begin; i < patch->end; ++i) {
      double dv_c[3] = {0, 0, 0}, dgamma[3];
      for (int32_t side = 0; side < n_sides; ++side) {
        const int32_t n = sides[side].n;
        const double *J = sides[side].J + 3 * (int64_t)(i - patch->begin) * n;
        const double *v = w->v + sides[side].scalar;
        for (int r = 0; r < 3; ++r) {
          for (int32_t j = 0; j < n; ++j) {
            dv_c[r] += (n + 2) * u * fabs(J[r * n + j] * v[j]);
          }
        }
      }
      const double *gamma = w->gamma + 3 * (int64_t)i;
      const struct sap_contact contact = sap_pool_get(&w->contacts, i);
      bound_impulse_error(&contact, w->v_c + 3 * (int64_t)i, gamma, dv_c, dgamma);
      for (int32_t side = 0; side < n_sides; ++side) {
        const int32_t n = sides[side].n;
        const double *J = sides[side].J + 3 * (int64_t)(i - patch->begin) * n;
        add_absolute(n, 3, J, dgamma, 1, e + sides[side].scalar);
        add_absolute(n, 3, J, gamma, terms * u, e + sides[side].scalar);
      }
    }
  }
}

/* x <- L^-1 x from row `first` on, all above being 0 */
static void solve_lower(int32_t first, int32_t n, const double *L, double *x) {
  for (int32_t j = first; j < n; ++j) {
    const double *column = L + (int64_t)j * n;
    x[j] *= column[j];
    for (int32_t i = j + 1; i < n; ++i) {
      x[i] -= column[i] * x[j];
    }
  }
}

static double squared_norm(int32_t n, const double *x) {
  double sum = 0;
  for (int32_t i = 0; i < n; ++i) {
    sum += x[i] * x[i];
  }
  return sum;
}

/* (|L^-1 g| + | |L^-1| e |)^2; x and y (n) scratch. |L^-1| e is summed column by column of L^-1: the
 * recurrence with signs dropped would be cheaper, and useless for long chains. */
static double bound_block(int32_t n, const double *L, const double *g, const double *e, double *x,
                          double *y) {
  for (int32_t i = 0; i < n; ++i) {
    x[i] = g[i];
    y[i] = 0;
  }
  solve_lower(0, n, L, x);
  const double norm = sqrt(squared_norm(n, x));
  for (int32_t k = 0; k < n; ++k) {
    for (int32_t i = 0; i < n; ++i) {
      x[i] = i == k;
    }
    solve_lower(k, n, L, x);
    for (int32_t i = k; i < n; ++i) {
      y[i] += fabs(x[i]) * e[k];
    }
  }
  const double bound = norm + sqrt(squared_norm(n, y));
  return bound * bound;
}

double sap_certificate(struct sap_workspace *w, const struct sap_island *island) {
  const struct sap_graph *graph = &w->graph;
  double *e = w->dp;
  bound_momentum_error(w, island, e);
  bound_contact_error(w, island, e);
  double bound = 0;
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t s = graph->tree.node_scalar[i], n = graph->tree.node_scalar[i + 1] - s;
    const double *L = w->L + graph->tree_A[graph->node_tree[i]];
    bound += bound_block(n, L, w->gradient + s, e + s, w->dv + s, w->best + s);
  }
  return bound;
}

double sap_complementarity(const struct sap_workspace *w, const struct sap_island *island) {
  double sum = 0;
  for (int32_t i = island->contact_begin; i < island->contact_end; ++i) {
    const double *v_c = w->v_c + 3 * (int64_t)i, *gamma = w->gamma + 3 * (int64_t)i;
    double product = 0;
    for (int r = 0; r < 3; ++r) {
      const double R = r < 2 ? w->contacts.R_t[i] : w->contacts.R_n[i];
      product += (v_c[r] - w->contacts.v_hat[r][i] + R * gamma[r]) * gamma[r];
    }
    sum += fabs(product);
  }
  return sum;
}
