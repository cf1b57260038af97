/* A random scene of trees of all sizes beside its dense A and J, loaded as one island in a solver
 * of each instruction set: loops over patches and scalars can be compared with plain sums. */
#ifndef SAPWOOD_TESTS_DENSE_H
#define SAPWOOD_TESTS_DENSE_H

#include <float.h>

#include "check.h"
#include "problem/problem_check.h"
#include "solver/newton/objective.h"
#include "solver/solver_object.h"
#include "problem_of.h"

/* The trees are free bodies, which have loops of their own, and trees of up to six chunks of eight
 * columns. */
static const int32_t sizes_of_trees[] = {6, 6, 1, 9, 6, 18, 8, 41, 6};
enum { TREES = 9, CONTACTS = 40, NV = 101, MOST_NV = 41 };

struct scene {
  sap_problem problem;
  int32_t tree_a[CONTACTS], tree_b[CONTACTS], first[TREES];
  double A[TREES * MOST_NV * MOST_NV], v_star[NV], v[NV];
  double J[CONTACTS * 6 * MOST_NV];
  double mu[CONTACTS], R_t[CONTACTS], R_n[CONTACTS], v_hat_n[CONTACTS], v_hat_t[2 * CONTACTS];

  /* arrays of add_spin() */
  sap_spin spin;
  int32_t spin_contact[CONTACTS];
  double spin_J[CONTACTS * 6 * MOST_NV], spin_mu[3 * CONTACTS];

  double dense_A[NV][NV], dense_J[6 * CONTACTS][NV]; /* rows by triple */
};

static struct scene scene;

/* Makes the rows of one side of triple i. Chunks of columns are zero at random, and now and then
 * the first or the last ones. */
static inline double *make_rows(double *J, int32_t i, int32_t t, uint64_t *seed) {
  const int32_t n = sizes_of_trees[t];
  const uint64_t zeros = n > 8 ? check_random_bits(seed) & check_random_bits(seed) : 0;
  for (int32_t r = 0; r < 3; ++r, J += n) {
    for (int32_t j = 0; j < n; ++j) {
      J[j] = zeros >> (j / 8) & 1 ? 0 : check_random(seed, -1, 1);
      scene.dense_J[3 * i + r][scene.first[t] + j] = J[j];
    }
  }
  return J;
}

static inline void make_scene(uint64_t seed) {
  memset(&scene, 0, sizeof scene);
  double *A = scene.A;
  for (int32_t t = 0, s = 0; t < TREES; ++t) {
    const int32_t n = sizes_of_trees[t];
    scene.first[t] = s;
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j <= i; ++j) {
        const double a = i == j ? check_random(&seed, n, 2 * n) : check_random(&seed, -1, 1);
        A[i * n + j] = A[j * n + i] = scene.dense_A[s + i][s + j] = scene.dense_A[s + j][s + i] = a;
      }
    }
    A += n * n;
    s += n;
  }
  double *J = scene.J;
  for (int32_t i = 0; i < CONTACTS; ++i) {
    /* runs of contacts between the same two trees, some of them with the world */
    const int again = i > 0 && check_random(&seed, 0, 1) < 0.5;
    scene.tree_a[i] = again ? scene.tree_a[i - 1] : (int32_t)(check_random_bits(&seed) % TREES);
    scene.tree_b[i] =
        again ? scene.tree_b[i - 1] : (int32_t)(check_random_bits(&seed) % (TREES + 1)) - 1;
    if (scene.tree_b[i] == scene.tree_a[i]) {
      scene.tree_b[i] = -1;
    }
    J = make_rows(J, i, scene.tree_a[i], &seed);
    J = scene.tree_b[i] < 0 ? J : make_rows(J, i, scene.tree_b[i], &seed);
    scene.mu[i] = check_random(&seed, 0, 1);
    scene.R_t[i] = check_random(&seed, 0.1, 1);
    scene.R_n[i] = check_random(&seed, 0.1, 1);
    scene.v_hat_n[i] = check_random(&seed, -1, 1);
  }
  for (int32_t i = 0; i < NV; ++i) {
    scene.v_star[i] = check_random(&seed, -1, 1);
    scene.v[i] = check_random(&seed, -1, 1);
  }
  for (int32_t i = 0; i < 2 * CONTACTS; ++i) {
    scene.v_hat_t[i] = check_random(&seed, -1, 1);
  }
  scene.problem = PROBLEM_OF(&scene, sizes_of_trees, TREES, CONTACTS);
  scene.problem.v_hat_t = scene.v_hat_t;
}

/* Adds torsional and rolling friction to two contacts of three, now and then about one axis
 * alone. */
static inline void add_spin(uint64_t seed) {
  int32_t n = 0;
  double *J = scene.spin_J;
  for (int32_t i = 0; i < CONTACTS; ++i) {
    if (check_random(&seed, 0, 1) < 0.67) {
      J = make_rows(J, CONTACTS + n, scene.tree_a[i], &seed);
      J = scene.tree_b[i] < 0 ? J : make_rows(J, CONTACTS + n, scene.tree_b[i], &seed);
      for (int k = 0; k < 3; ++k) {
        scene.spin_mu[3 * n + k] = check_random(&seed, -0.2, 0.8);
        scene.spin_mu[3 * n + k] = fmax(0, scene.spin_mu[3 * n + k]);
      }
      scene.spin_contact[n++] = i;
    }
  }
  scene.spin = (sap_spin){n, scene.spin_contact, scene.spin_J, scene.spin_mu};
  scene.problem.spin = &scene.spin;
}

/* Returns a solver of one instruction set with the scene and its velocity loaded, or NULL without
 * the set. */
static inline sap_solver *load(int32_t set) {
  sap_solver *solver = NULL;
  sap_settings settings = sap_settings_default();
  settings.islands = 0;
  if (!sap_kernels_of(set) || sap_solver_create(&solver, &settings, NULL, NULL) != SAP_OK) {
    return NULL;
  }
  struct sap_workspace *w = solver->work;
  sap_plan_take_loops(&solver->plan, set);
  CHECK_EQUAL(sap_solver_load(solver, &scene.problem, NULL), SAP_OK);
  CHECK_EQUAL(w->plan->graph.n_islands, 1);
  sap_workspace_gather(w, &w->plan->graph.island[0], scene.v, w->v);
  return solver;
}

typedef void scene_check(struct sap_workspace *w, const struct sap_island *island);

/* Calls the check on the scene as it is, with each instruction set. */
static inline void for_sets(scene_check *check) {
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    sap_solver *solver = load(set);
    if (solver) {
      check(solver->work, &solver->plan.graph.island[0]);
      sap_solver_destroy(solver);
    }
  }
}

/* Calls the check on a scene that is made for it. */
static inline void for_all_sets(uint64_t seed, scene_check *check) {
  make_scene(seed);
  for_sets(check);
}

static inline void for_all_sets_with_spin(uint64_t seed, scene_check *check) {
  make_scene(seed);
  add_spin(seed + 1);
  for_sets(check);
}

/* Returns the scalar of a velocity of the problem, or -1 where its tree takes no part. */
static inline int32_t scalar_of(const struct sap_workspace *w, int32_t i) {
  int32_t t = TREES - 1;
  while (scene.first[t] > i) {
    --t;
  }
  const int32_t node = w->plan->graph.tree_position[t];
  return node < 0 ? -1 : w->plan->graph.tree.node_scalar[node] + i - scene.first[t];
}

#endif
