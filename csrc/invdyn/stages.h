/* This module solves convex inverse dynamics in two stages: Stage I finds the motion, Stage II the
 * forces.
 *
 * Impulses z are combinations of the edges of friction pyramids, with shares lambda >= 0; for
 * no-slip contacts, of a normal with two tangents of any sign. Both stages minimise
 *
 *     1/2 |X lambda - t|^2 + c^T lambda   with  E lambda = e,  F lambda + f >= 0
 *
 * through the dual: the nearest point (distance.h) in as many unknowns as X, E and F have rows,
 * with a row for each edge and for each slack variable of F. E and F have a large weight, and the
 * method of multipliers makes them exact. */
#ifndef SAPWOOD_INVDYN_STAGES_H
#define SAPWOOD_INVDYN_STAGES_H

#include "invdyn/distance.h"
#include "invdyn/warm_start.h"
#include "invdyn/unactuated.h"

struct invdyn_stages {
  const invdyn_settings *settings;
  unsigned char *is_limited; /* (n_q) 1 if the torque limit of this motor counts */
  int32_t n_limits;          /* number of motors whose limits count */
  int32_t n_edges;           /* number of edges of a contact's cone */
  double *edge;              /* (n, n_edges, 3) */
  double *share;             /* (n, n_edges) */
  double *map;      /* (n, 3, n_q) decrease of lambda per impulse, with the motion of the base */
  double *offset;   /* (n_q) lambda without impulses */
  double *y;        /* (n_b) */
  double *u;        /* (n, 3) */
  double *target;   /* (d) targets of the rows of X, E and F */
  double *reached;  /* (d) targets, moved by the method of multipliers */
  double *residual; /* (d) residuals of held rows */
  struct invdyn_distance distance;
  /* active rows of each stage: nonzero shares, in Stage I also slack variables of opening
   * contacts */
  struct invdyn_warm_start one, two;
};

void invdyn_stages_carve(struct invdyn_stages *stages, const invdyn_settings *settings,
                         const invdyn_problem *most, struct sap_arena *arena);

/* Begins without torque limits, which count only where torques would pass them. Limits hide
 * inconsistent velocities: impulses that cancel on the base and do work then end at the limits, and
 * contacts slip. */
void invdyn_stages_begin(struct invdyn_stages *stages, int32_t n_q);

/* Runs both stages for the current joint velocities, with the limits that count: z (n, 3). Returns
 * INVDYN_NO_POINT without impulses. If Stage II reaches the pivot limit, z is that of Stage I. */
enum invdyn_distance_end invdyn_stages_solve(struct invdyn_stages *stages,
                                             const struct invdyn_reduction *reduction, double *z);

/* Adds the limits of motors that impulses z (n, 3) take beyond them; 0 if none is new. */
int invdyn_stages_add_limits(struct invdyn_stages *stages, const struct invdyn_reduction *reduction,
                             const double *z);

/* Writes the joint velocities v_q (n_q) nearest to those of the reduction that have impulses; 0 if
 * none exist. Velocities have impulses if some velocity of the base lets no edge of a cone
 * approach: by Farkas' lemma no impulses that cancel on the base then do work. */
int invdyn_nearest_joints(struct invdyn_stages *stages, const struct invdyn_reduction *reduction,
                          double *v_q);

#endif
