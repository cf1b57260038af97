/* The table of laws, which give the impulses of triples: all that the solver asks of one. A new law
 * is one file, with the loops that a solve spends its time in compiled once per instruction set, a
 * name and arrays in pool.h, and one row here. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_H
#define SAPWOOD_CONSTRAINTS_LAWS_H

#include "constraints/origin.h"
#include "constraints/partials.h"
#include "constraints/pool.h"

/* The loops over triples [begin, end) that a solve spends its time in, compiled once per
 * instruction set. */
struct sap_law_loops {
  /* what follows from the constants; 0 where one of them breaks a rule of
   * sap_check_constraints() */
  int (*derive)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* y, gamma, G, and slip and region of contacts, from v_c; returns the sum of the costs */
  double (*evaluate)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* sums of -dv_c^T gamma and dv_c^T G dv_c at y - alpha R^-1 dv_c */
  void (*line)(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha, double *slope,
               double *curvature);

  /* primal-dual friction (direction.h): dual from gamma, G and dv_c; then G where a contact slides
   * or a row is beyond its bounds, from the next y and dual */
  void (*predict)(struct sap_pool *pool, int32_t begin, int32_t end);
  void (*blend)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* Of laws that know Coulomb's friction, else NULL (coulomb.h): x_c <- U x_c, the unsymmetric part
   * of -dgamma/dv_c, which returns of how many contacts it is not 0; and the impulses of Coulomb's
   * law at y minus those of the bounds held. */
  int32_t (*couple)(const struct sap_pool *pool, int32_t begin, int32_t end, double *const x_c[3]);
  void (*depart)(const struct sap_pool *pool, int32_t begin, int32_t end, double *const gamma[3]);
};

struct sap_law {
  /* by number of the instruction set, as in sap_kernels_of() */
  const struct sap_law_loops *loops[3];

  /* 1: of rows of groups, whose kinds name it (kinds.h); 0: of contacts, rows (t1, t2, n) */
  int takes_rows;

  /* 1: each of its rows moves a single velocity, so that J^T G J is diagonal (packed_jacobian.h) */
  int is_diagonal;

  /* 1: each of its contacts has a second triple of rows (triples.h), at the place behind its own:
   * places go by pairs, and wide.cross of the pool is the part of G between the two */
  int takes_pairs;

  /* 1: gamma is the projection of y onto a convex set in the norm of diag(R_t, R_t, R_n), so that
   * round_off.c can bound its error without `bound` */
  int projects;

  /* Contacts of the problem that are under it, with such friction: marks them in law (n_contacts),
   * which may be NULL, and returns their number. NULL for laws of rows, and for the first one of
   * the table, which has the contacts that are left. */
  int32_t (*claim)(const sap_problem *problem, sap_friction friction, int32_t *law);

  /* are the arrays of the problem that it alone reads there, kappa perhaps as delta of parameters
   * that are not NULL? And do their values obey its rules? NULL where it reads none. */
  sap_status (*check_given)(const sap_problem *problem, sap_friction friction,
                            const sap_parameters *parameters, sap_error *error);
  sap_status (*check)(const sap_problem *problem, sap_error *error);

  /* its arrays in the pool, for n triples; NULL where it needs none */
  void (*carve)(struct sap_pool *pool, struct sap_arena *arena, int32_t n);

  /* constants of the triples, from the problem */
  void (*bind)(struct sap_pool *pool, int32_t begin, int32_t end, const struct sap_origin *origin,
               const sap_problem *problem);

  /* what the solution has room for; returns how many triples needed a larger kappa than theirs */
  int32_t (*write)(const struct sap_pool *pool, int32_t begin, int32_t end,
                   const struct sap_origin *origin, const sap_solution *solution);

  /* sum of the costs at y - alpha R^-1 dv_c minus that at y, without the cancellation of their
   * difference */
  double (*difference)(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha);

  /* gamma and G of the sticking start, from y (direction.h) */
  void (*stick)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* dv_c, on entry |J| |v|, becomes a bound on the error of gamma in terms of that of v_c,
   * velocity_error |J| |v|, plus impulse_error |gamma| */
  void (*bound)(struct sap_pool *pool, int32_t begin, int32_t end, double velocity_error,
                double impulse_error);

  /* sum of what (25) adds up */
  double (*complementarity)(const struct sap_pool *pool, int32_t begin, int32_t end);

  /* how gamma depends on the constants of the triple at this place, or of the pair that begins
   * there: partials.h, and how many constants that are, from the first on */
  int n_constants;
  void (*partials)(const struct sap_pool *pool, int32_t place, struct sap_partials *partials);

  /* of a law that is infinite outside of a domain, else NULL: see rigid_core_law.c */
  double (*wall)(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha);
  int32_t (*fit)(struct sap_pool *pool, int32_t begin, int32_t end, double least);

  /* the same law: kappa as a solution had it, from its barrier_scale (n_contacts) */
  void (*recall)(struct sap_pool *pool, int32_t begin, int32_t end, const struct sap_origin *origin,
                 const double *scale);
};

extern const struct sap_law sap_law_contact, sap_law_disk, sap_law_wide, sap_law_barrier,
    sap_law_clamp, sap_law_joint;

extern const struct sap_law *const sap_laws[SAP_N_LAWS];

/* the arrays of all triples, and those of the laws that any of them is under */
void sap_pool_carve(struct sap_pool *pool, struct sap_arena *arena, int32_t n,
                    const int8_t present[SAP_N_LAWS]);

/* the loops of a law for every instruction set, by their name: for its `loops` */
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
