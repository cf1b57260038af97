/* Tests that solutions of the Delassus problem obey the laws of contacts and clamped rows, by
 * formulas that share no code with the search, on every instruction set. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "linalg/kernels/kernels.h"
#include "solver/delassus/elimination.h"
#include "solver/delassus/delassus_newton.h"

enum { CONTACTS = 6, ROWS = 4, M = 6 * CONTACTS + ROWS, N = 14, LD = (M + 8) & ~7 };

static double W[LD * M], u_0[LD], u[LD], mu[CONTACTS], lower[ROWS], upper[ROWS];
static double gamma_[LD], before[2 * M], residual[LD];
static double diagonal[LD], inverse[LD], trace[CONTACTS], inverse_trace[CONTACTS];
static int8_t kind[M], factored[M];
static int32_t listed[M + 1];
static double panel[M * LD], K[M * LD], system_[M * LD], solution[M], step[2 * LD], times[2 * LD];
static struct sap_slide slide[CONTACTS];
static int32_t slides_[CONTACTS];
static int32_t first[CONTACTS + 1];

/* Makes contacts with friction alone, with torsion, or with rolling too. W = Y Y^T + R has fewer
 * velocities than rows, as a foot with many contacts has. */
static void make(int32_t n_contacts, int32_t n_rows, const int32_t sizes[3], uint64_t *seed) {
  static double Y[M][N];
  for (int32_t i = 0; i < n_contacts; ++i) {
    first[i + 1] = first[i] + sizes[i % 3];
  }
  const int32_t m = first[n_contacts] + n_rows;
  for (int32_t k = 0; k < m; ++k) {
    for (int32_t j = 0; j < N; ++j) {
      Y[k][j] = check_random(seed, -1, 1);
    }
    u_0[k] = check_random(seed, -1, 1);
  }
  for (int32_t k = 0; k < m; ++k) {
    for (int32_t l = 0; l < m; ++l) {
      double sum = k == l ? 0.05 : 0;
      for (int32_t j = 0; j < N; ++j) {
        sum += Y[k][j] * Y[l][j];
      }
      W[k * LD + l] = sum;
    }
  }
  for (int32_t i = 0; i < n_contacts; ++i) {
    mu[i] = i % 5 == 4 ? 0 : check_random(seed, 0.1, 0.6);
  }
  for (int32_t i = 0; i < n_rows; ++i) {
    lower[i] = -0.1;
    upper[i] = i % 2 ? INFINITY : 0.2;
  }
}

static double dot(int32_t n, const double *a, const double *b) {
  double sum = 0;
  for (int32_t k = 0; k < n; ++k) {
    sum += a[k] * b[k];
  }
  return sum;
}

/* u lies in the normal cone at gamma, which lies in the friction cone. */
static void check_convex(int32_t i, int32_t *slides) {
  const double *g = gamma_ + first[i], *rest = u + first[i];
  const int32_t t = first[i + 1] - first[i] - 1;
  const double size = sqrt(dot(t, g, g)), slip = sqrt(dot(t, rest, rest));
  CHECK(size <= mu[i] * g[t] + 1e-9);
  CHECK(rest[t] + mu[i] * slip <= 1e-9);
  CHECK(fabs(dot(t + 1, rest, g)) <= 1e-8);
  *slides += slip > 1e-3 && mu[i] * g[t] > 1e-3;
}

static void check_contact(int32_t i, int32_t *slides) {
  const double *g = gamma_ + first[i], *rest = u + first[i];
  const int32_t t = first[i + 1] - first[i] - 1; /* n comes behind these */
  const double most = mu[i] * g[t], size = sqrt(dot(t, g, g)), slip = sqrt(dot(t, rest, rest));
  CHECK(g[t] >= -1e-12 && rest[t] <= 1e-9 && fabs(g[t] * rest[t]) <= 1e-9);
  CHECK(size <= most + 1e-9);
  /* the slip velocity is along the friction, which is then at its bound */
  CHECK(fabs(dot(t, rest, g) - slip * size) <= 1e-8);
  CHECK(slip <= 1e-8 || size >= most - 1e-9);
  *slides += slip > 1e-3 && most > 1e-3;
}

static void check_row(int32_t i, const double *g, const double *left, int32_t *bounded) {
  CHECK(g[i] >= lower[i] - 1e-12 && g[i] <= upper[i] + 1e-12);
  CHECK(left[i] <= 1e-9 || g[i] >= upper[i] - 1e-12);
  CHECK(left[i] >= -1e-9 || g[i] <= lower[i] + 1e-12);
  *bounded += fabs(left[i]) > 1e-3;
}

/* Returns the problem with gamma = 0. */
static struct sap_impulses problem(int32_t n_contacts, int32_t n_rows) {
  memset(gamma_, 0, sizeof gamma_);
  return (struct sap_impulses){.n_contacts = n_contacts,
                               .n_rows = n_rows,
                               .first = first,
                               .ld = LD,
                               .W = W,
                               .u = u,
                               .mu = mu,
                               .lower = lower,
                               .upper = upper,
                               .gamma = gamma_,
                               .diagonal = diagonal,
                               .inverse = inverse,
                               .trace = trace,
                               .inverse_trace = inverse_trace,
                               .before = before,
                               .residual = residual,
                               .kind = kind,
                               .factored = factored,
                               .listed = listed,
                               .panel = panel,
                               .K = K,
                               .slide = slide,
                               .slides = slides_,
                               .system = system_,
                               .times = times,
                               .solution = solution,
                               .step = step};
}

