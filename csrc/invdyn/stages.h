/* Convex inverse dynamics in two stages: what happens, then by which forces.
 *
 * Impulses z are combinations of the edges of friction pyramids, with shares lambda >= 0; or, of
 * no-slip contacts, of a normal with two tangents of any sign. Both stages minimise
 *
 *     1/2 |X lambda - t|^2 + c^T lambda   with  E lambda = e,  F lambda + f >= 0
 *
 * through the dual: the nearest point (distance.h) in as many unknowns as X, E and F have rows,
 * with a row for each edge, and one for each slack variable of F. E and F count with a large
 * weight, and the method of multipliers makes them exact. */
#ifndef SAPWOOD_INVDYN_STAGES_H
#define SAPWOOD_INVDYN_STAGES_H

#include "invdyn/distance.h"
#include "invdyn/recall.h"
#include "invdyn/unactuated.h"

struct invdyn_stages {
  const invdyn_settings *settings;
  unsigned char *is_limited; /* (n_q) true if the torque limit of this motor counts */
  int32_t n_limits;          /* number of motors whose limits count */
  int32_t n_edges;           /* number of edges of a contact's cone */
  double *edge;              /* (n, n_edges, 3) */
  double *share;             /* (n, n_edges) */
  double *map;               /* (n, 3, n_q) how impulses lower lambda, the base's motion with it */
  double *offset;            /* (n_q) lambda without impulses */
  double *y;                 /* (n_b) */
  double *u;                 /* (n, 3) */
  double *target;            /* (d) of rows of X, E and F */
  double *reached;           /* (d) targets, moved by the method of multipliers */
  double *missing;           /* (d) what held rows miss */
  struct invdyn_distance distance;
  /* of active rows of each stage: shares that are not 0; slack variables of contacts that open, of
   * Stage I */
  struct invdyn_recall one, two;
};

void invdyn_stages_carve(struct invdyn_stages *of, const invdyn_settings *settings,
                         const invdyn_problem *most, struct sap_arena *arena);

/* Torque limits count only where torques would pass them. A call begins without limits, because
 * limits hide inconsistent velocities: impulses that cancel on the base and do work then end at the
 * limits, and contacts slip. */
void invdyn_stages_begin(struct invdyn_stages *of, int32_t n_q);

/* Both stages for the joints' velocities as they are, with the limits that count: z (n, 3).
 * INVDYN_NO_POINT where no impulses go with them. Where Stage II reaches the limit of pivots, z is
 * that of Stage I. */
enum invdyn_distance_end invdyn_stages_solve(struct invdyn_stages *of,
                                             const struct invdyn_reduction *reduction, double *z);

/* The limits of motors that impulses z (n, 3) take beyond them count too; 0 where none is new. */
int invdyn_stages_add_limits(struct invdyn_stages *of, const struct invdyn_reduction *reduction,
                             const double *z);

/* Writes the joints' velocities v_q (n_q) that are nearest to those of the reduction among those
 * that have impulses. They have where some velocity of the base lets no edge of a cone approach: by
 * Farkas' lemma no impulses that cancel on the base then do work. 0 where there are none. */
int invdyn_nearest_joints(struct invdyn_stages *of, const struct invdyn_reduction *reduction,
                          double *v_q);

#endif
