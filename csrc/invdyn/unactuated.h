/* The problem on the coordinates that no motor moves. With A = L L^T, y = L^T v_b measures their
 * velocities so that |y|^2 = v_b^T A v_b, and J_y = J_b L^-T:
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

  /* of the joints' velocities, which the fallback changes */
  double *v_q;           /* (n_q) at the end of the step */
  double *y_free;        /* (n_b) */
  double *free_velocity; /* (n, 3) of contacts without impulses, with phi/dt in the normal one */
  /* what velocities of contacts are like, m/s: without impulses; of joints and gaps alone */
  double free_scale, given_scale;
  double no_impulse; /* round-off of momenta, N s */
};

void invdyn_reduction_carve(struct invdyn_reduction *of, const invdyn_problem *most,
                            struct sap_arena *arena);

/* For the desired accelerations; 0 where A is not positive definite. */
int invdyn_reduce(struct invdyn_reduction *of, const invdyn_problem *problem);

/* what velocities of contacts are like, m/s */
static inline double invdyn_velocity_scale(const struct invdyn_reduction *of) {
  return of->free_scale + of->given_scale;
}

/* what velocities u (n, 3) of contacts may be wrong by, m/s */
double invdyn_allowed_velocity(const struct invdyn_reduction *of, const double *u);

/* what follows from v_q */
void invdyn_set_joints(struct invdyn_reduction *of);

/* y (n_b) <- y_free + J_y^T z */
void invdyn_base(const struct invdyn_reduction *of, const double *z, double *y);

/* u (n, 3) <- J_y y + J_q v_q, with phi/dt in the normal one */
void invdyn_contact_velocity(const struct invdyn_reduction *of, const double *y, double *u);

/* lambda (n_q) for y and z; without -J_q^T z where z is NULL */
void invdyn_motors(const struct invdyn_reduction *of, const double *y, const double *z,
                   double *lambda);

/* v (m) from y and v_q */
void invdyn_velocity(const struct invdyn_reduction *of, const double *y, double *v);

#endif
