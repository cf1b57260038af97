/* Tests the dense kernels of every instruction set against plain loops, over all sizes with a
 * special path: below, at and beyond the register blocks and vector widths. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "linalg/junction_tree.h"
#include "linalg/kernels/kernels.h"

enum { MOST = 40, LD = 101 };

static double A[MOST * LD], B[MOST * LD], C[MOST * LD], expected[MOST * LD];

static void fill(double *x, int64_t n, uint64_t *seed) {
  for (int64_t i = 0; i < n; ++i) {
    x[i] = check_random(seed, -1, 1);
  }
}

static void multiply_adds_the_product(void) {
  static const int32_t sizes[] = {1, 2, 3, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 31};
  uint64_t seed = 1;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_kernels *kernels = sap_kernels_of(set);
    for (size_t a = 0; kernels && a < CHECK_COUNT(sizes); ++a) {
      for (size_t b = 0; b < CHECK_COUNT(sizes); ++b) {
        const int32_t m = sizes[a], n = sizes[b], k = sizes[(a + b) % CHECK_COUNT(sizes)];
        fill(A, MOST * LD, &seed);
        fill(B, MOST * LD, &seed);
        fill(C, MOST * LD, &seed);
        memcpy(expected, C, sizeof C);
        for (int32_t j = 0; j < n; ++j) {
          for (int32_t i = 0; i < m; ++i) {
            for (int32_t p = 0; p < k; ++p) {
              expected[j * LD + i] -= A[p * LD + i] * B[p * LD + j];
            }
          }
        }
        kernels->multiply(m, n, k, -1, A, LD, B, LD, C, LD, 0);
        /* everything, so that a write outside of the block is seen */
        CHECK_ALL_CLOSE(C, expected, MOST * LD, 1e-13);
      }
    }
  }
}

static void lower_product_updates_the_lower_triangle(void) {
  uint64_t seed = 2;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_kernels *kernels = sap_kernels_of(set);
    for (int32_t n = 1; kernels && n <= 20; ++n) {
      fill(A, MOST * LD, &seed);
      memset(C, 0, sizeof C);
      kernels->multiply(n + 3, n, 4, 1, A, LD, A, LD, C, LD, 1);
      double worst = 0;
      for (int32_t j = 0; j < n; ++j) {
        for (int32_t i = j; i < n + 3; ++i) {
          double sum = 0;
          for (int32_t p = 0; p < 4; ++p) {
            sum += A[p * LD + i] * A[p * LD + j];
          }
          worst = fmax(worst, fabs(sum - C[j * LD + i]));
        }
      }
      CHECK(worst < 1e-14);
    }
  }
}

/* Makes an SPD matrix of n rows in P, with `below` random rows under it. */
static void make_panel(int32_t n, int32_t below, double *P, uint64_t *seed) {
  fill(A, MOST * LD, seed);
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < n + below; ++i) {
      double sum = i == j ? n : 0;
      for (int32_t p = 0; p < n; ++p) {
        sum += A[p * LD + i] * A[p * LD + j];
      }
      P[j * LD + i] = sum;
    }
  }
}

/* Returns (L L^T)_ij of a factored panel with 1/L_jj on the diagonal; row i may lie below the
 * square. */
static double product_of_factors(const double *P, int32_t n, int32_t i, int32_t j) {
  double sum = 0;
  for (int32_t k = 0; k <= j && k < n; ++k) {
    const double L_ik = i == k ? 1 / P[k * LD + k] : P[k * LD + i];
    const double L_jk = j == k ? 1 / P[k * LD + k] : P[k * LD + j];
    sum += L_ik * L_jk;
  }
  return sum;
}

static void factor_reproduces_the_panel(void) {
  uint64_t seed = 3;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_kernels *kernels = sap_kernels_of(set);
    for (int32_t n = 1; kernels && n <= 20; ++n) {
      for (int32_t below = 0; below <= 19; below += 1 + n % 3) {
        make_panel(n, below, B, &seed);
        memcpy(C, B, sizeof B);
        REQUIRE(kernels->factor(n + below, n, C, LD) == n);
        double worst = 0;
        for (int32_t j = 0; j < n; ++j) {
          for (int32_t i = j; i < n + below; ++i) {
            worst = fmax(worst, fabs(product_of_factors(C, n, i, j) - B[j * LD + i]));
          }
        }
        CHECK(worst < 1e-13 * (n + 1) * (n + 1));
      }
    }
  }
}

/* ---- padded panels, in both precisions ---- */

