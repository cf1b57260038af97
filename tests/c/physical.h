/* A random problem by physical parameters, its solution and its derivatives, for the C tests. */
#ifndef SAPWOOD_TESTS_PHYSICAL_H
#define SAPWOOD_TESTS_PHYSICAL_H

#include <string.h>

#include "groups.h"

enum {
  MOST_NV = SCENE_TREES * SCENE_MOST_NV,
  MOST_A = MOST_NV * SCENE_MOST_NV,
  MOST_J = SCENE_CONTACTS * 6 * SCENE_MOST_NV,
  MOST_ALL_ROWS = MOST_ROWS * GROUPS,
  PARAMETERS = 3, /* parameters of a limit */
};

/* ---- a problem by physical parameters ---- */

static struct {
  sap_problem problem;
  sap_parameters parameters;
  double phi0[SCENE_CONTACTS], k[SCENE_CONTACTS], tau_d[SCENE_CONTACTS];
  double slip_ratio[SCENE_CONTACTS];
  /* the first group, of limits, each of a single velocity */
  int32_t dof[MOST_CONSTRAINTS];
  double J[MOST_CONSTRAINTS], value[PARAMETERS][MOST_CONSTRAINTS];
  const double *values[PARAMETERS];
  sap_group_regularization groups[GROUPS];
} physical;

static inline void make_limits(uint64_t *seed) {
  struct group *limits = &group[0];
  sap_constraints *of = &constraints[0];
  for (int32_t i = 0; i < of->n; ++i) {
    limits->tree_b[i] = -1;
    physical.dof[i] =
        (int32_t)(check_random_bits(seed) % (uint64_t)scene.tree_nv[limits->tree_a[i]]);
    physical.J[i] = check_random(seed, 0.5, 2);
    physical.value[0][i] = check_random(seed, -0.02, 0.005);
    physical.value[1][i] = check_random(seed, 0, 1) < 0.5 ? 1e2 : INFINITY;
    physical.value[2][i] = check_random(seed, 0.01, 0.02);
  }
  of->J = physical.J;
  of->dof = physical.dof;
  for (int k = 0; k < PARAMETERS; ++k) {
    physical.values[k] = physical.value[k];
  }
  physical.groups[0] = (sap_group_regularization){
      {0.01, 1e-2, 0.3, SAP_DELASSUS_BLOCK, physical.values, NULL, NULL, NULL},
      limits->R,
      limits->v_hat,
      limits->lower,
      limits->upper};
}

static inline void make(int32_t n_trees, int32_t n_contacts, uint64_t *seed) {
  memset(&physical, 0, sizeof physical);
  make_groups(n_trees, n_contacts, 6, seed);
  make_limits(seed);
  for (int32_t i = 0; i < n_contacts; ++i) {
    scene.mu[i] = check_random(seed, 0.2, 1);
    physical.phi0[i] = check_random(seed, -0.01, 0.002);
    physical.k[i] = check_random(seed, 0, 1) < 0.5 ? 1e3 : 1e9;
    physical.tau_d[i] = check_random(seed, 0.01, 0.03);
    /* the least sigma, in proportion to the slip, and sigma */
    physical.slip_ratio[i] = i % 3 == 0 ? 1e-5 : check_random(seed, 0.1, i % 3 == 1 ? 0.9 : 3);
  }
  physical.parameters = (sap_parameters){.dt = 0.01,
                                         .sigma = 1e-2,
                                         .beta = 1,
                                         .phi0 = physical.phi0,
                                         .k = physical.k,
                                         .tau_d = physical.tau_d,
                                         .slip_ratio = physical.slip_ratio};
  physical.problem = scene.problem;
  REQUIRE(sap_problem_sizes(&physical.problem, &scene.sizes, NULL) == SAP_OK);
}

/* Finds R, v_hat and bounds; those of the groups but the first are numbers of their own. */
static inline void regularize(void) {
  sap_problem contacts = physical.problem;
  contacts.n_groups = 0;
  REQUIRE(sap_regularize(&contacts, &physical.parameters, scene.R_t, scene.R_n, scene.v_hat_n, NULL,
                         NULL) == SAP_OK);
  const sap_group_regularization *limits = &physical.groups[0];
  REQUIRE(sap_regularize_group(&physical.problem, &constraints[0], &limits->parameters, limits->R,
                               limits->v_hat, limits->lower, limits->upper, NULL, NULL) == SAP_OK);
  physical.parameters.groups = physical.groups;
}

/* ---- numbers in its shape ---- */

struct numbers {
  sap_differential all;
  sap_group_differential groups[GROUPS];
  double A[MOST_A], v_star[MOST_NV], J[MOST_J], v_hat_t[2 * SCENE_CONTACTS];
  double by_contact[8][SCENE_CONTACTS];
  double J_rows[GROUPS][MOST_ROWS * 2 * SCENE_MOST_NV], by_row[GROUPS][4][MOST_ROWS];
  double value[PARAMETERS][MOST_CONSTRAINTS];
  double *values[PARAMETERS];
};

