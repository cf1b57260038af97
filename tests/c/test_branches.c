/* Tests the branches of a tree: which entries of A and of its factor are zero. */
#include "problem/graph/branches.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "problem/problem_check.h"
#include "problem/products/vectors.h"

enum { MOST = 40 };

/* Makes parents of n velocities, in one tree or several, some with long branches. */
static void grow(int32_t n, int32_t *parent, uint64_t *seed) {
  for (int32_t j = 0; j < n; ++j) {
    const double kind = check_random(seed, 0, 1);
    parent[j] = kind < 0.7 ? j - 1 : (int32_t)floor(check_random(seed, -1, j));
  }
}

static int is_above(const int32_t *parent, int32_t i, int32_t j) {
  while (j > i) {
    j = parent[j];
  }
  return j == i;
}

/* Makes A (n, n) of a tree with all entries that it may have, dominated by its diagonal. */
static void fill(int32_t n, const int32_t *parent, double *A, uint64_t *seed) {
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < i; ++j) {
      A[i * n + j] = A[j * n + i] = is_above(parent, j, i) ? check_random(seed, -1, 1) : 0;
    }
    A[i * (n + 1)] = n + check_random(seed, 0, 1);
  }
}

/* The tree is found from all of A, and from the entries of each velocity with its parent and its
 * root, whatever those lack. */
static void trees_are_found_again(void) {
  uint64_t seed = 1;
  double A[MOST * MOST];
  int32_t parent[MOST], found[MOST];
  for (int32_t n = 1; n <= MOST; ++n) {
    grow(n, parent, &seed);
    fill(n, parent, A, &seed);
    CHECK_EQUAL(sap_branches_broken(n, parent, A), -1);
    for (int sparse = 0; sparse < 2; ++sparse) {
      for (int32_t k = 0; sparse && k < n * n; ++k) {
        const int32_t i = k / n, j = k % n;
        A[k] = i == j || parent[i] == j || parent[j] == i;
      }
      sap_branches_find(n, A, found);
      CHECK(memcmp(found, parent, (size_t)n * sizeof *found) == 0);
    }
  }
}

/* An entry between two branches makes one depend on the other: it breaks it, and joins them. */
static void entries_between_branches_are_filled_in(void) {
  const int32_t parent[5] = {-1, 0, 0, 1, 2};
  int32_t found[5];
  double A[25];
  uint64_t seed = 2;
  fill(5, parent, A, &seed);
  A[4 * 5 + 3] = A[3 * 5 + 4] = 0.5;
  CHECK_EQUAL(sap_branches_broken(5, parent, A), 4 * 5 + 3);
  sap_branches_find(5, A, found);
  const int32_t expected[5] = {-1, 0, 1, 2, 3};
  CHECK(memcmp(found, expected, sizeof found) == 0);
  CHECK_EQUAL(sap_branches_broken(5, found, A), -1);
}