enum { PAD = 104, PANEL = 20 * PAD + 2 * SAP_PANEL_STEP };

/* Returns set k of panel kernels, and its tolerance. */
static const struct sap_panel_kernels *panels_of(int32_t k, double *tolerance) {
  const struct sap_kernels *kernels = sap_kernels_of(k / SAP_N_PRECISIONS);
  *tolerance = k % SAP_N_PRECISIONS == SAP_SINGLE ? 1e-4 : 1e-12;
  return kernels ? &kernels->panels[k % SAP_N_PRECISIONS] : NULL;
}
enum { PANEL_SETS = SAP_KERNEL_SETS * SAP_N_PRECISIONS };

/* Numbers in the precision of the kernels. */
struct numbers {
  int single;
  float floats[PANEL];
  double *doubles;
};

static void *give(struct numbers *to, double tolerance, double *x, int32_t n) {
  to->single = tolerance > 1e-6;
  to->doubles = x;
  memset(to->floats, 0, sizeof to->floats);
  for (int32_t i = 0; i < n; ++i) {
    to->floats[i] = (float)x[i];
  }
  return to->single ? (void *)to->floats : (void *)x;
}

static void take(const struct numbers *from, int32_t n) {
  for (int32_t i = 0; from->single && i < n; ++i) {
    from->doubles[i] = (double)from->floats[i];
  }
}

/* Makes P = 2^exponent B, with zeros around it. */
static void pad_panel(const struct sap_supernode *s, int exponent, double *P) {
  memset(P, 0, PANEL * sizeof *P);
  for (int32_t j = 0; j < s->n_cols; ++j) {
    for (int32_t i = 0; i < s->n_cols + s->n_rows; ++i) {
      P[j * s->ld + i] = ldexp(B[j * LD + i], exponent);
    }
  }
}

/* A padded panel gives the same factor, and leaves the padding zero. */
static void padded_panels_are_factored_alike(void) {
  static double P[PANEL];
  static struct numbers values;
  uint64_t seed = 10;
  for (int32_t set = 0; set < PANEL_SETS; ++set) {
    double tolerance;
    const struct sap_panel_kernels *panels = panels_of(set, &tolerance);
    for (int32_t n = 1; panels && n <= 20; ++n) {
      for (int32_t below = 0; below <= LD - n - 1; below += 1 + n % 7) {
        const int32_t rows = n + below;
        const struct sap_supernode s = {.n_cols = n, .n_rows = below, .ld = (rows + 7) / 8 * 8};
        make_panel(n, below, B, &seed);
        pad_panel(&s, 0, P);
        REQUIRE(sap_kernels_of(0)->factor(rows, n, B, LD) == n);
        REQUIRE(panels->factor(&s, give(&values, tolerance, P, PANEL)) == n);
        take(&values, PANEL);
        for (int32_t j = 0; j < n; ++j) {
          CHECK_ALL_CLOSE(P + j * s.ld + j, B + j * LD + j, rows - j, tolerance);
          for (int32_t i = rows; i < s.ld; ++i) {
            CHECK(P[j * s.ld + i] == 0);
          }
        }
        for (int32_t i = n * s.ld; i < n * s.ld + 2 * SAP_PANEL_STEP; ++i) {
          CHECK(P[i] == 0);
        }
      }
    }
  }
}

static void factor_names_the_first_bad_pivot(void) {
  const struct sap_supernode s = {.n_cols = 15, .ld = 16};
  static struct numbers values;
  uint64_t seed = 4;
  for (int32_t set = 0; set < PANEL_SETS; ++set) {
    double tolerance;
    const struct sap_panel_kernels *panels = panels_of(set, &tolerance);
    for (int32_t bad = 0; panels && bad < 15; ++bad) {
      make_panel(15, 0, B, &seed);
      B[bad * LD + bad] = bad % 3 == 0 ? -1 : bad % 3 == 1 ? NAN : INFINITY;
      memset(C, 0, sizeof C);
      for (int32_t j = 0; j < 15; ++j) {
        memcpy(C + j * s.ld, B + j * LD, 15 * sizeof *C);
      }
      CHECK_EQUAL(sap_kernels_of(set / SAP_N_PRECISIONS)->factor(15, 15, B, LD), bad);
      CHECK_EQUAL(panels->factor(&s, give(&values, tolerance, C, PANEL)), bad);
    }
  }
}

/* Solutions have H x = b for a panel whose rows below lie in two segments of x, before it and
 * behind it. */