static inline void point(struct numbers *x) {
  memset(x, 0, sizeof *x);
  double **const of[8] = {&x->all.mu,   &x->all.R_t, &x->all.R_n,   &x->all.v_hat_n,
                          &x->all.phi0, &x->all.k,   &x->all.tau_d, &x->all.slip_ratio};
  for (int k = 0; k < 8; ++k) {
    *of[k] = x->by_contact[k];
  }
  for (int k = 0; k < PARAMETERS; ++k) {
    x->values[k] = x->value[k];
  }
  for (int g = 0; g < GROUPS; ++g) {
    x->groups[g] = (sap_group_differential){x->J_rows[g],    x->by_row[g][0], x->by_row[g][1],
                                            x->by_row[g][2], x->by_row[g][3], g ? NULL : x->values};
  }
  x->all.A = x->A;
  x->all.v_star = x->v_star;
  x->all.J = x->J;
  x->all.v_hat_t = x->v_hat_t;
  x->all.groups = x->groups;
}

/* A piece has the number of entries that count of an array. */
struct piece {
  double *x;
  int64_t n;
};

enum { MOST_PIECES = 20 + 5 * GROUPS + PARAMETERS };

static inline int list(struct numbers *x, struct piece pieces[MOST_PIECES]) {
  const sap_sizes *sizes = &scene.sizes;
  const int32_t n = scene.problem.n_contacts;
  int count = 0;
  pieces[count++] = (struct piece){x->A, sizes->nA};
  pieces[count++] = (struct piece){x->v_star, sizes->nv};
  pieces[count++] = (struct piece){x->J, sizes->nJ};
  pieces[count++] = (struct piece){x->v_hat_t, 2 * (int64_t)n};
  pieces[count++] = (struct piece){&x->all.dt, 1};
  pieces[count++] = (struct piece){&x->all.sigma, 1};
  for (int k = 0; k < 8; ++k) {
    pieces[count++] = (struct piece){x->by_contact[k], n};
  }
  for (int g = 0; g < GROUPS; ++g) {
    int64_t nJ = constraints[g].n; /* entries of rows with single velocities */
    for (int32_t i = 0; g > 0 && i < constraints[g].n; ++i) {
      const int32_t b = group[g].tree_b[i];
      nJ += group[g].size[i] * (scene.tree_nv[group[g].tree_a[i]] + (b < 0 ? 0 : scene.tree_nv[b]));
      nJ -= 1;
    }
    pieces[count++] = (struct piece){x->J_rows[g], nJ};
    for (int k = 0; k < 4; ++k) {
      pieces[count++] = (struct piece){x->by_row[g][k], group[g].n_rows};
    }
  }
  for (int k = 0; k < PARAMETERS; ++k) {
    pieces[count++] = (struct piece){x->value[k], constraints[0].n};
  }
  return count;
}

struct answer {
  double v[MOST_NV], gamma[3 * SCENE_CONTACTS], rows[MOST_ALL_ROWS];
};

static inline sap_response response_of(struct answer *a) {
  return (sap_response){a->v, a->gamma, a->rows, NULL};
}

static inline void fill(double *x, int64_t n, uint64_t *seed) {
  for (int64_t i = 0; i < n; ++i) {
    x[i] = check_random(seed, -1, 1);
  }
}

static inline double dot(const double *x, const double *y, int64_t n, double *size) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += x[i] * y[i];
    *size += fabs(x[i] * y[i]);
  }
  return sum;
}

/* ---- solving ---- */

static inline sap_settings settings_of(sap_friction friction) {
  sap_settings settings = sap_settings_default();
  settings.relative_tolerance = 1e-14;
  settings.friction = friction;
  return settings;
}

static inline void solve(sap_friction friction, struct answer *to) {
  const sap_settings settings = settings_of(friction);
  sap_solution solution = {.v = to->v, .gamma = to->gamma, .group_gamma = to->rows};
  sap_solver *solver;
  regularize();
  REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
  CHECK_EQUAL(sap_solver_solve(solver, &physical.problem, NULL, &solution, NULL), SAP_OK);
  CHECK(solution.momentum_error < 1e-12);
  sap_solver_destroy(solver);
}

static inline sap_sensitivity *linearize(sap_friction friction, const double *v,
                                         const sap_allocator *memory) {
  const sap_settings settings = settings_of(friction);
  sap_sensitivity *made;
  if (sap_sensitivity_create(&made, &settings, memory, NULL) != SAP_OK) {
    return NULL;
  }
  sap_linear_point at;
  if (!CHECK(sap_sensitivity_linearize(made, &physical.problem, &physical.parameters, v, NULL, &at,
                                       NULL) == SAP_OK)) {
    return made;
  }
  CHECK_EQUAL(at.tree, -1);
  CHECK(at.momentum_error < 1e-11);
  CHECK((at.n_coupled > 0) == (friction == SAP_FRICTION_COULOMB));
  return made;
}

#endif
