/* This module reduces the problem to the coordinates that no motor moves. With A = L L^T, y = L^T
 * v_b measures their velocities so that |y|^2 = v_b^T A v_b, and J_y = J_b L^-T:
 *
 *     y+ = y_free + J_y^T z,   y_free = L^-1 (c_b - B v_q+),   u = J_y y+ + J_q v_q+
 *     lambda = B_y^T y+ + C v_q+ - c_q - J_q^T z,   B_y = L^-1 B */
#ifndef SAPWOOD_INVDYN_UNACTUATED_H
#define SAPWOOD_INVDYN_UNACTUATED_H

#include "base/memory.h"

struct invdyn_reduction {
  const invdyn_problem *problem;
  int32_t n_b;
  int32_t *b;       /* (n_b) velocities without a motor */
  double *L;        /* (n_b, n_b) lower triangle, by rows */
  double *B_y;      /* (n_b, n_q) */
  double *y_c;      /* (n_b) L^-1 c_b */
  double *c;        /* (m) */
  double *J_y;      /* (n, 3, n_b) two tangents, then the normal */
  double *J_q;      /* (n, 3, n_q) */
  double *gap_rate; /* (n) phi / dt */

  /* values for the joint velocities, which the fallback changes */
  double *v_q;    /* (n_q) joint velocities at the end of the step */
  double *y_free; /* (n_b) */
  /* (n, 3) contact velocities without impulses, with phi/dt in the normal one */
  double *free_velocity;
  /* m/s, scale of contact velocities without impulses, and from only joints and gaps */
  double free_scale, given_scale;
  double no_impulse; /* round-off of momenta, N s */
};

void invdyn_reduction_carve(struct invdyn_reduction *reduction, const invdyn_problem *most,
                            struct sap_arena *arena);

/* Reduces for the desired accelerations; 0 if A is not positive definite. */
int invdyn_reduce(struct invdyn_reduction *reduction, const invdyn_problem *problem);

/* Returns the scale of contact velocities, m/s. */
static inline double invdyn_velocity_scale(const struct invdyn_reduction *reduction) {
  return reduction->free_scale + reduction->given_scale;
}

/* Returns the allowed error of contact velocities u (n, 3), m/s. */
double invdyn_allowed_velocity(const struct invdyn_reduction *reduction, const double *u);

/* Computes everything that depends on v_q. */
void invdyn_set_joints(struct invdyn_reduction *reduction);

/* Sets y (n_b) <- y_free + J_y^T z. */
void invdyn_base(const struct invdyn_reduction *reduction, const double *z, double *y);

/* Sets u (n, 3) <- J_y y + J_q v_q, with phi/dt in the normal one. */
void invdyn_contact_velocity(const struct invdyn_reduction *reduction, const double *y, double *u);

/* Sets lambda (n_q) for y and z; without -J_q^T z if z is NULL. */
void invdyn_motors(const struct invdyn_reduction *reduction, const double *y, const double *z,
                   double *lambda);

/* Sets v (m) from y and v_q. */
void invdyn_velocity(const struct invdyn_reduction *reduction, const double *y, double *v);

#endif
