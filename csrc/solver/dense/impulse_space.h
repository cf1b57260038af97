/* A small island in the space of the impulses of its contacts.
 *
 * With its other rows as free as they are at the iterate v, H_0 = A + J_r^T G_r J_r, Coulomb's
 * friction asks of the next velocity
 *
 *     H_0 dv = b + J^T gamma,   b = -A (v - v*) + J_r^T gamma_r
 *     gamma: the law at v_hat - v_c - J dv = u_0 - J H_0^-1 J^T gamma
 *
 * a problem in gamma alone, with three to six unknowns a contact, that delassus_newton.h solves in
 * a tenth of what iterations cost in the space of velocities. One Cholesky factorization of the
 * panel [H_0; J; b^T] makes it [L; J L^-T; (L^-1 b)^T], whose products are J H_0^-1 J^T and J
 * H_0^-1 b.
 *
 * Rows of a joint that the step has turned out to free, or to hold, become unknowns too: marked,
 * they stay so until the island is solved. Nothing is promised: whether v + dv is better than v is
 * for the caller to find out. */
#ifndef SAPWOOD_SOLVER_DENSE_IMPULSE_SPACE_H
#define SAPWOOD_SOLVER_DENSE_IMPULSE_SPACE_H

#include "solver/newton/objective.h"

/* Is the island small, with clamped rows and contacts under the disk law alone, with torsion and
 * rolling or without, and no soft norm? If so, it begins without marks. */
int sap_impulse_space_begin(struct sap_workspace *w, const struct sap_island *island);

/* dv, for the iterate as it was evaluated, with bounds that follow it. G of contacts and marked
 * rows becomes 0 in the pool. Returns what sap_impulses_function does, infinity where there is no
 * dv. */
double sap_impulse_space_direction(struct sap_workspace *w, const struct sap_island *island);

/* Marks joint rows that v + dv, as it was evaluated, has freed, or brought to a bound. Returns how
 * many are new, -1 where they are too many. */
int32_t sap_impulse_space_mark(struct sap_workspace *w, const struct sap_island *island);

#endif
