/* Points of three velocities, each under one constraint of one law with J = 1, so that v_c is v:
 * what a law says of its triples can be compared with closed forms. */
#ifndef SAPWOOD_TESTS_POINTS_H
#define SAPWOOD_TESTS_POINTS_H

#include <float.h>

#include "check.h"
#include "constraints/laws/rigid_core.h"
#include "solver/newton/objective.h"
#include "solver/solver_object.h"
#include "problem_of.h"

enum { POINTS = 67, POINTS_NV = 3 * POINTS };

struct points {
  sap_problem problem;
  sap_solver *solver;
  const struct sap_island *island;
  int32_t tree_nv[POINTS], tree_a[POINTS], tree_b[POINTS], size[POINTS];
  double A[9 * POINTS], J[9 * POINTS], v_star[POINTS_NV], v[POINTS_NV];

  /* constants of contacts, with or without barriers */
  double mu[POINTS], R_t[POINTS], R_n[POINTS], v_hat_n[POINTS], v_hat_t[2 * POINTS];
  int8_t barrier[POINTS];
  double kappa[POINTS], barrier_lambda[POINTS];
  double table[16]; /* s, curvature, slope and value of four nodes */
  sap_barrier_table barrier_table;

  /* constants of clamped rows */
  sap_constraints group;
  double R[POINTS_NV], v_hat[POINTS_NV], lower[POINTS_NV], upper[POINTS_NV];
};

static inline struct sap_contact points_contact(const struct points *p, int32_t i) {
  return sap_contact_make(p->mu[i], p->R_t[i], p->R_n[i], 0, p->v_hat_t[2 * i],
                          p->v_hat_t[2 * i + 1], p->v_hat_n[i]);
}

/* Finds (v_hat - v_c)/R. */
static inline struct sap_contact_state points_state(const struct sap_contact *c,
                                                    const double v_c[3]) {
  return sap_contact_at_impulse(c, (c->v_hat[0] - v_c[0]) * c->inverse_R_t,
                                (c->v_hat[1] - v_c[1]) * c->inverse_R_t,
                                (c->v_hat[2] - v_c[2]) * c->inverse_R_n);
}

/* Spreads s of every contact up to 0.9; no contact starts too deep. */
static inline void points_add_barrier(struct points *p, int32_t i, uint64_t *seed) {
  const struct sap_contact c = points_contact(p, i);
  const struct sap_contact_state at = points_state(&c, p->v + 3 * i);
  const double s = check_random(seed, 0.01, 0.9), rest = p->v_hat_n[i] * p->v_hat_n[i] / p->R_n[i];
  p->barrier[i] = i % 5 == 0 ? SAP_BARRIER_TABLE : i % 3 == 0 ? SAP_BARRIER_EXP : SAP_BARRIER_LOG;
  p->barrier_lambda[i] = i % 3 == 0 ? check_random(seed, 0.5, 8) : 0;
  p->kappa[i] = fmax(2 * sap_contact_cost(&c, &at) / (s * s), 1.1 * rest);
}

/* Makes a table with a stiff layer between two soft ones. */
static inline void points_add_table(struct points *p) {
  const double nodes[8] = {0, 0.3, 0.5, 0.7, 0.5, 2, 6, 1};
  memcpy(p->table, nodes, sizeof nodes);
  p->barrier_table = (sap_barrier_table){4, p->table, p->table + 4, p->table + 8, p->table + 12};
  sap_barrier_integrate(4, p->table, p->table + 4, p->table + 8, p->table + 12);
}

static inline void points_make(struct points *p, enum sap_law_name law, uint64_t *seed) {
  memset(p, 0, sizeof *p);
  for (int32_t i = 0; i < POINTS; ++i) {
    p->tree_nv[i] = p->size[i] = 3;
    p->tree_a[i] = i;
    p->tree_b[i] = -1;
    p->mu[i] = i % 7 ? check_random(seed, 0, 1.5) : 0;
    p->R_t[i] = pow(10, check_random(seed, -4, 0));
    p->R_n[i] = pow(10, check_random(seed, -3, 1));
    p->v_hat_n[i] = check_random(seed, -0.5, 1);
    for (int r = 0; r < 3; ++r) {
      const int32_t row = 3 * i + r;
      p->A[9 * i + 4 * r] = p->J[9 * i + 4 * r] = 1;
      p->v[row] = check_random(seed, -1, 1);
      p->R[row] = pow(10, check_random(seed, -3, 1));
      p->v_hat[row] = check_random(seed, -0.3, 0.3);
      p->lower[row] = row % 5 == 0 ? -INFINITY : check_random(seed, -1, 0);
      p->upper[row] = row % 7 == 0 ? INFINITY : check_random(seed, 0, 1);
    }
    p->v_hat_t[2 * i] = check_random(seed, -1, 1);
    p->v_hat_t[2 * i + 1] = check_random(seed, -1, 1);
    points_add_barrier(p, i, seed);
  }
  p->group = (sap_constraints){.kind = SAP_BILATERAL,
                               .n = POINTS,
                               .size = p->size,
                               .tree_a = p->tree_a,
                               .tree_b = p->tree_b,
                               .J = p->J,
                               .R = p->R,
                               .v_hat = p->v_hat,
                               .lower = p->lower,
                               .upper = p->upper};
  p->problem = PROBLEM_OF(p, p->tree_nv, POINTS, law == SAP_LAW_CLAMP ? 0 : POINTS);
  p->problem.v_hat_t = p->v_hat_t;
  p->problem.barrier = law == SAP_LAW_RIGID_CORE ? p->barrier : NULL;
  p->problem.kappa = p->kappa;
  p->problem.barrier_lambda = p->barrier_lambda;
  points_add_table(p);
  p->problem.barrier_table = &p->barrier_table;
  p->problem.n_groups = law == SAP_LAW_CLAMP;
  p->problem.groups = &p->group;
}