static void solves_invert_the_factor(void) {
  static struct numbers values, vector;
  uint64_t seed = 5;
  for (int32_t set = 0; set < PANEL_SETS; ++set) {
    double tolerance;
    const struct sap_panel_kernels *panels = panels_of(set, &tolerance);
    for (int32_t n = 1; panels && n <= 20; ++n) {
      const int32_t below = (5 * n) % 20, first = below / 3;
      const struct sap_segment segments[] = {{.scalar = 1, .length = first},
                                             {.scalar = 9 + n, .length = below - first}};
      const struct sap_supernode s = {.scalar = 8,
                                      .n_cols = n,
                                      .n_rows = below,
                                      .ld = PAD,
                                      .segment_begin = first == 0,
                                      .segment_end = below > 0 ? 2 : 1};
      double b[PAD], x[PAD], expected_x[PAD];
      static double P[PANEL];
      make_panel(n, below, B, &seed);
      memcpy(C, B, sizeof B);
      sap_kernels_of(0)->factor(n + below, n, C, LD);
      for (int32_t j = 0; j < n; ++j) {
        memcpy(P + j * PAD, C + j * LD, LD * sizeof(double));
      }
      fill(b, PAD, &seed);
      memcpy(x, b, sizeof x);
      const void *factor = give(&values, tolerance, P, PANEL);
      panels->push_solution(&s, segments, factor, give(&vector, tolerance, x, PAD));
      take(&vector, PAD);
      /* L y = b on top, b - B y below */
      memcpy(expected_x, b, sizeof b);
      for (int32_t i = 0; i < n + below; ++i) {
        double sum = 0;
        for (int32_t j = 0; j <= i && j < n; ++j) {
          sum += (i == j ? 1 / C[j * LD + i] : C[j * LD + i]) * x[8 + j];
        }
        if (i < n) {
          CHECK_CLOSE(sum, b[8 + i], tolerance);
          expected_x[8 + i] = x[8 + i];
        } else {
          expected_x[i < n + first ? 1 + i - n : 9 + i - first] -= sum;
        }
      }
      CHECK_ALL_CLOSE(x, expected_x, PAD, tolerance);
      /* L^T z = y - B^T x below, which stays */
      memcpy(expected_x, x, sizeof x);
      panels->pull_solution(&s, segments, factor, give(&vector, tolerance, x, PAD));
      take(&vector, PAD);
      for (int32_t i = 0; i < n; ++i) {
        double sum = -expected_x[8 + i];
        for (int32_t j = i; j < n + below; ++j) {
          const int32_t at = j < n ? 8 + j : j < n + first ? 1 + j - n : 9 + j - first;
          sum += (i == j ? 1 / C[i * LD + j] : C[i * LD + j]) * x[at];
        }
        CHECK(fabs(sum) < tolerance * (n + 1));
        expected_x[8 + i] = x[8 + i];
      }
      CHECK_ALL_CLOSE(x, expected_x, PAD, 0);
    }
  }
}

/* The update is C - B_r B_c^T for rows r and c of a panel, in blocks beside the diagonal and the
 * lower part of one on it. */
static void updates_are_products_of_rows(void) {
  enum { N = 5, ROWS = 80, UP = 88 };
  static double values[PANEL], expected_values[PANEL];
  static struct numbers numbers;
  uint64_t seed = 11;
  for (int32_t set = 0; set < PANEL_SETS; ++set) {
    double tolerance;
    const struct sap_panel_kernels *panels = panels_of(set, &tolerance);
    for (int32_t rows = 1; panels && rows <= ROWS - N; ++rows) {
      for (int32_t cols = 1; cols <= 12 && cols <= rows; ++cols) {
        const int32_t row = ROWS - rows, on_diagonal = row == N, target = N * UP + 8;
        const struct sap_update update = {(size_t)target, UP, row, rows, N, cols};
        const struct sap_supernode s = {.n_cols = N, .n_rows = ROWS - N, .ld = UP, .update_end = 1};
        fill(values, PANEL, &seed);
        memcpy(expected_values, values, sizeof values);
        void *given = give(&numbers, tolerance, values, PANEL);
        panels->push_updates(&s, &update, given);
        take(&numbers, PANEL);
        for (int32_t j = 0; j < cols; ++j) {
          double *column = expected_values + target + j * UP;
          for (int32_t i = 0; i < rows; ++i) {
            for (int32_t k = 0; k < N; ++k) {
              column[i] -= expected_values[k * UP + row + i] * expected_values[k * UP + N + j];
            }
          }
          memcpy(column, values + target + j * UP,
                 (size_t)(on_diagonal ? j : 0) * sizeof *column); /* undefined */
        }
        CHECK_ALL_CLOSE(values, expected_values, PANEL, tolerance);
      }
    }
  }
}

