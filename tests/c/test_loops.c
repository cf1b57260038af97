/* Tests the loops over patches and scalars against plain sums, for every instruction set. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "dense.h"
#include "problem/graph/branches.h"

static void check_products(struct sap_workspace *w, const struct sap_island *island) {
  double x_c[6 * CONTACTS], sums[NV] = {0};
  const int32_t n_triples = w->plan->graph.n_triples;
  w->plan->jacobian_loops->multiply(&w->J, island, w->v, w->pool.v_c);
  for (int32_t place = 0; place < n_triples; ++place) {
    for (int r = 0; r < 3; ++r) {
      const int32_t row = 3 * w->plan->graph.triple[place] + r;
      double sum = 0;
      for (int32_t j = 0; j < NV; ++j) {
        sum += scene.dense_J[row][j] * scene.v[j];
      }
      CHECK_CLOSE(w->pool.v_c[r][place], sum, 1e-13);
      x_c[row] = sum;
    }
  }
  for (int32_t row = 0; row < 3 * n_triples; ++row) {
    for (int32_t j = 0; j < NV; ++j) {
      sums[j] += scene.dense_J[row][j] * x_c[row];
    }
  }
  w->plan->jacobian_loops->multiply_transposed(&w->J, island, w->pool.v_c, w->dv);
  for (int32_t j = 0; j < NV; ++j) {
    const int32_t scalar = scalar_of(w, j);
    if (scalar >= 0) {
      CHECK_CLOSE(w->dv[scalar], sums[j], 1e-12);
    }
  }
}

static void products_with_J(void) {
  for_all_sets(1, check_products);
  for_all_sets_with_spin(1, check_products);
}

/* Returns entry (i, j) of the assembled H, with i at the later position. */
static double entry(const struct sap_workspace *w, int32_t i, int32_t j) {
  const struct sap_junction_tree *tree = &w->plan->graph.tree;
  const int32_t row = sap_node_of_scalar(tree, 0, i), column = sap_node_of_scalar(tree, 0, j);
  struct sap_place place = w->plan->factor.diagonal[row];
  if (row != column) {
    int32_t e = 0;
    while (e < tree->n_edges &&
           (w->plan->graph.edge_high[e] != row || w->plan->graph.edge_low[e] != column)) {
      ++e;
    }
    if (e == tree->n_edges) {
      return 0;
    }
    place = w->plan->factor.edge[e];
  }
  const int64_t at =
      (int64_t)(j - tree->node_scalar[column]) * place.ld + i - tree->node_scalar[row];
  const void *values = sap_factor_panels(&w->plan->factor, 0);
  const int64_t index = (int64_t)place.offset + at;
  return w->plan->factor.precision[0] == SAP_SINGLE ? (double)((const float *)values)[index]
                                                    : ((const double *)values)[index];
}

/* Adds J^T G J of the rows of two triples to H, with the part of G between them. */
static void add_block(double H[NV][NV], int32_t a, int32_t b, const double G[3][3]) {
  for (int32_t k = 0; k < 9 * NV * NV; ++k) {
    const int32_t r = k / (3 * NV * NV), c = k / (NV * NV) % 3, i = k / NV % NV, j = k % NV;
    H[i][j] += scene.dense_J[3 * a + r][i] * G[r][c] * scene.dense_J[3 * b + c][j];
  }
}

static void check_hessian_in(enum sap_precision precision, double tolerance,
                             struct sap_workspace *w, const struct sap_island *island) {
  static double H[NV][NV];
  sap_refresh(w, island);
  sap_evaluate(w, island, w->plan->friction);
  sap_assemble(w, island, precision);
  volatile double tiny = DBL_MIN;
  CHECK(tiny / 4 > 0);
  /* A + J^T G J, one triple after the other */
  memcpy(H, scene.dense_A, sizeof H);
  int32_t acting = 0, crossing = 0;
  const int32_t *triple = w->plan->graph.triple, n_triples = w->plan->graph.n_triples;
  for (int32_t place = 0; place < n_triples; ++place) {
    double *const *g = w->pool.G;
    const double G[3][3] = {{g[SAP_G_11][place], g[SAP_G_12][place], g[SAP_G_1N][place]},
                            {g[SAP_G_12][place], g[SAP_G_22][place], g[SAP_G_2N][place]},
                            {g[SAP_G_1N][place], g[SAP_G_2N][place], g[SAP_G_NN][place]}};
    acting += G[2][2] > 0;
    add_block(H, triple[place], triple[place], G);
    if (triple[place] >= CONTACTS) {
      double cross[3][3], transposed[3][3];
      for (int e = 0; e < 9; ++e) {
        cross[e / 3][e % 3] = transposed[e % 3][e / 3] = w->pool.torsional.cross[e][place - 1];
        crossing += cross[e / 3][e % 3] != 0;
      }
      CHECK_EQUAL(triple[place - 1], scene.spin_contact[triple[place] - CONTACTS]);
      add_block(H, triple[place - 1], triple[place], cross);
      add_block(H, triple[place], triple[place - 1], transposed);
    }
  }
  CHECK(acting > 0 && acting < n_triples);
  CHECK(crossing > 0 || !scene.problem.spin);
  for (int32_t i = 0; i < NV; ++i) {
    for (int32_t j = 0; j <= i; ++j) {
      const int32_t a = scalar_of(w, i), b = scalar_of(w, j);
      if (a >= 0 && b >= 0) {
        CHECK_CLOSE(entry(w, a > b ? a : b, a > b ? b : a), H[i][j], tolerance);
      }
    }
  }
}

