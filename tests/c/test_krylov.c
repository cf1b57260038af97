/* Tests directions with Coulomb's friction: (H + J^T U J) dv = -r by GMRES against the dense
 * matrix, with every instruction set, from factors in both precisions. */
#include "dense.h"
#include "solver/newton/direction.h"
#include "solver/coulomb/krylov.h"

/* Finds H + J^T U J by scalar, with U from its formula, and b. Returns how many contacts are
 * coupled. */
static double M[NV][NV], b[NV], D[NV];

static int32_t make_system(const struct sap_workspace *w) {
  static double dense_H[NV][NV];
  int32_t n = 0;
  memcpy(dense_H, scene.dense_A, sizeof dense_H);
  for (int32_t place = 0; place < CONTACTS; ++place) {
    double *const *g = w->pool.G;
    const int32_t i = w->plan->graph.triple[place];
    const double y_n = w->pool.y[2][place];
    const double share = y_n > 0 ? scene.mu[i] / scene.R_n[i] : 0;
    const double *t[2] = {&w->pool.contact.slip[0][place], &w->pool.contact.slip[1][place]};
    const double B[3][3] = {{g[SAP_G_11][place], g[SAP_G_12][place], share * *t[0]},
                            {g[SAP_G_12][place], g[SAP_G_22][place], share * *t[1]},
                            {0, 0, g[SAP_G_NN][place]}};
    n += share * hypot(*t[0], *t[1]) > 0;
    for (int32_t k = 0; k < 9 * NV * NV; ++k) {
      const int32_t r = k / (3 * NV * NV), c = k / (NV * NV) % 3, p = k / NV % NV, q = k % NV;
      dense_H[p][q] += scene.dense_J[3 * i + r][p] * B[r][c] * scene.dense_J[3 * i + c][q];
    }
  }
  memset(M, 0, sizeof M);
  for (int32_t p = 0; p < NV; ++p) {
    for (int32_t q = 0; q < NV; ++q) {
      M[scalar_of(w, p)][scalar_of(w, q)] = dense_H[p][q];
    }
    D[scalar_of(w, p)] = sqrt(scene.dense_A[p][p]);
    b[scalar_of(w, p)] = -w->gradient[scalar_of(w, p)];
  }
  return n;
}

static double norm(const double *x) {
  double sum = 0;
  for (int32_t i = 0; i < NV; ++i) {
    sum += D[i] * x[i] * D[i] * x[i];
  }
  return sqrt(sum);
}

/* Computes dv = H^-1 b in w->dv, with b the negative gradient. */
static void solve_symmetric(struct sap_workspace *w, const struct sap_island *island,
                            enum sap_precision precision) {
  sap_newton_system(w, island);
  sap_assemble(w, island, precision);
  CHECK_EQUAL(sap_factor_run(&w->plan->factor, island->index, w->dv), -1);
}

/* Makes a scene with Coulomb's friction at scene.v, with contacts on every tree. */
static sap_solver *make(uint64_t seed, int32_t set) {
  make_scene(seed);
  for (int32_t i = 0; i < CONTACTS; ++i) {
    scene.tree_a[i] = i % TREES; /* but for the order of J, which is made anew */
    scene.tree_b[i] = i % 3 ? (i + 1) % TREES : -1;
    scene.v_hat_n[i] += 1;
    scene.R_t[i] *= 0.01;
    scene.R_n[i] *= 0.01;
  }
  memset(scene.dense_J, 0, sizeof scene.dense_J);
  double *J = scene.J;
  for (int32_t i = 0; i < CONTACTS; ++i) {
    J = make_rows(J, i, scene.tree_a[i], &seed);
    J = scene.tree_b[i] < 0 ? J : make_rows(J, i, scene.tree_b[i], &seed);
  }
  sap_settings settings = sap_settings_default();
  settings.islands = 0;
  settings.friction = SAP_FRICTION_COULOMB;
  sap_solver *solver = NULL;
  if (!sap_kernels_of(set) || sap_solver_create(&solver, &settings, NULL, NULL) != SAP_OK) {
    return NULL;
  }
  struct sap_workspace *w = solver->work;
  sap_plan_take_loops(&solver->plan, set);
  CHECK_EQUAL(sap_solver_load(solver, &scene.problem, NULL), SAP_OK);
  sap_workspace_gather(w, &w->plan->graph.island[0], scene.v, w->v);
  sap_refresh(w, &w->plan->graph.island[0]);
  sap_evaluate(w, &w->plan->graph.island[0], SAP_FRICTION_COULOMB);
  return solver;
}

/* Computes y = H^-1 (c b - M x) with the factor of H. */
static void through_factor(struct sap_workspace *w, double c, const double *x, double *y) {
  for (int32_t i = 0; i < NV; ++i) {
    y[i] = c * b[i];
    for (int32_t j = 0; j < NV; ++j) {
      y[i] -= M[i][j] * x[j];
    }
  }
  sap_factor_solve(&w->plan->factor, 0, y);
}

