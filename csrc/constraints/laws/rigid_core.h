/* This module adds a rigid core to the compliant law of a contact: a barrier stiffens it without
 * bound (log) or exponentially (exp) where its layer of compliance ends.
 *
 * With l_0, gamma_0 and G_0 of the compliant law (contact.h) and an energy kappa per contact
 *
 *     s = sqrt(2 l_0/kappa)              distance to the polar cone: |gamma_0|_R/sqrt(kappa)
 *     l_b = kappa b(s) = beta(s) l_0     beta = 2 b(s)/s^2
 *     gamma_b = phi(s) gamma_0           phi = b'(s)/s
 *     G_b = phi G_0 + s phi'(s)/(2 l_0) gamma_0 gamma_0^T
 *
 *     log   b = -s log(1-s)/2       beta = L,  phi = (L + u)/2,  s phi' = (u - L + s u^2)/2
 *                                   L = -log(1-s)/s,  u = 1/(1-s);  only s < 1
 *     exp   b = s^2 exp(x)/2        beta = e^x,  phi = e^x (1 + x/2),  s phi' = e^x x (3 + x)/2
 *                                   x = lambda s
 *     table b of the user's own: constraints/barrier_table.h
 *
 * beta, phi -> 1 and s phi' -> 0 for s -> 0, the compliant law. b'' = phi + s phi' bounds the slope
 * of gamma_b in the norm of R. With kappa = (delta/(dt + tau_d))^2/R_n a contact that does not slip
 * has s = -phi/delta, phi being its distance at the end of the step (with tau_d = 0; at rest else):
 * s < 1 keeps the penetration below delta.
 *
 * No formula here cancels at small s, and none branches, so that loops over contacts turn into
 * vector instructions: logarithm and exponential are polynomials after a reduction by powers of
 * two. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_RIGID_CORE_H
#define SAPWOOD_CONSTRAINTS_LAWS_RIGID_CORE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "constraints/barrier_table.h"
#include "constraints/pool.h"

/* Iterates of a log barrier keep s below this: its round-off cannot carry them out of the
 * domain. */
#define SAP_BARRIER_MOST (1 - 0x1p-36)

/* Largest lambda s of an exp barrier. The stiffness has grown by 1e11 there; much more, and H,
 * singular to round-off, would have no Cholesky factor. */
#define SAP_BARRIER_MOST_EXPONENT 20.0

/* A contact with a larger s at rest starts too deep for a log barrier. Its new delta is the depth
 * plus a tenth of its excess over delta, at most 1 % of the depth: little enough that fifty times
 * the force of its spring pushes it out, and room to start from. */
#define SAP_BARRIER_START (1 - 0x1p-20)

/* A contact that starts too deep for an exp barrier gets the delta that makes lambda s this. */
#define SAP_BARRIER_START_EXPONENT 10.0

static inline uint64_t sap_bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double sap_double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Returns the factors of a log barrier, 0 <= s < 1. */
static inline struct sap_barrier_factors sap_barrier_log(double s) {
  const double remainder = 1 - s, u = 1 / remainder;

  /* remainder = 2^e m, m from sqrt(1/2) to sqrt(2) */
  const uint64_t one = 0x3ff0000000000000, root_half = 0x3fe6a09e667f3bcd;
  const uint64_t shifted = sap_bits_of(remainder) + (one - root_half);
  const double m = sap_double_of((shifted & 0x000fffffffffffff) + root_half);
  const double e = sap_double_of((shifted >> 52) | 0x4330000000000000) - (0x1p52 + 1023);

  /* -log m = 2 atanh z = 2 z (1 + z^2 Q), z = (1 - m)/(1 + m); near: e = 0 and 1 - m is s */
  const int near = e == 0;
  const double w = 1 / (1 + m), z = (near ? s : 1 - m) * w, q = z * z;
  double Q = 1.0 / 19;
  Q = Q * q + 1.0 / 17;
  Q = Q * q + 1.0 / 15;
  Q = Q * q + 1.0 / 13;
  Q = Q * q + 1.0 / 11;
  Q = Q * q + 1.0 / 9;
  Q = Q * q + 1.0 / 7;
  Q = Q * q + 1.0 / 5;
  Q = Q * q + 1.0 / 3;
  const double qQ = q * Q;
  const double far = (2 * z * (1 + qQ) - e * 0.69314718055994530942) / (near ? 1 : s);
  const double L = near ? 2 * w * (1 + qQ) : far;

  /* u - L = (1 + z)(z/(1 - z) - z^2 Q) */
  const double difference = near ? 2 * w * (0.5 * s * u - qQ) : u - L;
  return (struct sap_barrier_factors){L, 0.5 * (L + u), 0.5 * (difference + s * u * u)};
}

/* Series replace them for s or x <= SAP_BARRIER_SMALL: without division, and equal to round-off. */
#define SAP_BARRIER_SMALL 0x1p-8