/* No vector path takes these pivots: L(s^2 H) = s L(H) holds also where a product of two pivots
 * has lost its digits. */
static void panels_take_any_scale(void) {
  enum { SCALES = 11 };
  static const int exponents[][SCALES] = {
      {-480, -272, -270, -268, -266, -264, -262, -200, 0, 200, 480},
      {-40, -38, -37, -36, -35, -34, -33, -27, 0, 27, 40}};
  const struct sap_supernode s = {.n_cols = 11, .n_rows = 30, .ld = 48};
  static double P[PANEL], scaled[PANEL];
  static struct numbers values;
  uint64_t seed = 12;
  for (int32_t set = 0; set < PANEL_SETS; ++set) {
    double tolerance;
    const struct sap_panel_kernels *panels = panels_of(set, &tolerance);
    for (int e = 0; panels && e < SCALES; ++e) {
      const int exponent = exponents[set % SAP_N_PRECISIONS][e];
      make_panel(s.n_cols, s.n_rows, B, &seed);
      pad_panel(&s, 2 * exponent, P);
      REQUIRE(panels->factor(&s, give(&values, tolerance, P, PANEL)) == s.n_cols);
      take(&values, PANEL);
      REQUIRE(sap_kernels_of(0)->factor(s.n_cols + s.n_rows, s.n_cols, B, LD) == s.n_cols);
      for (int32_t j = 0; j < s.n_cols; ++j) {
        for (int32_t i = s.n_cols; i < s.n_cols + s.n_rows; ++i) {
          scaled[i] = ldexp(P[j * s.ld + i], -exponent);
        }
        CHECK_ALL_CLOSE(scaled + s.n_cols, B + j * LD + s.n_cols, s.n_rows, tolerance);
        CHECK_CLOSE(ldexp(P[j * s.ld + j], exponent), B[j * LD + j], tolerance);
      }
    }
  }
}

/* The array ends with the last entry of the panel, and L L^T x = b - L B^T t. */
static void plain_solves_stay_inside_the_panel(void) {
  uint64_t seed = 8;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_kernels *kernels = sap_kernels_of(set);
    for (int32_t n = 1; kernels && n <= 20; ++n) {
      const int32_t below = (3 * n) % 11, rows = n + below;
      double b[MOST], x[MOST], t[MOST], before[MOST];
      double *P = malloc((size_t)(rows * n) * sizeof *P);
      REQUIRE(P);
      make_panel(n, below, B, &seed);
      for (int32_t j = 0; j < n; ++j) {
        memcpy(P + j * rows, B + j * LD, (size_t)rows * sizeof *P);
      }
      REQUIRE(kernels->factor(rows, n, P, rows) == n);
      fill(b, n, &seed);
      fill(t, below, &seed);
      memcpy(x, b, sizeof x);
      memcpy(before, t, sizeof t);
      kernels->solve_forward(rows, n, P, rows, x, t);
      for (int32_t i = 0; i < below; ++i) {
        double sum = before[i];
        for (int32_t j = 0; j < n; ++j) {
          sum -= P[j * rows + n + i] * x[j];
        }
        CHECK_CLOSE(t[i], sum, 1e-12);
      }
      kernels->solve_backward(rows, n, P, rows, x, t);
      /* H x = b - H_tx^T t, since the rows below hold B = H_tx L^-T */
      for (int32_t i = 0; i < n; ++i) {
        double sum = -b[i];
        for (int32_t j = 0; j < n; ++j) {
          sum += B[j <= i ? j * LD + i : i * LD + j] * x[j];
        }
        for (int32_t r = 0; r < below; ++r) {
          sum += B[i * LD + n + r] * t[r];
        }
        CHECK(fabs(sum) < 1e-11 * n);
      }
      free(P);
    }
  }
}

