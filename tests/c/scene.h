/* Random contact problems for the C tests. */
#ifndef SAPWOOD_TESTS_SCENE_H
#define SAPWOOD_TESTS_SCENE_H

#include "check.h"
#include "sapwood.h"
#include "problem_of.h"

enum { SCENE_TREES = 30, SCENE_CONTACTS = 60, SCENE_MOST_NV = 9 };

struct scene {
  sap_problem problem;
  sap_sizes sizes;
  int32_t tree_nv[SCENE_TREES], tree_a[SCENE_CONTACTS], tree_b[SCENE_CONTACTS];
  double A[SCENE_TREES * SCENE_MOST_NV * SCENE_MOST_NV];
  double v_star[SCENE_TREES * SCENE_MOST_NV];
  double J[SCENE_CONTACTS * 6 * SCENE_MOST_NV];
  double mu[SCENE_CONTACTS], R_t[SCENE_CONTACTS], R_n[SCENE_CONTACTS];
  double v_hat_n[SCENE_CONTACTS], v_hat_t[2 * SCENE_CONTACTS];
};

static inline void scene_make(struct scene *s, int32_t n_trees, int32_t n_contacts,
                              uint64_t *seed) {
  double *A = s->A;
  for (int32_t t = 0; t < n_trees; ++t) {
    const int32_t n = s->tree_nv[t] = 1 + (int32_t)(check_random_bits(seed) % SCENE_MOST_NV);
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j <= i; ++j) {
        A[i * n + j] = A[j * n + i] =
            i == j ? check_random(seed, n, 2 * n) : check_random(seed, -1, 1);
      }
    }
    A += n * n;
  }
  for (int32_t i = 0; i < n_contacts; ++i) {
    s->tree_a[i] = (int32_t)(check_random_bits(seed) % (uint64_t)n_trees);
    s->tree_b[i] = (int32_t)(check_random_bits(seed) % (uint64_t)(n_trees + 1)) - 1;
    if (s->tree_b[i] == s->tree_a[i]) {
      s->tree_b[i] = -1;
    }
    s->mu[i] = check_random(seed, 0, 1);
    s->R_t[i] = check_random(seed, 1e-4, 1e-3);
    s->R_n[i] = check_random(seed, 1e-3, 1e-1);
    s->v_hat_n[i] = check_random(seed, -0.1, 0.5);
    s->v_hat_t[2 * i] = check_random(seed, -0.1, 0.1);
    s->v_hat_t[2 * i + 1] = check_random(seed, -0.1, 0.1);
  }
  s->problem = PROBLEM_OF(s, s->tree_nv, n_trees, n_contacts);
  s->problem.v_hat_t = s->v_hat_t;
  sap_problem_sizes(&s->problem, &s->sizes, NULL);
  for (int64_t i = 0; i < s->sizes.nv; ++i) {
    s->v_star[i] = check_random(seed, -1, 1);
  }
  for (int64_t i = 0; i < s->sizes.nJ; ++i) {
    s->J[i] = check_random(seed, -1, 1);
  }
}

/* Physical parameters of contacts, from which R and v_hat follow; arrays have length n_contacts. */
static inline sap_parameters scene_parameters(const double *phi0, const double *k,
                                              const double *tau_d) {
  sap_parameters parameters = sap_parameters_default(0.01);
  parameters.phi0 = phi0;
  parameters.k = k;
  parameters.tau_d = tau_d;
  return parameters;
}

/* This has room for the outputs of any scene. */
struct scene_outputs {
  double v[SCENE_TREES * SCENE_MOST_NV], gamma[3 * SCENE_CONTACTS], v_c[3 * SCENE_CONTACTS];
  int8_t regions[SCENE_CONTACTS];
};

static inline sap_solution scene_solution(struct scene_outputs *o) {
  return (sap_solution){.v = o->v, .gamma = o->gamma, .v_c = o->v_c, .regions = o->regions};
}

#endif
