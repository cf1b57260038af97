/* The natural map of impulse_problem.h at gamma, for files that are compiled once per instruction
 * set. */
#ifndef SAPWOOD_SAP_NATURAL_MAP_H
#define SAPWOOD_SAP_NATURAL_MAP_H

#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "linalg/isa.h"
#include "sap/impulse_problem.h"

/* of an unknown, in p->kind: W dgamma = lack, where it is free to change; part of a contact that
 * slides; or at a bound, or of a contact that does not touch */
enum { SAP_KIND_FREE, SAP_KIND_SLIDES, SAP_KIND_HELD };

/* y -= a x, in whole vectors */
INLINE void subtract(int32_t n, double a, const double *restrict x, double *restrict y) {
  for (int32_t i = 0; i < n; i += SAP_IMPULSES_CHUNK) {
    for (int32_t j = i; j < i + SAP_IMPULSES_CHUNK; ++j) {
      y[j] -= a * x[j];
    }
  }
}

static double clamp(double x, double lower, double upper) {
  return x < lower ? lower : x > upper ? upper : x;
}

/* components of most friction, whose loops have a known length */
enum { SLIP = 2 };

/* a contact: its unknowns, and what W has on the diagonal of its block */
struct contact {
  int32_t t, n, size; /* gamma_t from t on, of so many components, and gamma_n */
  double mu, W_n;
  double s; /* of the tangential part: the trace, no less than its largest eigenvalue */
};

static double diagonal(const struct sap_impulses *p, int32_t k) {
  return p->W[(size_t)k * (size_t)(p->ld + 1)];
}

/* components of the friction of a contact */
static int32_t tangential(const struct sap_impulses *p, int32_t i) {
  return p->first[i + 1] - p->first[i] - 1;
}

INLINE struct contact contact_at(const struct sap_impulses *p, int32_t i, const int32_t size) {
  const int32_t t = p->first[i], n = t + size;
  struct contact c = {.t = t, .n = n, .size = size, .mu = p->mu[i], .W_n = diagonal(p, n)};
  for (int32_t k = c.t; k < c.n; ++k) {
    c.s += diagonal(p, k);
  }
  return c;
}

INLINE double length(const int32_t n, const double *x) {
  double sum = 0;
  for (int32_t k = 0; k < n; ++k) {
    sum += x[k] * x[k];
  }
  return sqrt(sum);
}

/* of a contact: does it touch, does it slide, and z_t with its length */
struct place {
  int touches, slides;
  double z[SAP_MOST_TANGENTIAL], size;
};

INLINE struct place place_of(const struct sap_impulses *p, const struct contact *c) {
  struct place at = {.touches = p->gamma[c->n] + p->u[c->n] / c->W_n > 0};
  for (int32_t k = 0; k < c->size; ++k) {
    at.z[k] = p->gamma[c->t + k] + p->u[c->t + k] / c->s;
  }
  at.size = length(c->size, at.z);
  at.slides = at.touches && at.size > c->mu * p->gamma[c->n];
  return at;
}

/* s (map(gamma) - gamma) of a contact, and of which kind its unknowns are */
INLINE void find_lack(const struct sap_impulses *p, int32_t i, const int32_t size) {
  const struct contact c = contact_at(p, i, size);
  const struct place at = place_of(p, &c);
  const double share = at.slides ? c.mu * p->gamma[c.n] / at.size : 0;
  for (int32_t k = 0; k < c.size; ++k) {
    p->lack[c.t + k] =
        at.touches && !at.slides ? p->u[c.t + k] : c.s * (share * at.z[k] - p->gamma[c.t + k]);
  }
  p->lack[c.n] = at.touches ? p->u[c.n] : -c.W_n * p->gamma[c.n];
  memset(p->kind + c.t,
         !at.touches ? SAP_KIND_HELD
         : at.slides ? SAP_KIND_SLIDES
                     : SAP_KIND_FREE,
         (size_t)size + 1);
}

/* what is left of the map at gamma: the largest of p->lack, and that over the largest s |gamma| */
struct rest {
  double largest, share;
};

static struct rest find_rest(const struct sap_impulses *p) {
  const int32_t m = sap_impulses_size(p);
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    if (tangential(p, i) == SLIP) {
      find_lack(p, i, SLIP);
    } else {
      find_lack(p, i, tangential(p, i));
    }
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int32_t k = p->first[p->n_contacts] + i;
    const double W = diagonal(p, k), z = p->gamma[k] + p->u[k] / W;
    const double value = clamp(z, p->lower[i], p->upper[i]);
    p->lack[k] = value == z ? p->u[k] : W * (value - p->gamma[k]);
    p->kind[k] = value == z ? SAP_KIND_FREE : SAP_KIND_HELD;
  }
  double largest = 0, most = 0, sum = 0;
  for (int32_t k = 0; k < m; ++k) {
    const double lacks = fabs(p->lack[k]);
    const double size = diagonal(p, k) * fabs(p->gamma[k]);
    largest = sap_larger(largest, lacks);
    most = sap_larger(most, size);
    sum += lacks + size;
  }
  if (!(sum < INFINITY)) {
    return (struct rest){INFINITY, INFINITY}; /* NaN */
  }
  return (struct rest){largest, largest > 0 ? largest / most : 0};
}

#endif
