#include "sap/certificate.h"

#include <float.h>
#include <math.h>

#include "sap/problem.h"

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

/* e += ((n + 2) u + asymmetry) |A| |v - v*|: the momentum balance without contact, and v - v* itself */
static void bound_momentum_error(const struct sap_workspace *w, const struct sap_island *island,
                                 double *e) {
  const struct sap_graph *graph = &w->graph;
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t s = graph->tree.node_scalar[i], n = sap_node_size(&graph->tree, i);
    for (int32_t j = s; j < s + n; ++j) {
      e[j] = u * (fabs(w->momentum[j]) + fabs(w->impulse[j]));
    }
    add_absolute(n, n, w->A[i], w->dw + s, (n + 2) * u + sap_asymmetry, e + s);
  }
}

/* error of the impulse of one contact from the error dv_c of its velocity: the projection does not
 * expand in the norm of R, |dgamma|_R <= |dy|_R, and has rounding errors of its own */
static void bound_impulse_error(const struct sap_contact *c, const double v_c[3],
                                const double gamma[3], const double dv_c[3], double dgamma[3]) {
  double dy_R = 0;
  for (int r = 0; r < 3; ++r) {
    const double error = dv_c[r] + 4 * u * (fabs(v_c[r]) + fabs(c->v_hat[r]));
    dy_R += error * error * (r < 2 ? c->inverse_R_t : c->inverse_R_n);
  }
  const double tangential = sqrt(dy_R * c->inverse_R_t), normal = sqrt(dy_R * c->inverse_R_n);
  for (int r = 0; r < 3; ++r) {
    dgamma[r] = (r < 2 ? tangential : normal) + 16 * u * fabs(gamma[r]);
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
      for (int r = 0; r < 3; ++r) {
        dgamma[r] += terms * u * fabs(gamma[r]);
      }
      for (int32_t side = 0; side < n_sides; ++side) {
        const int32_t n = sides[side].n;
        const double *J = sides[side].J + 3 * (int64_t)(i - patch->begin) * n;
        add_absolute(n, 3, J, dgamma, 1, e + sides[side].scalar);
      }
    }
  }
}

static double norm(int32_t n, const double *x) {
  double sum = 0;
  for (int32_t i = 0; i < n; ++i) {
    sum += x[i] * x[i];
  }
  return sqrt(sum);
}

/* sum over trees of (|S g| + | |S| e |)^2, S = L^-1. |S| e from S itself: a recurrence over L with signs
 * dropped would be useless for long chains. */
double sap_certificate(struct sap_workspace *w, const struct sap_island *island) {
  const struct sap_graph *graph = &w->graph;
  double *e = w->dp, *x = w->dv, *y = w->best;
  bound_momentum_error(w, island, e);
  bound_contact_error(w, island, e);
  double sum = 0;
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    const int32_t s = graph->tree.node_scalar[i], n = sap_node_size(&graph->tree, i);
    const double *S = w->S + graph->tree_A[graph->node_tree[i]];
    for (int32_t j = s; j < s + n; ++j) {
      x[j] = y[j] = 0;
    }
    w->kernels->gemv(n, n, S, n, w->gradient + s, x + s);
    add_absolute(n, n, S, e + s, 1, y + s);
    const double bound = norm(n, x + s) + norm(n, y + s);
    sum += bound * bound;
  }
  return sum;
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