static void check_hessian(struct sap_workspace *w, const struct sap_island *island) {
  check_hessian_in(SAP_DOUBLE, 1e-11, w, island);
  check_hessian_in(SAP_SINGLE, 1e-5, w, island);
}

static void hessian(void) {
  for_all_sets(1, check_hessian);
  for_all_sets_with_spin(1, check_hessian);
}

static void vectors(void) {
  enum { MOST = 37 };
  uint64_t seed = 1;
  double A[MOST * MOST], x[MOST], e[MOST], y[MOST], S[MOST * MOST];
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (!sap_kernels_of(set)) {
      continue;
    }
    const struct sap_vector_loops *loops = sap_vector_loops_of(set);
    for (int32_t n = 1; n <= MOST; ++n) {
      for (int32_t i = 0; i < n * n; ++i) {
        A[i] = check_random(&seed, -1, 1);
        S[i] = i / n > i % n ? A[i] : 0;
      }
      for (int32_t i = 0; i < n; ++i) {
        x[i] = check_random(&seed, -1, 1);
        e[i] = check_random(&seed, 0, 1);
        S[i * (n + 1)] = 1 / check_random(&seed, 1, 2);
        y[i] = 1;
      }
      double difference = 0, bad[MOST * MOST];
      for (int32_t k = 0; k < n * n; ++k) {
        difference += k / n > k % n ? fabs(A[k] - A[k % n * n + k / n]) : 0;
      }
      CHECK_CLOSE(loops->asymmetry(n, A), difference, 1e-13 * n * n);
      for (int32_t k = 0; k < n * n; ++k) {
        bad[k] = 0;
      }
      for (int32_t k = 0; k < n * n; ++k) {
        bad[k] = k % 2 ? INFINITY : NAN;
        CHECK(!isfinite(loops->asymmetry(n, bad)));
        bad[k] = 0;
      }
      CHECK_EQUAL(loops->asymmetry(n, bad), 0);
      /* S^T S x, and what it leaves in y */
      uint64_t strips[MOST];
      sap_branches_strips(n, NULL, strips);
      double image[MOST], pulled[MOST], squares[MOST], square = 0;
      for (int32_t i = 0; i < n; ++i) {
        image[i] = 0;
        for (int32_t j = i; j < n; ++j) {
          image[i] += S[j * n + i] * x[j];
        }
        square += image[i] * image[i];
      }
      memcpy(pulled, x, sizeof pulled);
      CHECK_CLOSE(loops->multiply_inverse(n, strips, S, pulled, y), square, 1e-12 * (1 + square));
      CHECK_ALL_CLOSE(y, image, n, 1e-12);
      loops->square_columns(n, strips, S, squares);
      for (int32_t j = 0; j < n; ++j) {
        double sum = 0, of_column = 0;
        for (int32_t i = 0; i <= j; ++i) {
          sum += S[j * n + i] * image[i];
          of_column += S[j * n + i] * S[j * n + i];
        }
        CHECK_CLOSE(pulled[j], sum, 1e-12);
        CHECK_CLOSE(squares[j], of_column, 1e-12);
      }
      for (int32_t i = 0; i < n; ++i) {
        y[i] = 1;
      }
      loops->add_absolute(n, S, 0.5, x, y);
      double product = 0, bound = 0;
      for (int32_t i = 0; i < n; ++i) {
        double sum = 1, row = 0, row_bound = 0;
        for (int32_t j = 0; j < n; ++j) {
          sum += 0.5 * fabs(S[j * n + i] * x[j]);
          row += S[j * n + i] * x[j];
          row_bound += fabs(S[j * n + i]) * e[j];
        }
        CHECK_CLOSE(y[i], sum, 1e-13);
        product += row * row;
        bound += row_bound * row_bound;
      }
      struct sap_norms norms = {1, 2};
      loops->add_norms(n, strips, S, x, e, &norms);
      CHECK_CLOSE(norms.value, 1 + product, 1e-12);
      CHECK_CLOSE(norms.bound, 2 + bound, 1e-12);
    }
  }
}

