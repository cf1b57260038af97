/* This module evaluates the energy, stress and stiffness of one tetrahedron (fem.h has the
 * formulas). Matrices are row-major. */
#ifndef SAPWOOD_FEM_ELEMENT_H
#define SAPWOOD_FEM_ELEMENT_H

#include "fem/matrix3.h"
#include "sapwood/fem.h"

/* Constants of a material. */
struct fem_constants {
  fem_model model;
  double mu, lam; /* Pa, Lame's constants */
};

struct fem_constants fem_constants_of(const fem_material *material);

/* State of a tetrahedron. */
struct fem_state {
  double F[9];
  double J;       /* det F */
  double density; /* J/m^3, energy per reference volume */
  double P[9];    /* Pa */
  /* models that depend on singular values only: the derivatives of the energy density in the frame
   * of U and V. The derivative of P_ij by F_ij is mean[k], by F_ji half[k], for the third index k
   * of i != j; that of P_ii by F_kk is scaling[3 i + k]. */
  struct fem_svd svd;
  double mean[3], half[3], scaling[9];
};

/* Sets F from positions x of the four corners and the gradients b_1 to b_3. */
void fem_deform(const double *const x[4], const double gradients[9], double F[9]);

/* Finds J, the energy density and P of state->F. R0 is read by the corotated linear model only.
 * With `stiffness` also what the stiffness needs. */
void fem_find_stress(const struct fem_constants *constants, const double *R0, int stiffness,
                     fem_stiffness kind, struct fem_state *state);

/* Turns the gradients of the four corners into the frame in which fem_add_stiffness() needs them.
 */
void fem_turn_gradients(const struct fem_constants *constants, const double *R0,
                        const double gradients[9], const struct fem_state *state,
                        double turned[4][3]);

/* Adds the stiffness of volume V between corners a and b of turned gradients ca, cb. */
void fem_add_stiffness(const struct fem_constants *constants, const struct fem_state *state,
                       double V, const double ca[3], const double cb[3], double K_ab[9]);

#endif