/* Returns the norm of the residual of the equation. */
static double residual(struct sap_workspace *w, const double *x, double *left) {
  through_factor(w, 1, x, left);
  return norm(left);
}

/* Does no vector of the Krylov space of H^-1 M from `start` leave less than `left`? Then that is at
 * right angles to what H^-1 M makes of all of them. */
static int is_least(struct sap_workspace *w, const double *start, const double *left) {
  double power[NV], next[NV];
  int least = 1;
  memcpy(power, start, sizeof power);
  for (int k = 0; k < SAP_KRYLOV; ++k) {
    through_factor(w, 0, power, next);
    double sum = 0;
    for (int32_t i = 0; i < NV; ++i) {
      sum += D[i] * left[i] * D[i] * next[i];
    }
    least = least && fabs(sum) <= 1e-4 * norm(left) * norm(next);
    memcpy(power, next, sizeof power);
  }
  return least;
}

static void directions_solve_the_dense_system(void) {
  int32_t far = 0, reached = 0;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      sap_solver *solver = make(seed, set);
      if (!solver) {
        continue;
      }
      struct sap_workspace *w = solver->work;
      const struct sap_island *island = &w->plan->graph.island[0];
      double start[NV], end[NV], left[NV];
      CHECK(make_system(w) > CONTACTS / 8);
      solve_symmetric(w, island, seed % 2 ? SAP_SINGLE : SAP_DOUBLE);
      memcpy(start, w->dv, sizeof start);
      sap_couple_direction(w, island);
      memcpy(end, w->dv, sizeof end);
      const double before = residual(w, start, left), after = residual(w, end, left);
      const int enough = after <= 1.001e-2 * norm(start);
      far += before > 0.1 * norm(start);
      reached += enough;
      CHECK(enough || is_least(w, start, left));
      sap_solver_destroy(solver);
    }
  }
  CHECK(far >= 6);     /* U makes a difference, */
  CHECK(reached >= 6); /* that a few vectors find */
}

/* If no contact touches or none slides, the direction is H^-1 b, except for the last digits. */
static void without_coupling_the_direction_stays(void) {
  for (int k = 0; k < 2; ++k) {
    sap_solver *solver = make(7, 0);
    REQUIRE(solver);
    struct sap_workspace *w = solver->work;
    const struct sap_island *island = &w->plan->graph.island[0];
    for (int32_t place = 0; place < CONTACTS; ++place) {
      if (k == 0) {
        w->pool.y[2][place] = -1;
      } else {
        w->pool.contact.slip[0][place] = w->pool.contact.slip[1][place] = 0;
      }
    }
    double before[NV];
    solve_symmetric(w, island, SAP_DOUBLE);
    memcpy(before, w->dv, sizeof before);
    sap_couple_direction(w, island);
    CHECK_ALL_CLOSE(w->dv, before, NV, 1e-14);
    sap_solver_destroy(solver);
  }
}

/* A direction that is no number, or is 0, stays; one that overflows on the way does no harm. */
static void overflow_leaves_the_direction(void) {
  static const double sizes[] = {0, 1e300, INFINITY, NAN};
  for (size_t k = 0; k < CHECK_COUNT(sizes); ++k) {
    sap_solver *solver = make(8, 0);
    REQUIRE(solver);
    struct sap_workspace *w = solver->work;
    const struct sap_island *island = &w->plan->graph.island[0];
    double before[NV];
    solve_symmetric(w, island, SAP_DOUBLE);
    for (int32_t i = 0; i < NV; ++i) {
      before[i] = w->dv[i] = sizes[k] == 0 ? 0 : i == 0 ? sizes[k] : w->dv[i];
    }
    sap_couple_direction(w, island);
    CHECK(memcmp(w->dv, before, sizeof before) == 0);
    sap_solver_destroy(solver);
  }
  /* U itself overflows */
  sap_solver *solver = make(8, 0);
  REQUIRE(solver);
  struct sap_workspace *w = solver->work;
  const struct sap_island *island = &w->plan->graph.island[0];
  double before[NV];
  solve_symmetric(w, island, SAP_DOUBLE);
  memcpy(before, w->dv, sizeof before);
  for (int32_t place = 0; place < CONTACTS; ++place) {
    w->pool.contact.mu[place] = 1e300;
    w->pool.contact.inverse_R_n[place] = 1e300;
  }
  sap_couple_direction(w, island);
  CHECK(memcmp(w->dv, before, sizeof before) == 0);
  sap_solver_destroy(solver);
}

static const check_test tests[] = {
    CHECK_TEST(directions_solve_the_dense_system),
    CHECK_TEST(without_coupling_the_direction_stays),
    CHECK_TEST(overflow_leaves_the_direction),
};
CHECK_FILE(test_krylov, tests);
