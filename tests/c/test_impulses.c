/* Contacts and clamped rows by their impulses: what is found obeys the law of each, by formulas
 * that share no code with the search, on every instruction set. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "linalg/kernels.h"
#include "sap/impulses.h"

enum { CONTACTS = 6, ROWS = 4, M = 3 * CONTACTS + ROWS, N = 14, LD = (M + 8) & ~7 };

static double W[LD * M], u_0[LD], u[LD], mu[CONTACTS], lower[ROWS], upper[ROWS];
static double gamma_[M], before[2 * M], system_[M * LD];
static double lack[M], step[2 * LD];

/* W = Y Y^T + R: fewer velocities than rows, as of a foot with many contacts */
static void make(int32_t n_contacts, int32_t n_rows, uint64_t *seed) {
  static double Y[M][N];
  const int32_t m = 3 * n_contacts + n_rows;
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

static void check_contact(int32_t i, int32_t *slides) {
  const double *g = gamma_ + 3 * i, *rest = u + 3 * i, most = mu[i] * g[2];
  const double size = hypot(g[0], g[1]), slip = hypot(rest[0], rest[1]);
  CHECK(g[2] >= -1e-12 && rest[2] <= 1e-9 && fabs(g[2] * rest[2]) <= 1e-9);
  CHECK(size <= most + 1e-9);
  /* what is left of the velocity is along the friction, which is then as large as it may be */
  CHECK(fabs(rest[0] * g[0] + rest[1] * g[1] - slip * size) <= 1e-8);
  CHECK(slip <= 1e-8 || size >= most - 1e-9);
  *slides += slip > 1e-3 && most > 1e-3;
}

static void impulses_obey_their_laws(void) {
  int32_t found = 0, tried = 0, slides = 0, bounded = 0;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (!sap_kernels_of(set)) {
      continue;
    }
    uint64_t seed = 12;
    for (int trial = 0; trial < 100; ++trial) {
      const int32_t n_contacts = 1 + trial % CONTACTS, n_rows = trial % (ROWS + 1);
      const int32_t m = 3 * n_contacts + n_rows;
      make(n_contacts, n_rows, &seed);
      memcpy(u, u_0, sizeof u);
      struct sap_impulses p = {n_contacts, n_rows, LD,     W,    u,    mu,     lower,
                               upper,      gamma_, before, lack, step, system_};
      const double rest = sap_impulses_of(set)(&p);
      ++tried;
      /* u is that of gamma, whether or not it is the one that was looked for */
      for (int32_t k = 0; k < m; ++k) {
        double sum = u_0[k];
        for (int32_t l = 0; l < m; ++l) {
          sum -= W[l * LD + k] * gamma_[l];
        }
        CHECK_CLOSE(u[k], sum, 1e-9);
      }
      if (!(rest <= 1e-10)) {
        continue;
      }
      ++found;
      for (int32_t i = 0; i < n_contacts; ++i) {
        check_contact(i, &slides);
      }
      for (int32_t i = 0; i < n_rows; ++i) {
        const double g = gamma_[3 * n_contacts + i], left = u[3 * n_contacts + i];
        CHECK(g >= lower[i] - 1e-12 && g <= upper[i] + 1e-12);
        CHECK(left <= 1e-9 || g >= upper[i] - 1e-12);
        CHECK(left >= -1e-9 || g <= lower[i] + 1e-12);
        bounded += fabs(left) > 1e-3;
      }
    }
  }
  CHECK(100 * found >= 99 * tried);
  CHECK(slides > tried / 2 && bounded > tried / 4);
}

/* nothing to bring, nothing left */
static void at_rest_there_is_none(void) {
  uint64_t seed = 3;
  make(2, 1, &seed);
  for (int32_t k = 0; k < 7; ++k) {
    u[k] = k % 3 == 2 ? -1 : 0; /* contacts part, the row is where it should be */
  }
  u[6] = 0;
  struct sap_impulses p = {2, 1, LD, W, u, mu, lower, upper, gamma_, before, lack, step, system_};
  CHECK(sap_impulses_of(0)(&p) == 0);
  for (int32_t k = 0; k < 7; ++k) {
    CHECK(gamma_[k] == 0);
  }
}

static void what_is_not_finite_ends(void) {
  uint64_t seed = 4;
  make(2, 1, &seed);
  memcpy(u, u_0, sizeof u);
  u[1] = NAN;
  struct sap_impulses p = {2, 1, LD, W, u, mu, lower, upper, gamma_, before, lack, step, system_};
  CHECK(!(sap_impulses_of(0)(&p) <= 1e-6));
}

int main(int argc, char **argv) {
  static const struct check_test tests[] = {
      CHECK_TEST(impulses_obey_their_laws),
      CHECK_TEST(at_rest_there_is_none),
      CHECK_TEST(what_is_not_finite_ends),
  };
  return check_run(tests, CHECK_COUNT(tests), argc, argv);
}