/* The factor has L(s^2 H) = s L(H), also where products of two entries overflow or underflow. */
static void factor_takes_any_scale(void) {
  static const int exponents[] = {-480, -300, -270, -268, -266, -264, -200, 0, 200, 300, 480};
  uint64_t seed = 9;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_kernels *kernels = sap_kernels_of(set);
    for (int32_t n = 1; kernels && n <= 20; ++n) {
      make_panel(n, 5, B, &seed);
      memcpy(expected, B, sizeof B);
      REQUIRE(kernels->factor(n + 5, n, expected, LD) == n);
      for (size_t e = 0; e < CHECK_COUNT(exponents); ++e) {
        for (int32_t i = 0; i < MOST * LD; ++i) {
          C[i] = ldexp(B[i], 2 * exponents[e]);
        }
        REQUIRE(kernels->factor(n + 5, n, C, LD) == n);
        for (int32_t j = 0; j < n; ++j) {
          for (int32_t i = j; i < n + 5; ++i) {
            const double scaled = ldexp(C[j * LD + i], i == j ? exponents[e] : -exponents[e]);
            CHECK_CLOSE(scaled, expected[j * LD + i], 1e-12);
          }
        }
      }
    }
  }
}

/* Without rows, columns or terms no kernel writes anything: there is guard space all around. */
static void kernels_of_nothing_write_nothing(void) {
  enum { GUARD = 16 };
  static struct numbers values, vector;
  static double P[PANEL], x[PANEL];
  uint64_t seed = 13;
  fill(B, MOST * LD, &seed);
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_kernels *kernels = sap_kernels_of(set);
    for (int lower = 0; kernels && lower < 2; ++lower) {
      memcpy(C, B, sizeof C);
      for (int32_t empty = 1; empty < 8; ++empty) {
        const int32_t m = empty & 1 ? 0 : 9, n = empty & 2 ? 0 : 7, k = empty & 4 ? 0 : 5;
        kernels->multiply(m, n, k, -1, A, LD, A, LD, C + GUARD, LD, lower);
      }
      CHECK_EQUAL(kernels->factor(0, 0, C + GUARD, 8), 0);
      CHECK_EQUAL(kernels->factor(5, 0, C + GUARD, 8), 0);
      for (int32_t rows = 0; rows <= 5; rows += 5) {
        kernels->solve_forward(rows, 0, A, 8, C + GUARD, C + 10 * GUARD);
        kernels->solve_backward(rows, 0, A, 8, C + GUARD, C + 10 * GUARD);
      }
      CHECK_ALL_CLOSE(C, B, MOST * LD, 0);
    }
  }
  for (int32_t set = 0; set < PANEL_SETS; ++set) {
    double tolerance;
    const struct sap_panel_kernels *panels = panels_of(set, &tolerance);
    for (int32_t below = 0; panels && below <= 5; below += 5) {
      const struct sap_segment segment = {.scalar = 4 * GUARD, .length = below};
      const struct sap_supernode s = {
          .scalar = GUARD, .n_rows = below, .ld = 8, .segment_end = 1, .update_end = 3};
      const struct sap_update updates[] = {
          {GUARD, 8, 0, 6, 0, 6}, {GUARD, 8, 0, 0, 0, 6}, {GUARD, 8, 0, 9, 0, 7}};
      for (int32_t i = 0; i < PANEL; ++i) {
        P[i] = x[i] = 0.5 * (i % 5);
      }
      void *panel = give(&values, tolerance, P, PANEL);
      CHECK_EQUAL(panels->factor(&s, panel), 0);
      panels->push_updates(&s, updates, panel);
      take(&values, PANEL);
      CHECK_ALL_CLOSE(P, x, PANEL, 0);
      void *solution = give(&vector, tolerance, x, PANEL);
      panels->push_solution(&s, &segment, panel, solution);
      panels->pull_solution(&s, &segment, panel, solution);
      take(&vector, PANEL);
      CHECK_ALL_CLOSE(x, P, PANEL, 0);
    }
  }
}

static void the_best_set_is_one_of_them(void) {
  CHECK(sap_kernels_of(0) != NULL);
  int found = 0;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    found += sap_kernels_of(set) == sap_kernels_best();
  }
  CHECK_EQUAL(found, 1);
}

static const check_test tests[] = {
    CHECK_TEST(multiply_adds_the_product),
    CHECK_TEST(lower_product_updates_the_lower_triangle),
    CHECK_TEST(factor_reproduces_the_panel),
    CHECK_TEST(padded_panels_are_factored_alike),
    CHECK_TEST(factor_names_the_first_bad_pivot),
    CHECK_TEST(solves_invert_the_factor),
    CHECK_TEST(updates_are_products_of_rows),
    CHECK_TEST(panels_take_any_scale),
    CHECK_TEST(plain_solves_stay_inside_the_panel),
    CHECK_TEST(factor_takes_any_scale),
    CHECK_TEST(kernels_of_nothing_write_nothing),
    CHECK_TEST(the_best_set_is_one_of_them),
};
CHECK_FILE(test_kernels, tests);
