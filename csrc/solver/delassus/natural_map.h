/* Evaluates the natural map of delassus_problem.h at gamma, for files that are compiled once per
 * instruction set. */
#ifndef SAPWOOD_SOLVER_DELASSUS_NATURAL_MAP_H
#define SAPWOOD_SOLVER_DELASSUS_NATURAL_MAP_H

#include <math.h>
#include <string.h>

#include "linalg/kernels/isa.h"
#include "solver/delassus/delassus_problem.h"

/* The kind of an unknown, in p->kind. A free one obeys W dgamma = residual; a sliding one belongs
 * to a sliding contact; a fixed one is at a bound or belongs to an open contact. */
enum { SAP_KIND_FREE, SAP_KIND_SLIDES, SAP_KIND_HELD };

static double clamp(double x, double lower, double upper) {
  return x < lower ? lower : x > upper ? upper : x;
}

/* components of friction without torsion, the usual case; its loops have a known length */
enum { SLIP = 2 };

/* A contact: its unknowns and the diagonal of its block of W. */
struct contact {
  int32_t t, n, size; /* first unknown of gamma_t, gamma_n, components of gamma_t */
  double mu, W_n, inverse_n;
  double s, inverse_s; /* trace of W_tt, at least its largest eigenvalue */
};

static double diagonal(const struct sap_impulses *p, int32_t k) { return p->diagonal[k]; }

/* Returns the components of the friction of a contact. */
static int32_t tangential(const struct sap_impulses *p, int32_t i) {
  return p->first[i + 1] - p->first[i] - 1;
}

INLINE struct contact contact_at(const struct sap_impulses *p, int32_t i, const int32_t size) {
  const int32_t t = p->first[i], n = t + size;
  return (struct contact){.t = t,
                          .n = n,
                          .size = size,
                          .mu = p->mu[i],
                          .W_n = p->diagonal[n],
                          .inverse_n = p->inverse[n],
                          .s = p->trace[i],
                          .inverse_s = p->inverse_trace[i]};
}

/* Finds the diagonal of W and its reciprocals. Sets the entries of gamma and of the residual behind
 * m to 0, since loops over whole vectors read them. */
static void begin_map(struct sap_impulses *p) {
  const int32_t m = sap_impulses_size(p), ld = p->ld;
  for (int32_t k = 0; k < ld; ++k) {
    p->diagonal[k] = k < m ? p->W[(size_t)k * (size_t)(ld + 1)] : 1;
  }
  for (int32_t k = 0; k < ld; ++k) {
    p->inverse[k] = 1 / p->diagonal[k];
  }
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    double trace = 0;
    for (int32_t k = p->first[i]; k < p->first[i + 1] - 1; ++k) {
      trace += p->diagonal[k];
    }
    p->trace[i] = trace;
    p->inverse_trace[i] = 1 / trace;
  }
  memset(p->gamma + m, 0, (size_t)(ld - m) * sizeof *p->gamma);
  memset(p->residual + m, 0, (size_t)(ld - m) * sizeof *p->residual);
}

INLINE double squares(const int32_t n, const double *x) {
  double sum = 0;
  for (int32_t k = 0; k < n; ++k) {
    sum += x[k] * x[k];
  }
  return sum;
}

/* The map of a contact. */
struct image {
  int8_t kind;
  double z[SAP_MOST_TANGENTIAL], length; /* z_t and |z_t| */
  double share, normal;                  /* map(gamma) = (share z_t, normal) */
};

/* Maps gamma of a contact, with z = gamma + part s^-1 u. `along` is the product of s z with the
 * normal, or with the edge of the cone if friction is convex. `slipping` is the normal impulse
 * whose friction a sliding contact has. */
INLINE struct image map_contact(const struct sap_impulses *p, const struct contact *c,
                                const int32_t size, const double part) {
  struct image to;
  const double z_n = p->gamma[c->n] + part * (p->u[c->n] * c->inverse_n);
  for (int32_t k = 0; k < size; ++k) {
    to.z[k] = p->gamma[c->t + k] + part * (p->u[c->t + k] * c->inverse_s);
  }
  to.length = sqrt(squares(size, to.z));
  const double s_n = c->W_n, along = s_n * z_n + (p->is_convex ? c->mu * c->s * to.length : 0);
  const double slipping = p->is_convex ? along / (s_n + c->mu * c->mu * c->s) : p->gamma[c->n];
  const double bound = c->mu * slipping;
  const int touches = along > 0, slides = touches && to.length > bound;
  to.kind = !touches ? SAP_KIND_HELD : slides ? SAP_KIND_SLIDES : SAP_KIND_FREE;
  to.share = slides ? bound / to.length : touches;
  to.normal = !touches ? 0 : slides && p->is_convex ? slipping : z_n;
  return to;
}

/* Finds the residual s (map(gamma) - gamma) of a contact, the kind of its unknowns and its slip. */
INLINE void find_residual(const struct sap_impulses *p, int32_t i, const int32_t size) {
  const struct contact c = contact_at(p, i, size);
  const struct image to = map_contact(p, &c, size, 1);
  struct sap_slide *slide = p->slide + i;
  const int slides = to.kind == SAP_KIND_SLIDES, sticks = to.kind == SAP_KIND_FREE;
  slide->share = to.share;
  for (int32_t k = 0; k < size; ++k) {
    slide->t[k] = slides ? to.z[k] / to.length : 0;
    p->residual[c.t + k] = sticks ? p->u[c.t + k] : c.s * (to.share * to.z[k] - p->gamma[c.t + k]);
  }
  p->residual[c.n] =
      sticks || (slides && !p->is_convex) ? p->u[c.n] : c.W_n * (to.normal - p->gamma[c.n]);
  memset(p->kind + c.t, to.kind, (size_t)size + 1);
}

/* The residual at gamma: the largest entry, and that over the largest s |gamma|. */
struct residual_norm {
  double largest, share;
};

static struct residual_norm find_residual_norm(const struct sap_impulses *p) {
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    if (tangential(p, i) == SLIP) {
      find_residual(p, i, SLIP);
    } else {
      find_residual(p, i, tangential(p, i));
    }
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int32_t k = p->first[p->n_contacts] + i;
    const double z = p->gamma[k] + p->u[k] * p->inverse[k];
    const double value = clamp(z, p->lower[i], p->upper[i]);
    p->residual[k] = value == z ? p->u[k] : diagonal(p, k) * (value - p->gamma[k]);
    p->kind[k] = value == z ? SAP_KIND_FREE : SAP_KIND_HELD;
  }
  simd max_residual = simd_zero(), most = simd_zero(), sum = simd_zero();
  for (int32_t k = 0; k < p->ld; k += SIMD_WIDTH) {
    const simd residuals = simd_abs(simd_load(p->residual + k));
    const simd size = simd_load(p->diagonal + k) * simd_abs(simd_load(p->gamma + k));
    max_residual = simd_max(max_residual, residuals);
    most = simd_max(most, size);
    sum += residuals + size;
  }
  if (!(simd_sum(sum) < INFINITY)) {
    return (struct residual_norm){INFINITY, INFINITY}; /* NaN */
  }
  const double largest = simd_largest(max_residual);
  return (struct residual_norm){largest, largest > 0 ? largest / simd_largest(most) : 0};
}

#endif
