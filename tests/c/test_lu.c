/* Tests the unsymmetric factorization, its columns along paths, and directions with Coulomb's
 * friction, against the dense matrix H + J^T U J: by every instruction set, in both precisions. */
#include "dense.h"
#include "solver/coulomb/unsymmetric_direction.h"
#include "solver/newton/direction.h"

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

/* Makes a scene with Coulomb's friction at scene.v, with contacts on every tree. */
static sap_solver *make(uint64_t seed, int32_t set) {
  make_scene(seed);
  for (int32_t i = 0; i < CONTACTS; ++i) {
    scene.tree_a[i] = i % TREES; /* J is made again for this order */
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

/* Assembles and factors the unsymmetric matrix. Returns what sap_lu_run() does. */
static int32_t factor(struct sap_workspace *w) {
  const struct sap_island *island = &w->plan->graph.island[0];
  CHECK(sap_find_coupling(w, island) > 0);
  sap_assemble(w, island, SAP_DOUBLE);
  sap_lu_mirror(&w->plan->lu, 0);
  w->plan->jacobian_loops->add_coupling(&w->J, island, w->coulomb.law.u, w->scratch.GJ,
                                        &w->plan->lu);
  return sap_lu_run(&w->plan->lu, 0);
}

/* Returns |D^-1 (b - M x)| over |D^-1 b|, with M^T in place of M if transposed, and with D of the
 * test the root of diag(A). */
static double residual(const double *x, int transposed) {
  double sum = 0, whole = 0;
  for (int32_t i = 0; i < NV; ++i) {
    double left = b[i];
    for (int32_t j = 0; j < NV; ++j) {
      left -= (transposed ? M[j][i] : M[i][j]) * x[j];
    }
    sum += left / D[i] * (left / D[i]);
    whole += b[i] / D[i] * (b[i] / D[i]);
  }
  return sqrt(sum / whole);
}

static void factors_solve_the_dense_system(void) {
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      sap_solver *solver = make(seed, set);
      if (!solver) {
        continue;
      }
      struct sap_workspace *w = solver->work;
      double x[NV];
      CHECK(make_system(w) > CONTACTS / 8);
      CHECK_EQUAL(factor(w), -1);
      for (int transposed = 0; transposed < 2; ++transposed) {
        memcpy(x, b, sizeof x);
        (transposed ? sap_lu_solve_transposed : sap_lu_solve)(&w->plan->lu, 0, x);
        CHECK(residual(x, transposed) < 1e-11);
      }
      sap_solver_destroy(solver);
    }
  }
}

/* Writes the rows of J of the contact at a place as columns of the open set. */
static void write_contact(struct sap_workspace *w, int32_t place, int32_t column) {
  const struct sap_graph *graph = &w->plan->graph;
  int32_t p = 0;
  while (graph->patch[p].end <= place) {
    ++p;
  }
  const struct sap_patch *patch = &graph->patch[p];
  for (int high = 0; high < (patch->high < 0 ? 1 : 2); ++high) {
    const int32_t node = high ? patch->high : patch->low;
    sap_path_add_node(&w->coulomb.path, node);
    for (int r = 0; r < 3; ++r) {
      const struct sap_packed_row row = sap_packed_row(&w->J, patch, high, place, r);
      sap_path_write(&w->coulomb.path, column + r, graph->tree.node_scalar[node], row.n, row.J);
    }
  }
}

/* Writes row r of contact `place` by scalar. */
static void dense_row(const struct sap_workspace *w, int32_t place, int32_t r, double *x) {
  memset(x, 0, NV * sizeof *x);
  for (int32_t p = 0; p < NV; ++p) {
    x[scalar_of(w, p)] = scene.dense_J[3 * w->plan->graph.triple[place] + r][p];
  }
}

