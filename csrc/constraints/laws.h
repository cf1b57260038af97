/* This table lists the laws, which give the impulses of triples, and the functions that the solver
 * calls. A new law is one file, whose hot loops are compiled once per instruction set, a name and
 * arrays in pool.h, and one row here. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_H
#define SAPWOOD_CONSTRAINTS_LAWS_H

#include "constraints/origin.h"
#include "constraints/partials.h"
#include "constraints/pool.h"

/* Hot loops over triples [begin, end), compiled once per instruction set. */
struct sap_law_loops {
  /* computes values from the constants; 0 if a constant breaks a rule of sap_check_constraints() */
  int (*derive)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* finds y, gamma, G, and slip and region of contacts, from v_c; returns the sum of the costs */
  double (*evaluate)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* finds the sums of -dv_c^T gamma and dv_c^T G dv_c at y - alpha R^-1 dv_c */
  void (*line)(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha, double *slope,
               double *curvature);

  /* compute primal-dual friction (direction.h): dual from gamma, G and dv_c; then G where a contact
   * slides or a row is beyond its bounds, from the next y and dual */
  void (*predict)(struct sap_pool *pool, int32_t begin, int32_t end);
  void (*blend)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* For laws with Coulomb's friction, else NULL (coulomb.h). `couple` sets x_c <- U x_c, the
   * unsymmetric part of -dgamma/dv_c, and returns the number of contacts where it is not 0.
   * `depart` finds the impulses of Coulomb's law at y minus those for the present bounds. */
  int32_t (*couple)(const struct sap_pool *pool, int32_t begin, int32_t end, double *const x_c[3]);
  void (*depart)(const struct sap_pool *pool, int32_t begin, int32_t end, double *const gamma[3]);
};

struct sap_law {
  /* loops by number of the instruction set, as in sap_kernels_of() */
  const struct sap_law_loops *loops[3];

  /* 1 for group rows, whose kinds name the law (kinds.h); 0 for contacts, rows (t1, t2, n) */
  int takes_rows;

  /* 1 if each of its rows moves a single velocity, so that J^T G J is diagonal
   * (packed_jacobian.h) */
  int is_diagonal;

  /* 1 if each of its contacts has a second triple of rows (triples.h) at the next place: places go
   * by pairs, and torsional.cross of the pool is the part of G between the two */
  int takes_pairs;

  /* 1 if gamma is the projection of y onto a convex set in the norm of diag(R_t, R_t, R_n), so that
   * round_off.c can bound its error without `bound` */
  int projects;

  /* marks the contacts under this law, with such friction, in law (n_contacts), which may be NULL,
   * and returns their number. NULL for laws of rows, and for the first law of the table, which has
   * all remaining contacts */
  int32_t (*claim)(const sap_problem *problem, sap_friction friction, int32_t *law);

  /* `check_given` checks that the arrays that only this law reads are given, kappa possibly as
   * delta of non-NULL parameters; `check` that their values obey its rules. NULL if it reads
   * none */
  sap_status (*check_given)(const sap_problem *problem, sap_friction friction,
                            const sap_parameters *parameters, sap_error *error);
  sap_status (*check)(const sap_problem *problem, sap_error *error);

  /* carves its arrays in the pool, for n triples; NULL if it needs none */
  void (*carve)(struct sap_pool *pool, struct sap_arena *arena, int32_t n);

  /* reads the constants of the triples from the problem */
  void (*bind)(struct sap_pool *pool, int32_t begin, int32_t end, const struct sap_origin *origin,
               const sap_problem *problem);

  /* writes the results for which the solution has room; returns the number of triples that needed a
   * kappa larger than theirs */
  int32_t (*write)(const struct sap_pool *pool, int32_t begin, int32_t end,
                   const struct sap_origin *origin, const sap_solution *solution);

  /* returns the sum of the costs at y - alpha R^-1 dv_c minus that at y, without cancellation */
  double (*difference)(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha);

  /* sets gamma and G of the stick start, from y (direction.h) */
  void (*stick)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* turns dv_c, on entry |J| |v|, into a bound on the error of gamma from an error velocity_error
   * |J| |v| of v_c, plus impulse_error |gamma| */
  void (*bound)(struct sap_pool *pool, int32_t begin, int32_t end, double velocity_error,
                double impulse_error);

  /* returns the sum of the terms of (25) */
  double (*complementarity)(const struct sap_pool *pool, int32_t begin, int32_t end);

  /* finds the derivatives of gamma by the first n_constants constants of the triple at this place,
   * or of the pair that begins there (partials.h) */
  int n_constants;
  void (*partials)(const struct sap_pool *pool, int32_t place, struct sap_partials *partials);

  /* for a law that is infinite outside of a domain, else NULL: see rigid_core_law.c */
  double (*wall)(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha);
  int32_t (*fit)(struct sap_pool *pool, int32_t begin, int32_t end, double least);

  /* for such a law: restores kappa of a solution from its barrier_scale (n_contacts) */
  void (*recall)(struct sap_pool *pool, int32_t begin, int32_t end, const struct sap_origin *origin,
                 const double *scale);
};

extern const struct sap_law sap_law_contact, sap_law_disk, sap_law_torsional, sap_law_rigid_core,
    sap_law_clamp, sap_law_joint;

extern const struct sap_law *const sap_laws[SAP_N_LAWS];

/* Carves the arrays of all triples, and the arrays of the laws that are present. */
void sap_pool_carve(struct sap_pool *pool, struct sap_arena *arena, int32_t n,
                    const int8_t present[SAP_N_LAWS]);

/* Declare and list the loops of a law for every instruction set, for its `loops`. */
#define SAP_DECLARE_LOOPS(name)                            \
  extern const struct sap_law_loops sap_##name##_baseline; \
  extern const struct sap_law_loops sap_##name##_avx2;     \
  extern const struct sap_law_loops sap_##name##_avx512

#ifdef SAP_MULTI_ISA
#define SAP_LOOPS(name) {&sap_##name##_baseline, &sap_##name##_avx2, &sap_##name##_avx512}
#else
#define SAP_LOOPS(name) {&sap_##name##_baseline, NULL, NULL}
#endif

#endif