/* Tests products of rows of J with v and with impulses, three rows at once and the remainder. */
static void products_of_rows(void) {
  enum { MOST = 37, ROWS = 5 };
  uint64_t seed = 2;
  double J[ROWS * MOST], v[MOST], x[ROWS], sum[MOST], rates[2][ROWS], sums[2][MOST];
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (!sap_kernels_of(set)) {
      continue;
    }
    const struct sap_vector_loops *loops = sap_vector_loops_of(set);
    for (int32_t n = 1; n <= MOST; ++n) {
      const int32_t rows = 1 + n % ROWS;
      for (int32_t i = 0; i < rows * n; ++i) {
        J[i] = check_random(&seed, -1, 1);
      }
      for (int32_t i = 0; i < n; ++i) {
        v[i] = check_random(&seed, -1, 1);
        sum[i] = sums[0][i] = sums[1][i] = check_random(&seed, -1, 1);
      }
      for (int32_t r = 0; r < rows; ++r) {
        x[r] = check_random(&seed, 0, 1);
      }
      loops->multiply_rows(rows, n, J, v, rates[0]);
      loops->multiply_absolute(rows, n, J, v, rates[1]);
      loops->add_rows(rows, n, J, x, sums[0]);
      loops->add_absolute_rows(rows, n, J, x, sums[1]);
      for (int32_t r = 0; r < rows; ++r) {
        double rate = 0, most = 0;
        for (int32_t i = 0; i < n; ++i) {
          rate += J[r * n + i] * v[i];
          most += fabs(J[r * n + i] * v[i]);
        }
        CHECK_CLOSE(rates[0][r], rate, 1e-13);
        CHECK_CLOSE(rates[1][r], most, 1e-13);
      }
      for (int32_t i = 0; i < n; ++i) {
        double pushed = sum[i], most = sum[i];
        for (int32_t r = 0; r < rows; ++r) {
          pushed += J[r * n + i] * x[r];
          most += fabs(J[r * n + i]) * x[r];
        }
        CHECK_CLOSE(sums[0][i], pushed, 1e-13);
        CHECK_CLOSE(sums[1][i], most, 1e-13);
      }
    }
  }
}

/* Columns of rows that are not zero are found, and J S^T S J^T from those of S. */
static void grams_of_entries(void) {
  enum { MOST = 37 };
  uint64_t seed = 3;
  double J[3 * MOST], S[MOST * MOST], y[3][MOST];
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (!sap_kernels_of(set)) {
      continue;
    }
    const struct sap_vector_loops *loops = sap_vector_loops_of(set);
    for (int32_t n = 1; n <= MOST; ++n) {
      const int32_t rows = 1 + n % 3;
      int32_t entry[MOST], n_entries = 0;
      uint64_t strips[MOST];
      sap_branches_strips(n, NULL, strips);
      double W[9] = {0};
      for (int32_t i = 0; i < n; ++i) {
        int any = 0;
        for (int32_t r = 0; r < rows; ++r) {
          const double x = check_random(&seed, -1, 1);
          J[r * n + i] = fabs(x) < 0.8 ? -0.0 : x;
          any |= J[r * n + i] != 0;
        }
        n_entries += any;
        for (int32_t k = 0; k < n; ++k) {
          S[i * n + k] = k > i ? 0 : check_random(&seed, -1, 1);
        }
      }
      CHECK(n_entries == 0 || loops->find_entries(rows, n, J, n_entries - 1, entry) == -1);
      REQUIRE(loops->find_entries(rows, n, J, n, entry) == n_entries);
      loops->add_gram(n, strips, S, rows, J, W);
      for (int32_t r = 0; r < rows; ++r) {
        for (int32_t i = 0; i < n; ++i) {
          y[r][i] = 0;
          for (int32_t k = 0; k < n; ++k) {
            y[r][i] += S[k * n + i] * J[r * n + k];
          }
        }
        for (int32_t c = 0; c <= r; ++c) {
          double product = 0;
          for (int32_t i = 0; i < n; ++i) {
            product += y[r][i] * y[c][i];
          }
          CHECK_CLOSE(W[3 * r + c], product, 1e-12);
          CHECK(W[3 * c + r] == W[3 * r + c]);
        }
      }
    }
  }
}

