/* Room for one small island in the space of its impulses (impulse_space.h): n scalars, m
 * unknowns. */
#ifndef SAPWOOD_SOLVER_DENSE_IMPULSE_ROOM_H
#define SAPWOOD_SOLVER_DENSE_IMPULSE_ROOM_H

#include "base/memory.h"
#include "problem/graph/graph.h"
#include "solver/delassus/delassus_newton.h"

/* What a small island has of each. More impulses of contacts, with few velocities, pay where they
 * are no more than the velocities. */
enum {
  SAP_FEW_SCALARS = 12, /* one free body or two: mostly the sticking step is all that it takes */
  SAP_MOST_SCALARS = 64,
  SAP_FEW_IMPULSES = 24,
  SAP_MOST_IMPULSES = 48,
  SAP_MOST_MARKED = 24
};

/* an impulse, `scale` times which is that of a row of the triple at a place */
struct sap_unknown {
  int32_t place, row;
  double scale;
};

struct sap_impulse_room {
  double *panel;                /* (n + m + 1, n) column-major */
  double *scratch;              /* (n) */
  struct sap_impulses impulses; /* with J H_0^-1 b as row m of W */
  struct sap_unknown *unknown;  /* those of contacts, then the marked rows of joints */
  int32_t n_unknowns;
  int8_t *state; /* (n_triples, 3) of joint rows, as they were at the iterate of the last step */
};

void sap_impulse_room_carve(struct sap_impulse_room *room, struct sap_arena *arena,
                            const struct sap_graph *graph);

#endif