/* Parents are checked, and the entries of A against them. */
static void broken_branches_are_refused(void) {
  const int32_t tree_nv[2] = {2, 3};
  int32_t parent[5] = {-1, 0, -1, 0, 0};
  double A[4 + 9] = {2, 1, 1, 2, 3, 1, 1, 1, 3, 0, 1, 0, 3};
  const double v_star[5] = {0};
  sap_problem problem = sap_problem_default();
  problem.n_trees = 2;
  problem.tree_nv = tree_nv;
  problem.A = A;
  problem.v_star = v_star;
  problem.parent = parent;
  sap_error error;
  CHECK_EQUAL(sap_problem_check(&problem, NULL, &error), SAP_OK);
  parent[3] = 1;
  CHECK_EQUAL(sap_problem_check(&problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK(strcmp(error.argument, "parent") == 0 && error.index == 3);
  parent[3] = -2;
  CHECK_EQUAL(sap_problem_check(&problem, NULL, &error), SAP_INVALID_ARGUMENT);
  parent[3] = 0;
  A[4 + 5] = A[4 + 7] = 0.5;
  CHECK_EQUAL(sap_problem_check(&problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK(strcmp(error.argument, "A") == 0 && error.index == 4 + 7);
  problem.parent = NULL;
  CHECK_EQUAL(sap_problem_check(&problem, NULL, &error), SAP_OK);
}

/* Checks that S^T S A = 1, that S is zero but where i is above j, and that a whole block has the
 * same one. */
static void check_inverse(const struct sap_vector_loops *loops, int32_t n, const int32_t *parent,
                          const double *A) {
  double S[2][MOST * MOST], tolerance = 1e-12 * n;
  uint64_t strips[2][MOST];
  for (int whole = 0; whole < 2; ++whole) {
    for (int32_t k = 0; k < n * n; ++k) {
      S[whole][k] = NAN; /* entries that are not written show */
    }
    sap_branches_strips(n, whole ? NULL : parent, strips[whole]);
    REQUIRE(loops->invert(n, strips[whole], A, S[whole]));
  }
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      double product = 0;
      for (int32_t k = 0; k < n; ++k) {
        double inverse = 0;
        for (int32_t l = 0; l < n; ++l) {
          inverse += S[0][i * n + l] * S[0][k * n + l];
        }
        product += inverse * A[k * n + j];
      }
      CHECK_CLOSE(product, i == j, tolerance);
      CHECK_CLOSE(S[0][j * n + i], S[1][j * n + i], tolerance * fabs(S[1][j * (n + 1)]));
      CHECK((i <= j && is_above(parent, i, j)) || S[0][j * n + i] == 0);
      CHECK(is_above(parent, i, j) || S[1][j * n + i] == 0);
    }
  }
}

/* The scale of A is any: its pivots may be beyond the range in which products of two are taken. */
static void inverses_keep_to_the_branches(void) {
  static const int exponents[] = {0, 505, -505};
  uint64_t seed = 3;
  double A[MOST * MOST];
  int32_t parent[MOST];
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_vector_loops *loops = sap_kernels_of(set) ? sap_vector_loops_of(set) : NULL;
    for (int32_t n = 1; loops && n <= MOST; ++n) {
      for (int trial = 0; trial < 4; ++trial) {
        grow(n, parent, &seed);
        fill(n, parent, A, &seed);
        check_inverse(loops, n, parent, A);
      }
      double S[2][MOST * MOST];
      uint64_t strips[MOST];
      sap_branches_strips(n, parent, strips);
      REQUIRE(loops->invert(n, strips, A, S[0]));
      for (int e = 0; e < 3; ++e) {
        double scaled[MOST * MOST];
        for (int32_t k = 0; k < n * n; ++k) {
          scaled[k] = ldexp(A[k], 2 * exponents[e]);
        }
        REQUIRE(loops->invert(n, strips, scaled, S[1]));
        for (int32_t k = 0; k < n * n; ++k) {
          CHECK_CLOSE(ldexp(S[1][k], exponents[e]), S[0][k], 1e-14);
        }
      }
      /* not positive definite where the pivot of one velocity is not, wherever it is */
      const int32_t bad = (int32_t)floor(check_random(&seed, 0, n));
      A[bad * (n + 1)] = -1;
      CHECK(!loops->invert(n, strips, A, S[1]));
      A[bad * (n + 1)] = NAN;
      CHECK(!loops->invert(n, strips, A, S[1]));
    }
  }
}

/* The block is so wide that strips have more than 8 rows. Most of it are chains that hang on one
 * trunk. */
static void wide_blocks_have_taller_strips(void) {
  enum { WIDE = 1100 };
  static double A[WIDE * WIDE], S[WIDE * WIDE];
  static uint64_t strips[WIDE];
  static int32_t parent[WIDE];
  uint64_t seed = 4;
  for (int32_t j = 0; j < WIDE; ++j) {
    parent[j] = j < 6 || j % 30 != 0 ? j - 1 : 5;
  }
  fill(WIDE, parent, A, &seed);
  CHECK_EQUAL(sap_strip_shift(512), 3);
  CHECK_EQUAL(sap_strip_shift(513), 4);
  sap_branches_strips(WIDE, parent, strips);
  const struct sap_vector_loops *loops = sap_vector_loops_of(sap_kernels_best_set());
  REQUIRE(loops->invert(WIDE, strips, A, S));
  /* A^-1 A x = x */
  static double x[WIDE], b[WIDE], room[WIDE];
  for (int32_t i = 0; i < WIDE; ++i) {
    x[i] = check_random(&seed, -1, 1);
  }
  for (int32_t i = 0; i < WIDE; ++i) {
    for (int32_t j = 0; j < WIDE; ++j) {
      b[i] += A[i * WIDE + j] * x[j];
    }
  }
  loops->multiply_inverse(WIDE, strips, S, b, room);
  CHECK_ALL_CLOSE(b, x, WIDE, 1e-12);
}

/* Products with S, squares of its columns and blocks of rows are those without branches. */
static void products_keep_to_the_branches(void) {
  uint64_t seed = 5;
  double A[MOST * MOST], S[MOST * MOST], J[3 * MOST], x[MOST], e[MOST];
  int32_t parent[MOST];
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_vector_loops *loops = sap_kernels_of(set) ? sap_vector_loops_of(set) : NULL;
    for (int32_t n = 1; loops && n <= MOST; ++n) {
      const int32_t rows = 1 + n % 3;
      double y[2][MOST], room[MOST], squares[2][MOST], square[2], W[2][9] = {{0}};
      struct sap_norms norms[2] = {{0, 0}, {0, 0}};
      uint64_t strips[2][MOST];
      grow(n, parent, &seed);
      fill(n, parent, A, &seed);
      for (int32_t k = 0; k < n; ++k) {
        x[k] = check_random(&seed, -1, 1);
        e[k] = check_random(&seed, 0, 1);
        for (int32_t r = 0; r < rows; ++r) {
          J[r * n + k] = k % 3 == 1 ? 0 : check_random(&seed, -1, 1);
        }
      }
      for (int whole = 0; whole < 2; ++whole) {
        sap_branches_strips(n, whole ? NULL : parent, strips[whole]);
        REQUIRE(whole || loops->invert(n, strips[0], A, S));
        memcpy(y[whole], x, sizeof x);
        square[whole] = loops->multiply_inverse(n, strips[whole], S, y[whole], room);
        loops->square_columns(n, strips[whole], S, squares[whole]);
        loops->add_norms(n, strips[whole], S, x, e, &norms[whole]);
        loops->add_gram(n, strips[whole], S, rows, J, W[whole]);
      }
      CHECK_CLOSE(square[0], square[1], 1e-14);
      CHECK_ALL_CLOSE(y[0], y[1], n, 1e-14);
      CHECK_ALL_CLOSE(squares[0], squares[1], n, 1e-14);
      CHECK_CLOSE(norms[0].value, norms[1].value, 1e-14);
      CHECK_CLOSE(norms[0].bound, norms[1].bound, 1e-14);
      CHECK_ALL_CLOSE(W[0], W[1], 9, 1e-14);
    }
  }
}

static const check_test tests[] = {
    CHECK_TEST(trees_are_found_again),          CHECK_TEST(entries_between_branches_are_filled_in),
    CHECK_TEST(broken_branches_are_refused),    CHECK_TEST(inverses_keep_to_the_branches),
    CHECK_TEST(wide_blocks_have_taller_strips), CHECK_TEST(products_keep_to_the_branches),
};
CHECK_FILE(test_branches, tests);