/* Loads the points as one island and evaluates them at v. Returns 0 where that fails. */
static inline int points_load(struct points *p) {
  sap_settings settings = sap_settings_default();
  settings.islands = 0;
  if (!CHECK(sap_solver_create(&p->solver, &settings, NULL, NULL) == SAP_OK) ||
      !CHECK(sap_solver_load(p->solver, &p->problem, NULL) == SAP_OK)) {
    return 0;
  }
  struct sap_workspace *w = p->solver->work;
  p->island = &w->plan->graph.island[0];
  sap_workspace_gather(w, p->island, p->v, w->v);
  sap_refresh(w, p->island);
  return CHECK(isfinite(sap_evaluate(w, p->island, SAP_FRICTION_CONVEX).cost));
}

/* Returns whether two bounds agree: one that shrinks is no bound, one that grows says less. */
static inline int points_agree(double found, long double expected, long double tolerance) {
  const int ok = CHECK(fabsl(found - expected) <= tolerance);
  if (!ok) {
    printf("    found %.17g, expected %.17Lg\n", found, expected);
  }
  return ok;
}

/* Impulses at a velocity of one point, and the bound on the change of each that errors of its
 * velocity, of those that `velocity_error reach` allows and round-off, may make; impulses summed
 * with a relative error of `impulse_error`. */
struct points_law {
  enum sap_law_name name;
  void (*impulse)(const struct points *p, int32_t i, const double v_c[3], double gamma[3]);
  void (*bound)(const struct points *p, int32_t i, const double gamma[3], const double reach[3],
                double velocity_error, double impulse_error, long double bound[3]);
  double roundings; /* roundings of gamma in the code of the bound itself */
};

/* Checks the bound of one point against its formula, and against errors of the largest size
 * allowed. */
static inline void points_check_bound_of(const struct points *p, const struct points_law *law,
                                         int32_t i, const double found[3], const double reach[3],
                                         const double errors[2]) {
  double gamma[3];
  long double expected[3];
  law->impulse(p, i, p->v + 3 * i, gamma);
  law->bound(p, i, gamma, reach, errors[0], errors[1], expected);
  for (int corner = 0; corner < 27; ++corner) {
    double v_c[3], changed[3];
    const int sign[3] = {corner % 3 - 1, corner / 3 % 3 - 1, corner / 9 - 1};
    for (int r = 0; r < 3; ++r) {
      v_c[r] = p->v[3 * i + r] + sign[r] * errors[0] * reach[r];
    }
    law->impulse(p, i, v_c, changed);
    for (int r = 0; r < 3; ++r) {
      CHECK(fabs(changed[r] - gamma[r]) <= (1 + 1e-11) * found[r]);
    }
  }
  for (int r = 0; r < 3; ++r) {
    points_agree(found[r], expected[r],
                 1e-11L * expected[r] + law->roundings * DBL_EPSILON * fabs(gamma[r]));
  }
}

/* Checks bounds with errors as large as those of round-off, larger ones, and none. */
static inline void points_check_bound(struct points *p, const struct points_law *law) {
  static const double errors[][2] = {
      {30 * DBL_EPSILON, 100 * DBL_EPSILON}, {1e-3, 1e-4}, {0, 100 * DBL_EPSILON}, {0, 0}};
  uint64_t seed = 5;
  points_make(p, law->name, &seed);
  REQUIRE(points_load(p));
  struct sap_workspace *w = p->solver->work;
  for (size_t k = 0; k < CHECK_COUNT(errors); ++k) {
    double reach[POINTS][3];
    for (int32_t i = 0; i < 3 * POINTS; ++i) {
      w->pool.dv_c[i % 3][i / 3] = reach[i / 3][i % 3] = i % 11 ? check_random(&seed, 0, 2) : 0;
    }
    sap_laws[law->name]->bound(&w->pool, 0, POINTS, errors[k][0], errors[k][1]);
    for (int32_t place = 0; place < POINTS; ++place) {
      double found[3];
      for (int r = 0; r < 3; ++r) {
        found[r] = w->pool.dv_c[r][place];
      }
      points_check_bound_of(p, law, w->plan->graph.triple[place], found, reach[place], errors[k]);
    }
  }
  sap_solver_destroy(p->solver);
}

/* Sum over the points of what (25) adds up, which round-off alone would make of it: v_c is moved
 * away from where gamma was found first, to either side. `term` has v_c, and gamma as found. */
static inline void points_check_complementarity(struct points *p, enum sap_law_name law,
                                                long double (*term)(const struct points *p,
                                                                    int32_t i, const double v_c[3],
                                                                    const double gamma[3])) {
  uint64_t seed = 6;
  points_make(p, law, &seed);
  REQUIRE(points_load(p));
  struct sap_workspace *w = p->solver->work;
  long double sum = 0;
  for (int32_t place = 0; place < POINTS; ++place) {
    double v_c[3], gamma[3];
    for (int r = 0; r < 3; ++r) {
      v_c[r] = w->pool.v_c[r][place] += check_random(&seed, -1, 1);
      gamma[r] = w->pool.gamma[r][place];
    }
    sum += term(p, w->plan->graph.triple[place], v_c, gamma);
  }
  points_agree(sap_laws[law]->complementarity(&w->pool, 0, POINTS), sum, 1e-13L * sum);
  sap_solver_destroy(p->solver);
}

#endif
