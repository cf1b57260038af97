/* Random scenes of contacts and groups with reduced trees, and the balance of their momentum with
 * friction that is bounded, in plain loops and long double: what solves are compared with. */
#ifndef SAPWOOD_TESTS_FRICTION_H
#define SAPWOOD_TESTS_FRICTION_H

#include <float.h>

#include "groups.h"

enum { FRICTION_NV = SCENE_TREES * SCENE_MOST_NV };

/* ---- scenes ---------------------------------------------------------------------------------- */

/* Makes every third velocity of wide trees one that no constraint moves. J and trees are those of
 * one group. */
static inline void friction_thin(double *J, int32_t n, const int32_t *size, const int32_t *tree_a,
                                 const int32_t *tree_b) {
  for (int32_t i = 0; i < n; ++i) {
    const int32_t trees[2] = {tree_a[i], tree_b[i]}, rows = size ? size[i] : 1;
    for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
      const int32_t nv = scene.tree_nv[trees[side]];
      for (int32_t k = 0; k < rows * nv; ++k, ++J) {
        *J = nv > 6 && k % nv % 3 == 1 ? 0 : *J;
      }
    }
  }
}

/* Makes n constraints of each kind, 0 for contacts alone, between trees of which some are
 * reduced. */
static inline void friction_make(int32_t n_trees, int32_t n_contacts, int32_t n, uint64_t *seed) {
  int32_t three[SCENE_CONTACTS];
  make_groups(n_trees, n_contacts, n, seed);
  scene.problem.n_groups = n > 0 ? GROUPS : 0;
  REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
  for (int32_t i = 0; i < n_contacts; ++i) {
    three[i] = 3;
  }
  friction_thin(scene.J, n_contacts, three, scene.tree_a, scene.tree_b);
  for (int32_t g = 0; g < scene.problem.n_groups; ++g) {
    friction_thin(group[g].J, constraints[g].n, constraints[g].size, group[g].tree_a,
                  group[g].tree_b);
  }
}

/* ---- balance of momentum --------------------------------------------------------------------- */

struct friction_balance {
  long double gamma[3 * SCENE_CONTACTS], v_c[3 * SCENE_CONTACTS];
  long double cost;                  /* with the bounds held */
  long double residual;              /* |D (A (v - v*) - J^T gamma)| */
  long double momentum, impulse;     /* |D A v|, |D J^T gamma| */
  long double error;                 /* the first over the larger of the others: e_c */
  long double r[FRICTION_NV];        /* A (v - v*) - J^T gamma */
  long double impulses[FRICTION_NV]; /* J^T gamma */
};

static inline int64_t friction_first(int32_t t) {
  int64_t first = 0;
  for (int32_t k = 0; k < t; ++k) {
    first += scene.tree_nv[k];
  }
  return first;
}

/* Adds J v of one block of rows to v_c, or with gamma J^T gamma to x. Returns what follows the
 * block. */
static inline const double *friction_block(const double *J, int32_t rows, int32_t t,
                                           const double *v, long double *v_c,
                                           const long double *gamma, long double *x) {
  const int32_t n = t < 0 ? 0 : scene.tree_nv[t];
  const int64_t first = t < 0 ? 0 : friction_first(t);
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t j = 0; j < n; ++j) {
      if (gamma) {
        x[first + j] += J[r * n + j] * gamma[r];
      } else {
        v_c[r] += (long double)J[r * n + j] * v[first + j];
      }
    }
  }
  return J + rows * n;
}

/* Finds gamma_n of contact i from y_n, then the bound, then friction from y_t. */
static inline void friction_contact(struct friction_balance *at, int32_t i, const double *bound) {
  const long double R_t = scene.R_t[i], R_n = scene.R_n[i], *v_c = at->v_c + 3 * (int64_t)i;
  long double *gamma = at->gamma + 3 * (int64_t)i;
  const long double y_1 = (scene.v_hat_t[2 * i] - v_c[0]) / R_t;
  const long double y_2 = (scene.v_hat_t[2 * i + 1] - v_c[1]) / R_t;
  const long double y_n = (scene.v_hat_n[i] - v_c[2]) / R_n, y_r = hypotl(y_1, y_2);
  gamma[2] = y_n > 0 ? y_n : 0;
  const long double b = bound ? (long double)bound[i] : scene.mu[i] * gamma[2];
  const long double share = y_r > b ? b / y_r : 1;
  gamma[0] = share * y_1;
  gamma[1] = share * y_2;
  at->cost += R_n * gamma[2] * gamma[2] / 2 + R_t * share * y_r * (y_r - share * y_r / 2);
}