/* The one entry that is too large is found wherever it lies; a multiple ends where x does. */
static void peaks_and_multiples(void) {
  enum { MOST = 37 };
  double x[MOST], y[MOST + 1];
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (!sap_kernels_of(set)) {
      continue;
    }
    const struct sap_vector_loops *loops = sap_vector_loops_of(set);
    CHECK(!loops->exceeds(0, x, 0));
    for (int32_t n = 1; n <= MOST; ++n) {
      for (int32_t at = 0; at < n; ++at) {
        for (int32_t i = 0; i < n; ++i) {
          x[i] = i == at ? (i % 2 ? 3 : -3) : i % 3 - 1;
        }
        CHECK(loops->exceeds(n, x, 2.9) && !loops->exceeds(n, x, 3));
        x[at] = NAN;
        CHECK(!loops->exceeds(n, x, 1));
      }
      y[n] = 7;
      loops->scale(n, -0.5, x, y);
      for (int32_t i = 0; i < n - 1; ++i) {
        CHECK(y[i] == -0.5 * x[i]);
      }
      CHECK(y[n] == 7);
    }
  }
}

static void diagonal_blocks(void) {
  enum { MOST = 19 };
  double A[MOST * MOST], x[MOST], y[MOST], roots[MOST];
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (!sap_kernels_of(set)) {
      continue;
    }
    const struct sap_vector_loops *loops = sap_vector_loops_of(set);
    for (int32_t n = 1; n <= MOST; ++n) {
      memset(A, 0, sizeof A);
      for (int32_t i = 0; i < n; ++i) {
        A[i * (n + 1)] = 1 + i;
        x[i] = 1 - i;
      }
      CHECK(loops->is_diagonal(n, A));
      /* any one entry decides: another one, or one of the diagonal that is not positive and
       * finite */
      for (int32_t k = 0; k < n * n; ++k) {
        const double bad[] = {NAN, INFINITY, k % (n + 1) ? 1e-300 : -1, k % (n + 1) ? -1 : 0};
        const double good = A[k];
        for (int b = 0; b < 4; ++b) {
          A[k] = bad[b];
          CHECK(!loops->is_diagonal(n, A));
        }
        A[k] = good;
      }
      /* blocks of one velocity each; the one in the middle is dense */
      int32_t scalar[MOST + 1];
      const double *dense[MOST] = {NULL}, two = 2;
      double diagonal[MOST];
      for (int32_t i = 0; i <= n; ++i) {
        scalar[i] = i;
      }
      for (int32_t i = 0; i < n; ++i) {
        diagonal[i] = A[i * (n + 1)];
      }
      dense[n / 2] = &two;
      loops->multiply_mass(0, n, scalar, dense, diagonal, x, y);
      loops->inverse_roots(0, n, diagonal, roots);
      double value = 0, bound = 0;
      for (int32_t i = 0; i < n; ++i) {
        CHECK_CLOSE(y[i], (i == n / 2 ? two : diagonal[i]) * x[i], 0);
        CHECK_CLOSE(roots[i], 1 / sqrt(diagonal[i]), 1e-15);
        value += roots[i] * x[i] * roots[i] * x[i];
        bound += roots[i] * (3 + i) * roots[i] * (3 + i);
        y[i] = 3;
      }
      const struct sap_norms found = loops->add_magnitudes(0, n, 0, x, 1, diagonal, roots, x, y);
      struct sap_norms norms = {1, 2}, both = {0, 0};
      loops->add_diagonal_norms(0, n, roots, x, y, &both);
      CHECK_CLOSE(found.value, both.value, 1e-14);
      CHECK_CLOSE(found.bound, both.bound, 1e-14);
      for (int32_t i = 0; i < n; ++i) {
        CHECK_CLOSE(y[i], 3 + diagonal[i], 1e-14);
        y[i] -= 1;
      }
      loops->add_diagonal_norms(0, n, roots, x, y, &norms);
      CHECK_CLOSE(norms.value, 1 + value, 1e-12);
      CHECK_CLOSE(norms.bound, 2 + bound, 1e-12);
    }
  }
}

static void every_set_solves_the_same_problem(void) {
  make_scene(1);
  double v[SAP_KERNEL_SETS][NV], gamma[3 * CONTACTS];
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    sap_solver *solver = load(set);
    if (!solver) {
      continue;
    }
    solver->settings.relative_tolerance = 1e-12;
    sap_solution solution = {.v = v[set], .gamma = gamma};
    CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, scene.v, &solution, NULL), SAP_OK);
    CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
    for (int32_t i = 0; i < NV; ++i) {
      CHECK_CLOSE(v[set][i], v[0][i], 1e-10);
    }
    sap_solver_destroy(solver);
  }
}

static const check_test tests[] = {
    CHECK_TEST(products_with_J),  CHECK_TEST(hessian),
    CHECK_TEST(vectors),          CHECK_TEST(products_of_rows),
    CHECK_TEST(grams_of_entries), CHECK_TEST(peaks_and_multiples),
    CHECK_TEST(diagonal_blocks),  CHECK_TEST(every_set_solves_the_same_problem),
};
CHECK_FILE(test_loops, tests);
