/* Checks for the C tests: a test file lists its tests, and a program runs the files linked into it.
 *
 *     static void factor_of_identity(void) {
 *       CHECK(n == 3);
 *       CHECK_CLOSE(x[0], 1.0, 1e-14);
 *     }
 *
 *     static const check_test tests[] = {CHECK_TEST(factor_of_identity)};
 *     CHECK_FILE(test_factor, tests);
 *
 * The full name of this test is test_factor/factor_of_identity. A failed CHECK is printed with its
 * place and values, and the test goes on; REQUIRE leaves the test function, which must return void.
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

typedef struct check_file {
  const char *name;
  const check_test *tests; /* (n) */
  size_t n;
} check_file;

#define CHECK_TEST(function) {#function, function}
#define CHECK_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CHECK_FILE(name, tests) const check_file name = {#name, tests, CHECK_COUNT(tests)}

/* Runs the tests of n files whose full name contains one of the arguments, or all tests without
 * arguments. Returns the exit code: 0 if all selected tests pass. A test without any check fails,
 * and so do arguments that select no test. */
int check_run(const check_file *const *files, size_t n, int argc, char **argv);

/* ---- checks ---------------------------------------------------------------------------------- */

/* Each check counts as one of the running test, and returns whether it holds. */
int check_true(int ok, const char *text, const char *file, int line);

/* Checks |a - b| <= tolerance; NaN is close to nothing. */
int check_close(double a, double b, double tolerance, const char *text, const char *file, int line);

int check_equal(int64_t a, int64_t b, const char *text, const char *file, int line);

int check_string(const char *a, const char *b, const char *text, const char *file, int line);

/* Each entry of a (n) is within the tolerance of b (n); a failure names the first that is not. */
int check_all_close(const double *a, const double *b, int64_t n, double tolerance, const char *text,
                    const char *file, int line);

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

/* SplitMix64 gives the same numbers on every machine for one seed. */
static inline uint64_t check_random_bits(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/* Returns a random number, uniform in [low, high). */
static inline double check_random(uint64_t *state, double low, double high) {
  return low + (high - low) * ((double)(check_random_bits(state) >> 11) * 0x1p-53);
}

#endif /* SAPWOOD_TESTS_CHECK_H */
