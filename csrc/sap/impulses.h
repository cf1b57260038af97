/* Contacts with Coulomb's friction, and clamped rows, by their impulses alone:
 *
 *     u = u_0 - W gamma
 *     contacts   0 <= gamma_n perp -u_n >= 0;   |gamma_t| <= mu gamma_n, u_t = lambda gamma_t with
 *                lambda >= 0, and = 0 where |gamma_t| < mu gamma_n
 *     rows       gamma = clamp(gamma + u, lower, upper)
 *
 * gamma_t has two components, or up to five where a contact resists torsion and rolling, in the
 * units of constraints/wide.h, in which the cone is circular.
 *
 * W (m, m), symmetric and positive definite, has R on its diagonal: u is what the velocity lacks.
 * Both lines say that gamma is a fixed point of the natural map: with z = gamma + s^-1 u, s > 0
 * taken from the diagonal,
 *
 *     gamma_n = max(z_n, 0),   gamma_t = min(mu gamma_n/|z_t|, 1) z_t,   gamma = clamp(z, lower,
 *     upper)
 *
 * Sweeps over the blocks (Gauss-Seidel) find what touches, sticks and slides, and Newton's method
 * on the map ends it. Its steps may leave more than there was, five times as much, before half of
 * them or a quarter is tried: the way to what is looked for often leads up, and steps that are cut
 * until they descend end short of it. Where they do not arrive, sweeps go on from before them. No
 * convergence is promised. */
#ifndef SAPWOOD_SAP_IMPULSES_H
#define SAPWOOD_SAP_IMPULSES_H

#include <stdint.h>

#include "base/memory.h"

/* loops go over so many at once, and past m */
enum { SAP_IMPULSES_CHUNK = 8 };

/* components of gamma_t */
enum { SAP_MOST_TANGENTIAL = 5 };

struct sap_impulses {
  int32_t n_contacts, n_rows; /* unknowns: those of each contact, then one of each row */
  int32_t *first;        /* (n_contacts + 1) of a contact: gamma_t from here on, last gamma_n */
  int32_t ld;            /* of W, which is column-major: sap_impulses_stride(m) */
  double *W;             /* (ld, m), finite behind row m too */
  double *u;             /* (ld) u_0, on return u; anything finite behind m */
  double *mu;            /* (n_contacts) */
  double *lower, *upper; /* (n_rows) */
  double *gamma;         /* (m) in: 0, or what is near; out */
  double *before;        /* (2, m) scratch: gamma and u before Newton's steps */
  double *lack;          /* (m) scratch: what is left of the map */
  double *step;          /* (2, ld) scratch: Newton's step, and what it changes of u */
  double *system;        /* (m, ld) scratch: Newton's, by row, with its right hand side */
};

/* room for m unknowns and one more */
static inline int32_t sap_impulses_stride(int32_t m) {
  return (m + SAP_IMPULSES_CHUNK) & ~(SAP_IMPULSES_CHUNK - 1);
}

static inline int32_t sap_impulses_size(const struct sap_impulses *p) {
  return p->first[p->n_contacts] + p->n_rows;
}

/* room for m unknowns, those of so many contacts and rows */
void sap_impulses_carve(struct sap_impulses *p, struct sap_arena *arena, size_t contacts, size_t m,
                        size_t rows);

/* Finds gamma. Returns the largest |gamma - map(gamma)|, over the largest |gamma|, both
 * times s. */
typedef double sap_impulses_function(struct sap_impulses *impulses);

/* for the instruction set of number `set`, as in sap_kernels_of() */
sap_impulses_function *sap_impulses_of(int32_t set);

#endif
