/* The arrays of one thread for islands with Coulomb's friction in supernodal storage (coulomb.h):
 * copies of iterates, the linear law of a direction, and the problem of contacts in dispute
 * (disputes.h). They are carved with the workspace, and empty with convex friction. */
#ifndef SAPWOOD_SOLVER_PLAN_COULOMB_WORKSPACE_H
#define SAPWOOD_SOLVER_PLAN_COULOMB_WORKSPACE_H

#include "constraints/linear_law.h"
#include "linalg/path_columns.h"
#include "solver/delassus/small_problem.h"

/* A copy of an iterate with what an evaluation needs. */
struct sap_iterate {
  double *v, *dw, *momentum, *reach; /* (n_scalars) as in the workspace */
  double *v_c[3];                    /* (n_triples) */
  int32_t n_steps;
};

/* Contacts in dispute, in the order in which they were found. */
struct sap_disputes {
  int32_t n;
  int32_t place[SAP_SMALL_MOST], patch[SAP_SMALL_MOST];
  int32_t first[SAP_PATH_SETS]; /* first contact of each set in path_columns.h */
};

struct sap_coulomb_workspace {
  struct sap_path_columns path;
  struct sap_iterate start, best;
  struct sap_linear_law law;
  struct sap_disputes disputes;
  struct sap_small_problem small;
  double *lack;   /* (n_scalars) residual of a system, then the correction of its solution */
  double *target; /* (n_scalars) right-hand side of a system, kept for its residual */
  double *weight; /* (n_triples) w_n = J_n diag(A)^-1 J_n^T of contacts, 1/kg */
  double *gap;    /* (n_triples) weight |gamma - gamma'|^2 of both laws of contacts, J */
  double *S;      /* (3 SAP_SMALL_MOST)^2 by column: J_D H^-1 J_D^T */
};

/* Carves arrays of this many scalars and triples, for the factor of path.lu. */
void sap_coulomb_workspace_carve(struct sap_coulomb_workspace *c, struct sap_arena *arena,
                                 size_t scalars, int32_t triples);

#endif