static inline struct sap_barrier_factors sap_barrier_log_small(double s) {
  /* L = sum s^n/(n + 1), u = sum s^n, s u^2 = sum n s^n */
  double L = 1.0 / 8, u = 1, square = 7;
  for (int n = 6; n >= 0; --n) {
    L = L * s + 1.0 / (n + 1);
    u = u * s + 1;
    square = square * s + n;
  }
  double difference = 7.0 / 8; /* (u - L)/s */
  for (int n = 6; n >= 1; --n) {
    difference = difference * s + n / (n + 1.0);
  }
  return (struct sap_barrier_factors){L, 0.5 * (L + u), 0.5 * (difference * s + square)};
}

static inline struct sap_barrier_factors sap_barrier_exp_small(double x) {
  double e = 1.0 / 5040;
  e = e * x + 1.0 / 720;
  e = e * x + 1.0 / 120;
  e = e * x + 1.0 / 24;
  e = e * x + 1.0 / 6;
  e = e * x + 0.5;
  e = e * x + 1;
  e = e * x + 1;
  return (struct sap_barrier_factors){e, e * (1 + 0.5 * x), 0.5 * e * x * (3 + x)};
}

/* Returns the factors of an exp barrier, x = lambda s, 0 <= x <= SAP_BARRIER_MOST_EXPONENT. */
static inline struct sap_barrier_factors sap_barrier_exp(double x) {
  /* e^x = 2^n e^r, |r| <= log(2)/2; log(2) is split in two parts, and n times the first, shorter
   * one is exact */
  const double shifted = x * 1.44269504088896340736 + 0x1.8p52, n = shifted - 0x1.8p52;
  const double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r * r + r;
  const double power = sap_double_of((sap_bits_of(shifted) << 52) + 0x3ff0000000000000);
  const double e = power + power * p;
  return (struct sap_barrier_factors){e, e * (1 + 0.5 * x), 0.5 * e * x * (3 + x)};
}

/* Barrier of one contact. */
struct sap_barrier_shape {
  sap_barrier kind;
  double inverse_kappa;           /* 0 without a core: s = 0 */
  double lambda;                  /* rate of an exp barrier */
  const sap_barrier_table *table; /* nodes of a tabulated barrier */
};

/* Returns the barrier of the contact at place i. */
static inline struct sap_barrier_shape sap_barrier_of(const struct sap_pool *p, int32_t i) {
  const double lambda = p->barrier.lambda[i];
  const sap_barrier kind = lambda > 0    ? SAP_BARRIER_EXP
                           : lambda == 0 ? SAP_BARRIER_LOG
                                         : SAP_BARRIER_TABLE;
  return (struct sap_barrier_shape){kind, p->barrier.inverse_kappa[i], lambda, p->barrier.table};
}

/* Returns the largest s of an iterate; infinite without a core. */
static inline double sap_barrier_most(const struct sap_barrier_shape *barrier) {
  return barrier->kind == SAP_BARRIER_LOG     ? SAP_BARRIER_MOST
         : barrier->kind == SAP_BARRIER_EXP   ? SAP_BARRIER_MOST_EXPONENT / barrier->lambda
         : barrier->kind == SAP_BARRIER_TABLE ? DBL_MAX
                                              : INFINITY;
}

/* Returns the factors at s: infinite beyond sap_barrier_most(), NaN at NaN. */
struct sap_barrier_factors sap_barrier_at(const struct sap_barrier_shape *barrier, double s);

/* Returns the largest slope of gamma_b in the norm of R between 0 and s, infinite beyond the
 * domain. */
double sap_barrier_stiffest(const struct sap_barrier_shape *barrier, double s);

/* Returns l_b(b) - l_b(a) without cancellation, from `difference` = l_0(b) - l_0(a) formed without
 * it; infinite if b is outside the domain. */
double sap_barrier_cost_difference(const struct sap_barrier_shape *barrier, double l_a, double l_b,
                                   double difference);

/* Returns s phi' for f at s and a given phi from 1 to f.phi, which replaces phi(s) wherever s phi'
 * contains phi. It is the derivative by s of the barrier's impulse as an unknown of its own
 * (solver/newton/direction.h). */
static inline double sap_barrier_dual_rise(struct sap_barrier_factors f, double s, double lambda,
                                           double phi) {
  /* log: phi = (L + u)/2, s phi' = (u - L + s u^2)/2, with one u of the product from the given
   * phi */
  const double u = 2 * f.phi - f.beta, dual = 2 * phi - f.beta;
  const double log_rise = f.phi - f.beta + 0.5 * s * u * (dual > 1 ? dual : 1);
  /* exp: s phi' = phi x (3 + x)/(2 + x) */
  const double x = lambda * s, exp_rise = phi * x * (3 + x) / (2 + x);
  return lambda > 0 ? exp_rise : log_rise;
}

/* Returns s of a contact at rest on a surface that does not move: -phi0/delta if it touches. */
static inline double sap_barrier_rest(double v_hat_n, double inverse_R_n, double inverse_kappa) {
  return v_hat_n > 0 ? v_hat_n * sqrt(inverse_R_n * inverse_kappa) : 0;
}

/* Returns the kappa with which a contact that starts too deep is feasible at rest; else `kappa`. */
double sap_barrier_deepened(const struct sap_barrier_shape *barrier, double kappa, double v_hat_n,
                            double R_n);

#endif
