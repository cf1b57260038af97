/* Jacobians of points of a mechanism, and their accelerations without joint accelerations.
 *
 * Column i of a point p of a body is, for the velocities i between the body and its root,
 *
 *     J_r = s_i,   J_p = t_i + s_i x (p - c)      (s_i, t_i) = cdof_i, the motion at c
 *
 * with the centre of mass c of the tree. The rate of the motion axes gives the bias acceleration
 *
 *     b = sum_i cdof_dot_i v_i,    J'_p v = b_t + b_s x (p - c) + w x v_p
 *
 * where w and v_p are the angular velocity of the body and the velocity of the point.
 *
 * Ownership: all arrays are the caller's; nothing is allocated. Indices are not checked here. */
#ifndef SAPWOOD_INVDYN_TASKS_MOTIONS_H
#define SAPWOOD_INVDYN_TASKS_MOTIONS_H

#include <stdint.h>

struct tasks_mechanism {
  int32_t nv, n_bodies;
  const int32_t *last_dof;   /* (n_bodies) velocity nearest to the body, -1 for none */
  const int32_t *root;       /* (n_bodies) body whose c is the origin of its motions */
  const int32_t *dof_parent; /* (nv) next velocity towards the root, -1 at the root */
  const double *cdof;        /* (nv, 6) rotation, then translation */
  const double *cdof_dot;    /* (nv, 6) */
  const double *qpos, *qvel; /* positions, and velocities (nv) */
  const double *com;         /* (n_bodies, 3) c of each root, m */
  const double *xpos, *xmat; /* (n_bodies, 3) and (n_bodies, 3, 3) frames of bodies */
  const double *xipos;       /* (n_bodies, 3) centres of mass of bodies, m */
};

/* Motion of one point: J (3, nv) and J_r (3, nv), rows of nv numbers; zeros beforehand. Velocity v
 * and bias of the point, w and bias_r of the turning. J_r may be NULL. */
struct tasks_motion {
  double *J, *J_r;
  double v[3], w[3], bias[3], bias_r[3];
};

/* Finds the motion of a point (3) that is fixed to a body. */
void tasks_find_motion(const struct tasks_mechanism *m, int32_t body, const double *point,
                       struct tasks_motion *motion);

/* Finds J (3, nv), relative velocity u (3) and bias (3) of the second body against the first one at
 * a point, along the rows of a frame (3, 3). scratch: (3, nv) numbers. */
void tasks_find_contact(const struct tasks_mechanism *m, const int32_t bodies[2],
                        const double *point, const double *frame, double *scratch, double *J,
                        double *u, double *bias);

/* Forces that act on a mechanism. */
struct tasks_loads {
  const double *bias, *passive, *applied; /* (nv) Coriolis forces and gravity; springs; others */
  const double *wrenches;                 /* (n_bodies, 6) force and torque at xipos */
  int32_t n_q;
  const int32_t *actuated; /* (n_q) velocities whose applied forces are part of tau */
};

/* Sets h (nv) in M a + h = S^T tau + J^T f. */
void tasks_find_bias(const struct tasks_mechanism *m, const struct tasks_loads *loads, double *h);

/* Writes the mass matrix (nv, nv) from its lower triangle in compressed rows. */
void tasks_fill_mass(int32_t nv, const double *M, const int32_t *rownnz, const int32_t *rowadr,
                     const int32_t *colind, double *full);

#endif
