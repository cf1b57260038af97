/* Checks for the C tests: a test file is one program that lists its tests and reports failures.
 *
 *     static void factor_of_identity(void) {
 *       CHECK(n == 3);
 *       CHECK_CLOSE(x[0], 1.0, 1e-14);
 *     }
 *
 *     int main(int argc, char **argv) {
 *       const check_test tests[] = {CHECK_TEST(factor_of_identity)};
 *       return check_run(tests, CHECK_COUNT(tests), argc, argv);
 *     }
 *
 * A failed CHECK is printed with its place and values and the test goes on; REQUIRE leaves the test
 * function (which must return void). With arguments only the tests whose name contains one of them
 * run. A test without any check is a failure, and so is a filter that matches no test.
 * */
#ifndef SAPWOOD_TESTS_CHECK_H
#define SAPWOOD_TESTS_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct check_test {
  const char *name;
  void (*run)(void);
} check_test;

#define CHECK_TEST(function) {#function, function}
#define CHECK_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* counts of the running program */
static struct {
  long checks;
  long failures;
} check_state;

/* ---- checks ---------------------------------------------------------------------------------- */

static inline int check_true(int ok, const char *text, const char *file, int line) {
  ++check_state.checks;
  if (!ok) {
    ++check_state.failures;
    printf("%s:%d: failed: %s\n", file, line, text);
  }
  return ok;
}

/* |a - b| <= tolerance; NaN is close to nothing */
static inline int check_close(double a, double b, double tolerance, const char *text,
                              const char *file, int line) {
  const int ok = a == b || fabs(a - b) <= tolerance;
  check_true(ok, text, file, line);
  if (!ok) {
    printf("    %.17g against %.17g: differs by %.3g, allowed %.3g\n", a, b, fabs(a - b),
           tolerance);
  }
  return ok;
}

static inline int check_equal(int64_t a, int64_t b, const char *text, const char *file, int line) {
  check_true(a == b, text, file, line);
  if (a != b) {
    printf("    %" PRId64 " against %" PRId64 "\n", a, b);
  }
  return a == b;
}

static inline int check_string(const char *a, const char *b, const char *text, const char *file,
                               int line) {
  const int ok = a && b && strcmp(a, b) == 0;
  check_true(ok, text, file, line);
  if (!ok) {
    printf("    \"%s\" against \"%s\"\n", a ? a : "(null)", b ? b : "(null)");
  }
  return ok;
}

/* every entry of a (n) within tolerance of b (n); the first one that is not is named */
static inline int check_all_close(const double *a, const double *b, int64_t n, double tolerance,
                                  const char *text, const char *file, int line) {
  int64_t i = 0;
  while (i < n && (a[i] == b[i] || fabs(a[i] - b[i]) <= tolerance)) {
    ++i;
  }
  check_true(i == n, text, file, line);
  if (i < n) {
    printf("    entry %" PRId64 " of %" PRId64
           ": %.17g against %.17g: differs by %.3g, allowed %.3g\n",
           i, n, a[i], b[i], fabs(a[i] - b[i]), tolerance);
  }
  return i == n;
}

#define CHECK(condition) check_true(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_CLOSE(a, b, tolerance) check_close(a, b, tolerance, #a " ~ " #b, __FILE__, __LINE__)
#define CHECK_EQUAL(a, b) check_equal((int64_t)(a), (int64_t)(b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_STRING(a, b) check_string(a, b, #a " == " #b, __FILE__, __LINE__)
#define CHECK_ALL_CLOSE(a, b, n, tolerance) \
  check_all_close(a, b, n, tolerance, #a " ~ " #b, __FILE__, __LINE__)
#define REQUIRE(condition)   \
  do {                       \
    if (!CHECK(condition)) { \
      return;                \
    }                        \
  } while (0)

/* ---- random numbers -------------------------------------------------------------------------- */

/* SplitMix64: the same numbers on every machine for one seed */
static inline uint64_t check_random_bits(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/* uniform in [low, high) */
static inline double check_random(uint64_t *state, double low, double high) {
  return low + (high - low) * ((double)(check_random_bits(state) >> 11) * 0x1p-53);
}

/* ---- running --------------------------------------------------------------------------------- */

static inline int check_selected(const char *name, int argc, char **argv) {
  int selected = argc < 2;
  for (int i = 1; i < argc; ++i) {
    selected |= strstr(name, argv[i]) != NULL;
  }
  return selected;
}

/* runs the selected tests; 0 when all passed, as exit code */
static inline int check_run(const check_test *tests, size_t n, int argc, char **argv) {
  int n_run = 0;
  int n_failed = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; i < n; ++i) {
    if (!check_selected(tests[i].name, argc, argv)) {
      continue;
    }
    check_state.checks = 0;
    check_state.failures = 0;
    tests[i].run();
    const int ok = check_state.failures == 0 && check_state.checks > 0;
    printf("%s %s (%ld checks%s)\n", ok ? "ok  " : "FAIL", tests[i].name, check_state.checks,
           check_state.checks ? "" : ": a test must check something");
    ++n_run;
    n_failed += !ok;
  }
  printf("%d tests, %d failed\n", n_run, n_failed);
  return n_failed > 0 || n_run == 0;
}

#endif /* SAPWOOD_TESTS_CHECK_H */