/* Adds the rows of group g, whose impulses go to the sums at once. */
static inline void friction_group(struct friction_balance *at, int32_t g, const double *v) {
  const sap_constraints *c = &constraints[g];
  const double *J = c->J;
  for (int32_t i = 0, row = 0; i < c->n; ++i) {
    const int32_t rows = c->size ? c->size[i] : 1;
    long double v_c[6] = {0}, gamma[6];
    friction_block(friction_block(J, rows, c->tree_a[i], v, v_c, NULL, NULL), rows, c->tree_b[i], v,
                   v_c, NULL, NULL);
    for (int32_t r = 0; r < rows; ++r, ++row) {
      const long double y = (c->v_hat[row] - v_c[r]) / c->R[row];
      gamma[r] = fminl(fmaxl(y, c->lower[row]), c->upper[row]);
      at->cost += c->R[row] * gamma[r] * (y - gamma[r] / 2);
    }
    J = friction_block(J, rows, c->tree_a[i], NULL, NULL, gamma, at->impulses);
    J = friction_block(J, rows, c->tree_b[i], NULL, NULL, gamma, at->impulses);
  }
}

/* Returns whether any constraint is at tree t. */
static inline int friction_touches(int32_t t) {
  int touches = 0;
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    touches |= scene.tree_a[i] == t || scene.tree_b[i] == t;
  }
  for (int32_t g = 0; g < scene.problem.n_groups; ++g) {
    for (int32_t i = 0; i < constraints[g].n; ++i) {
      touches |= constraints[g].tree_a[i] == t || constraints[g].tree_b[i] == t;
    }
  }
  return touches;
}

/* Evaluates with these bounds (n_contacts), or Coulomb's where it is NULL. The norms count the
 * trees that a constraint touches. */
static inline void friction_evaluate(struct friction_balance *at, const double *v,
                                     const double *bound) {
  memset(at, 0, sizeof *at);
  const double *J = scene.J, *A = scene.A;
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    const int32_t a = scene.tree_a[i], b = scene.tree_b[i];
    long double *v_c = at->v_c + 3 * (int64_t)i, *gamma = at->gamma + 3 * (int64_t)i;
    friction_block(friction_block(J, 3, a, v, v_c, NULL, NULL), 3, b, v, v_c, NULL, NULL);
    friction_contact(at, i, bound);
    J = friction_block(J, 3, a, NULL, NULL, gamma, at->impulses);
    J = friction_block(J, 3, b, NULL, NULL, gamma, at->impulses);
  }
  for (int32_t g = 0; g < scene.problem.n_groups; ++g) {
    friction_group(at, g, v);
  }
  for (int32_t t = 0, s = 0; t < scene.problem.n_trees; ++t) {
    const int32_t n = scene.tree_nv[t];
    const int touched = friction_touches(t);
    for (int32_t i = 0; i < n; ++i) {
      const long double D2 = touched / (long double)A[i * (n + 1)];
      long double Av = 0, Adv = 0;
      for (int32_t j = 0; j < n; ++j) {
        Av += (long double)A[i * n + j] * v[s + j];
        Adv += A[i * n + j] * ((long double)v[s + j] - scene.v_star[s + j]);
      }
      at->r[s + i] = Adv - at->impulses[s + i];
      at->residual += D2 * at->r[s + i] * at->r[s + i];
      at->momentum += D2 * Av * Av;
      at->impulse += D2 * at->impulses[s + i] * at->impulses[s + i];
      at->cost += Adv * ((long double)v[s + i] - scene.v_star[s + i]) / 2;
    }
    A += n * n;
    s += n;
  }
  at->residual = sqrtl(at->residual);
  at->momentum = sqrtl(at->momentum);
  at->impulse = sqrtl(at->impulse);
  at->error = at->residual > 0 ? at->residual / fmaxl(at->momentum, at->impulse) : 0;
}

/* Returns |v - w|_A. */
static inline double friction_distance(const double *v, const double *w) {
  const double *A = scene.A;
  long double sum = 0;
  for (int32_t t = 0, s = 0; t < scene.problem.n_trees; ++t) {
    const int32_t n = scene.tree_nv[t];
    for (int32_t k = 0; k < n * n; ++k) {
      const int32_t i = s + k / n, j = s + k % n;
      sum += A[k] * ((long double)v[i] - w[i]) * ((long double)v[j] - w[j]);
    }
    A += n * n;
    s += n;
  }
  return (double)sqrtl(fmaxl(sum, 0));
}

#endif
