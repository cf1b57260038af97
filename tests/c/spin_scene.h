/* A scene of contacts of three rows and clamped rows, most contacts with torsional and rolling
 * friction, and what a solver answers. */
#ifndef SAPWOOD_TESTS_SPIN_SCENE_H
#define SAPWOOD_TESTS_SPIN_SCENE_H

#include "groups.h"

struct outputs {
  struct scene_outputs common;
  double spin_gamma[3 * SCENE_CONTACTS], spin_v_c[3 * SCENE_CONTACTS];
  double group_gamma[MOST_ROWS * GROUPS], group_v_c[MOST_ROWS * GROUPS];
};

static sap_spin spin;
static int32_t contact[SCENE_CONTACTS], tree_first[SCENE_TREES];
static double spin_J[SCENE_CONTACTS * 6 * SCENE_MOST_NV], spin_mu[3 * SCENE_CONTACTS];
static struct outputs first, second;

static inline int32_t width_of(int32_t i) {
  return scene.tree_nv[scene.tree_a[i]] +
         (scene.tree_b[i] < 0 ? 0 : scene.tree_nv[scene.tree_b[i]]);
}

/* Gives spin to two contacts of three, now and then about no axis or one alone. */
static inline void add_spin(uint64_t *seed) {
  double *J = spin_J;
  spin = (sap_spin){0, contact, spin_J, spin_mu};
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    scene.mu[i] = fmax(scene.mu[i], 0.1);
    if (check_random(seed, 0, 1) < 0.33) {
      continue;
    }
    for (int k = 0; k < 3; ++k) {
      spin_mu[3 * spin.n + k] = fmax(0, check_random(seed, -0.1, 0.4));
    }
    for (int32_t j = 0; j < 3 * width_of(i); ++j) {
      *J++ = check_random(seed, -1, 1);
    }
    contact[spin.n++] = i;
  }
  scene.problem.spin = &spin;
}

static inline void make(int32_t n_trees, int32_t n_contacts, int32_t n, uint64_t *seed) {
  make_groups(n_trees, n_contacts, n, seed);
  add_spin(seed);
  REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
  for (int32_t t = 0, s = 0; t < n_trees; s += scene.tree_nv[t], ++t) {
    tree_first[t] = s;
  }
}

static inline sap_solution solution_in(struct outputs *o) {
  memset(o, 0, sizeof *o);
  sap_solution solution = scene_solution(&o->common);
  solution.spin_gamma = o->spin_gamma;
  solution.spin_v_c = o->spin_v_c;
  solution.group_gamma = o->group_gamma;
  solution.group_v_c = o->group_v_c;
  return solution;
}

static inline sap_solution solve_with(const sap_settings *settings, struct outputs *o) {
  sap_solution solution = solution_in(o);
  sap_solver *solver = NULL;
  CHECK(sap_solver_create(&solver, settings, NULL, NULL) == SAP_OK);
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL), SAP_OK);
  sap_solver_destroy(solver);
  return solution;
}

#endif