/* Entries of S by the path agree with those by whole solves, for both kinds of factors. */
static void columns_agree_with_whole_solves(void) {
  for (int32_t k = 0; k < 4 * SAP_KERNEL_SETS; ++k) {
    const int symmetric = k % 2;
    sap_solver *solver = make((uint64_t)k + 1, k / 4);
    if (!solver) {
      continue;
    }
    struct sap_workspace *w = solver->work;
    struct sap_path_columns *path = &w->coulomb.path;
    if (symmetric) {
      sap_assemble(w, &w->plan->graph.island[0], SAP_DOUBLE);
      CHECK_EQUAL(sap_factor_run(&w->plan->factor, 0, NULL), -1);
    } else {
      CHECK_EQUAL(factor(w), -1);
    }
    const int32_t first[2] = {1, CONTACTS / 2};
    sap_path_begin(path, 0, symmetric);
    for (int set = 0; set < 2; ++set) {
      sap_path_open(path);
      for (int32_t i = 0; i < 5; ++i) {
        write_contact(w, first[set] + i, 3 * i);
      }
      sap_path_close(path);
    }
    double worst = 0, largest = 0, S[SAP_PATH_COLUMNS * SAP_PATH_COLUMNS], x[NV], row[NV];
    for (int32_t m = 0; m < 4 * 15; ++m) {
      const int32_t to = m / 30, from = m / 15 % 2, j = m % 15;
      sap_path_product(path, to, from, S);
      dense_row(w, first[from] + j / 3, j % 3, x);
      sap_direction_solve(w, &w->plan->graph.island[0],
                          symmetric ? SAP_FACTOR_CHOLESKY : SAP_FACTOR_LU, x);
      for (int32_t i = 0; i < 15; ++i) {
        double sum = 0;
        dense_row(w, first[to] + i / 3, i % 3, row);
        for (int32_t s = 0; s < NV; ++s) {
          sum += row[s] * x[s];
        }
        worst = fmax(worst, fabs(sum - S[i * SAP_PATH_COLUMNS + j]));
        largest = fmax(largest, fabs(sum));
      }
    }
    CHECK(largest > 0 && worst < 1e-11 * largest);
    sap_solver_destroy(solver);
  }
}

/* Solves for a direction. */
static double solve_direction(struct sap_workspace *w, enum sap_factor_kind *kind,
                              uint8_t *fallbacks) {
  const struct sap_island *island = &w->plan->graph.island[0];
  struct sap_stopwatch watch = {0};
  struct sap_newton_result result = {.tree = -1};
  struct sap_line line;
  sap_newton_system(w, island);
  CHECK_EQUAL(sap_unsymmetric_direction(w, island, &watch, &result, kind, &line), -1);
  *fallbacks = result.fallbacks;
  return residual(w->dv, 0);
}

static void directions_have_small_residuals(void) {
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      sap_solver *solver = make(seed, set);
      if (!solver) {
        continue;
      }
      enum sap_factor_kind kind;
      uint8_t fallbacks;
      make_system(solver->work);
      CHECK(solve_direction(solver->work, &kind, &fallbacks) <= 1e-2);
      CHECK_EQUAL(kind, SAP_FACTOR_LU);
      CHECK_EQUAL(fallbacks & SAP_FALLBACK_SYMMETRIC, 0);
      sap_solver_destroy(solver);
    }
  }
}

/* Without coupling the factor is Cholesky's; where U overflows it is left out. */
static void without_coupling_the_factor_is_symmetric(void) {
  for (int k = 0; k < 3; ++k) {
    sap_solver *solver = make(7, 0);
    REQUIRE(solver);
    struct sap_workspace *w = solver->work;
    for (int32_t place = 0; place < CONTACTS; ++place) {
      if (k == 0) {
        w->pool.y[2][place] = -1;
      } else if (k == 1) {
        w->pool.contact.slip[0][place] = w->pool.contact.slip[1][place] = 0;
      } else {
        w->pool.contact.mu[place] = w->pool.contact.inverse_R_n[place] = 1e300;
      }
    }
    enum sap_factor_kind kind;
    uint8_t fallbacks;
    solve_direction(w, &kind, &fallbacks);
    CHECK_EQUAL(kind, SAP_FACTOR_CHOLESKY);
    CHECK_EQUAL((fallbacks & SAP_FALLBACK_SYMMETRIC) != 0, k == 2);
    for (int32_t i = 0; i < NV; ++i) {
      CHECK(isfinite(w->dv[i]));
    }
    sap_solver_destroy(solver);
  }
}

static const check_test tests[] = {
    CHECK_TEST(factors_solve_the_dense_system),
    CHECK_TEST(columns_agree_with_whole_solves),
    CHECK_TEST(directions_have_small_residuals),
    CHECK_TEST(without_coupling_the_factor_is_symmetric),
};
CHECK_FILE(test_lu, tests);
