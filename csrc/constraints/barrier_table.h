/* This module evaluates a tabulated barrier b(s): the user's own, in place of log and exp.
 *
 * The table gives b'' at nodes 0 = s_0 < s_1 < ... < s_n-1. Between nodes b'' is linear, and beyond
 * the last one it is constant, so that b is defined for every s >= 0. With b(0) = b'(0) = 0, which
 * hold for every barrier, the integrals of b'' are exact:
 *
 *     d = s - s_j     b''(s) = c_j + m d,   b'(s) = b'_j + c_j d + m d^2/2,
 *                     b(s)   = b_j + b'_j d + c_j d^2/2 + m d^3/6
 *
 * b is convex if and only if no c_j is negative. Here all must be > 0, and phi = b'/s, the mean of
 * b'' over [0, s], is > 0 too. */
#ifndef SAPWOOD_CONSTRAINTS_BARRIER_TABLE_H
#define SAPWOOD_CONSTRAINTS_BARRIER_TABLE_H

#include "sapwood/problem.h"

/* Factors by which a barrier changes the compliant l_0, gamma_0 and G_0 (rigid_core.h). */
struct sap_barrier_factors {
  double beta; /* l_b/l_0 */
  double phi;  /* gamma_b/gamma_0 */
  double rise; /* s phi'(s) */
};

/* Checks a table, which may be NULL: s ascending from 0, curvature > 0, and slope and value as
 * sap_barrier_integrate() finds them. */
sap_status sap_barrier_table_check(const sap_barrier_table *table, sap_error *error);

/* Returns the factors at a finite s >= 0. */
struct sap_barrier_factors sap_barrier_table_at(const sap_barrier_table *table, double s);

/* Returns b(s_b) - b(s_a) without cancellation, from ds = s_b - s_a formed without it. */
double sap_barrier_table_difference(const sap_barrier_table *table, double s_a, double s_b,
                                    double ds);

/* Returns the largest b'' on [0, s], which bounds phi too. */
double sap_barrier_table_stiffest(const sap_barrier_table *table, double s);

#endif
