/* This module writes task control as the search for the nearest point of a polyhedron
 * (lcp/active_set.h). With H = T^T W T + e I = L L^T and a_0 = H^-1 T^T W t,
 *
 *     y = [L^T (a - a_0); s f],   s = sqrt(k)/M_max,
 *
 * and the rows are: the equations of motion of velocities without a motor, as equalities; the sides
 * of the friction cones; the torques above their lower and below their upper limits. A contact with
 * friction has three unknowns and `edges` sides, one without friction the normal force alone. */
#ifndef SAPWOOD_INVDYN_TASKS_TASK_PROGRAM_H
#define SAPWOOD_INVDYN_TASKS_TASK_PROGRAM_H

#include "lcp/active_set.h"
#include "sapwood/tasks.h"

struct task_program {
  const struct sap_kernels *kernels;
  const tasks_problem *problem;
  const tasks_settings *settings;
  struct qp_active_set set;
  int32_t ld;      /* m rounded up to whole vectors */
  int32_t n_b;     /* velocities without a motor */
  int32_t n_rows;  /* rows of the polyhedron */
  int32_t *b;      /* (n_b) */
  int32_t *at;     /* (n + 1) first unknown of each contact's force */
  int32_t *side;   /* (n + 1) first row of each contact's cone */
  int32_t *source; /* (n_rows) place in the array of active rows; -1 of an equation of motion */
  int8_t *equality, *start; /* (n_rows) */
  double *limit;            /* (n_rows) of torques: the limit */
  double *normal;           /* (edges, 2) outward normals of the sides of the polygon */
  double inner;             /* distance of the sides from the centre, over mu f_n */
  double s;
  double *L;                   /* (m, ld) column-major, 1/diagonal on the diagonal */
  double *rows;                /* (n_T, ld) sqrt(w_i) T_i */
  double *a_0, *a, *g, *force; /* (m), (m), (m), (3 n) */
};

void task_program_carve(struct task_program *p, struct sap_arena *arena,
                        const tasks_settings *settings, const tasks_problem *most);

/* Solves; fills `solution`. Not finite numbers end as TASKS_NON_FINITE. */
void task_program_solve(struct task_program *p, const tasks_settings *settings,
                        const tasks_problem *problem, tasks_solution *solution);

#endif
