/* Solves contacts with Coulomb's friction for their impulses where the Delassus operator is not
 * symmetric, or friction may drive a contact onto itself (Painleve):
 *
 *     u = q + M gamma,   0 <= gamma_n perp u_n >= 0,   |gamma_t| <= mu gamma_n,
 *     u_t = -lambda gamma_t with lambda >= 0, and = 0 where |gamma_t| < mu gamma_n
 *
 * M includes R on its diagonal. Gauss-Seidel sweeps, which solve one contact after the other
 * exactly, find which contacts touch, stick and slide, and semismooth Newton steps follow. Cycles
 * of both go on until the natural map
 *
 *     sum |gamma - P(gamma - rho u)|^2/rho,   rho = 1/|M_ii|
 *
 * is small compared with its value at gamma = 0, or a cycle after the first one leaves most of it:
 * M has negative diagonals where other contacts slide onto themselves, and there may be no
 * solution. Redundant contacts decide between stick and slip by R alone, far below M_ii, where
 * Newton's steps on this map go back and forth. After the first cycle they take a larger rho for
 * friction, closer to 1/R. There is no proof of convergence: the result is the gamma of the
 * smallest natural map. Nothing is allocated. */
#ifndef SAPWOOD_SOLVER_DELASSUS_SMALL_PROBLEM_H
#define SAPWOOD_SOLVER_DELASSUS_SMALL_PROBLEM_H

#include "base/memory.h"
#include "solver/delassus/delassus_problem.h"
#include "solver/solver_tuning.h"

/* largest number of unknowns, and the stride for these */
enum {
  SAP_SMALL_UNKNOWNS = 3 * SAP_SMALL_MOST,
  SAP_SMALL_STRIDE = SAP_SMALL_UNKNOWNS + SAP_IMPULSES_CHUNK
};

struct sap_small_problem {
  int32_t n;     /* number of contacts */
  int thorough;  /* 1: the thorough search of solver_tuning.h; 0: the usual one */
  int32_t ld;    /* stride of M, sap_impulses_stride(3 n) */
  double *M;     /* (ld, 3 n) column-major; rows (t1, t2, n) of each contact, 0 behind row 3 n */
  double *rows;  /* (3 n, ld) M by row, scratch */
  double *q;     /* (ld) m/s, 0 behind 3 n */
  double *mu;    /* (n) */
  double *gamma; /* (3 n) in: an estimate, out: the solution, N s */

  /* scratch */
  double *u, *step, *change; /* (ld) u, a step of gamma, and its change of u */
  double *best;              /* (3 n) gamma of the smallest natural map */
  double *rho,
      *sharp;       /* (n, 2) rho of the tangential rows and the normal row; for Newton's steps */
  double *inverse;  /* (n, 9) inverse of the diagonal block, by row */
  double *system;   /* equations of a step by row */
  double *times;    /* (2, 3 n) of the elimination */
  double *solution; /* (3 n) */
  int32_t *listed, *first; /* (n) contacts that touch, and their first unknown in the system */
  double *slip;            /* (n, 2) direction of friction where they slide, else 0 */
};

void sap_small_carve(struct sap_small_problem *p, struct sap_arena *arena);

/* Finds gamma. Returns the natural map there, over that at gamma = 0. */
typedef double sap_small_function(struct sap_small_problem *p);

/* Sets n, the stride and M = W = (1 - S K)^-1 S of the contacts, without R. S by column has the
 * stride SAP_SMALL_UNKNOWNS, and K (n, 9) has the blocks of the contacts by column. Returns 0 if W
 * does not exist. */
typedef int sap_small_operator_function(struct sap_small_problem *p, int32_t n, const double *S,
                                        const double *K);

/* Computes y (ld) = M x. */
typedef void sap_small_multiply_function(const struct sap_small_problem *p, const double *x,
                                         double *y);

/* All for one instruction set. */
struct sap_small_loops {
  sap_small_function *solve;
  sap_small_operator_function *find_operator;
  sap_small_multiply_function *multiply;
};

/* Returns the loops for instruction set `set`, as in sap_kernels_of(). */
const struct sap_small_loops *sap_small_loops_of(int32_t set);

#endif