static void obey_their_laws(const int32_t sizes[3], int is_convex) {
  int32_t found = 0, tried = 0, slides = 0, bounded = 0;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (!sap_kernels_of(set)) {
      continue;
    }
    uint64_t seed = 12;
    for (int trial = 0; trial < 100; ++trial) {
      const int32_t n_contacts = 1 + trial % CONTACTS, n_rows = trial % (ROWS + 1);
      make(n_contacts, n_rows, sizes, &seed);
      const int32_t rows = first[n_contacts], m = rows + n_rows;
      memcpy(u, u_0, sizeof u);
      struct sap_impulses p = problem(n_contacts, n_rows);
      p.is_convex = is_convex;
      const double rest = sap_impulses_of(set)(&p);
      ++tried;
      /* u is that of gamma, whether or not it is the one that was looked for */
      for (int32_t k = 0; k < m; ++k) {
        CHECK_CLOSE(u[k], u_0[k] - dot(m, W + k * LD, gamma_), 1e-9);
      }
      if (!(rest <= 1e-10)) {
        continue;
      }
      ++found;
      for (int32_t i = 0; i < n_contacts; ++i) {
        (is_convex ? check_convex : check_contact)(i, &slides);
      }
      for (int32_t i = 0; i < n_rows; ++i) {
        check_row(i, gamma_ + rows, u + rows, &bounded);
      }
    }
  }
  CHECK(100 * found >= 99 * tried);
  CHECK(slides > tried / 2 && bounded > tried / 4);
}

static const int32_t plain[3] = {3, 3, 3};

static void impulses_obey_their_laws(void) { obey_their_laws(plain, 0); }

static const int32_t mixed[3] = {4, 6, 3};

static void torsion_and_rolling_too(void) { obey_their_laws(mixed, 0); }

static void so_do_those_of_convex_friction(void) {
  obey_their_laws(plain, 1);
  obey_their_laws(mixed, 1);
}

static void on_from_what_is_near(void) {
  uint64_t seed = 6;
  for (int trial = 0; trial < 50; ++trial) {
    double found[M];
    make(CONTACTS, ROWS, mixed, &seed);
    memcpy(u, u_0, sizeof u);
    struct sap_impulses p = problem(CONTACTS, ROWS);
    const int32_t m = sap_impulses_size(&p);
    const double rest = sap_impulses_of(0)(&p);
    memcpy(found, gamma_, sizeof found);
    for (int32_t k = 0; k < m; ++k) {
      gamma_[k] *= 1 + check_random(&seed, -1e-4, 1e-4);
    }
    memcpy(u, u_0, sizeof u);
    CHECK(sap_impulses_of(0)(&p) <= 1e-10 || rest > 1e-10);
    for (int32_t k = 0; k < m && rest <= 1e-10; ++k) {
      CHECK_CLOSE(gamma_[k], found[k], 1e-8);
      CHECK_CLOSE(u[k], u_0[k] - dot(m, W + k * LD, gamma_), 1e-9);
    }
  }
}

/* At rest the impulses are 0 without residual. */
static void at_rest_there_is_none(void) {
  uint64_t seed = 3;
  make(2, 1, plain, &seed);
  for (int32_t k = 0; k < 7; ++k) {
    u[k] = k % 3 == 2 ? -1 : 0; /* contacts part, the row is where it should be */
  }
  u[6] = 0;
  struct sap_impulses p = problem(2, 1);
  CHECK(sap_impulses_of(0)(&p) == 0);
  for (int32_t k = 0; k < 7; ++k) {
    CHECK(gamma_[k] == 0);
  }
}

static void what_is_not_finite_ends(void) {
  uint64_t seed = 4;
  make(2, 1, plain, &seed);
  memcpy(u, u_0, sizeof u);
  u[1] = NAN;
  struct sap_impulses p = problem(2, 1);
  CHECK(!(sap_impulses_of(0)(&p) <= 1e-6));
}

/* Makes n rows [a b] with a random a (n, n), which is almost singular in its first two rows and
 * columns where asked. */
static void make_equations(int32_t n, int is_singular, uint64_t *seed, double rows[]) {
  const int32_t ld = sap_impulses_stride(n);
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < ld; ++j) {
      rows[i * ld + j] = check_random(seed, -1, 1) + (i == j ? 2 : 0);
    }
  }
  if (is_singular) {
    rows[0] = 1 + 1e-13;
    rows[1] = rows[ld] = rows[ld + 1] = 1;
  }
}

static void equations_are_solved(void) {
  enum { MOST = 9, STRIDE = 16 };
  uint64_t seed = 8;
  for (int32_t n = 1; n <= MOST; ++n) {
    const int32_t ld = sap_impulses_stride(n);
    for (int trial = 0; trial < 20; ++trial) {
      double rows[MOST * STRIDE], left[MOST * STRIDE], x[MOST];
      make_equations(n, n > 2 && trial % 2, &seed, rows);
      memcpy(left, rows, sizeof left);
      CHECK(solve_rows(n, ld, left, times, x));
      for (int32_t i = 0; i < n; ++i) {
        CHECK_CLOSE(dot(n, rows + i * ld, x), rows[i * ld + n], 1e-9);
      }
    }
  }
}

static const check_test tests[] = {
    CHECK_TEST(impulses_obey_their_laws),       CHECK_TEST(torsion_and_rolling_too),
    CHECK_TEST(so_do_those_of_convex_friction), CHECK_TEST(on_from_what_is_near),
    CHECK_TEST(at_rest_there_is_none),          CHECK_TEST(what_is_not_finite_ends),
    CHECK_TEST(equations_are_solved),
};
CHECK_FILE(test_impulses, tests);
