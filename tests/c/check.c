#include "check.h"

/* Counts of the running test. */
static struct {
  long checks;
  long failures;
} counts;

int check_true(int ok, const char *text, const char *file, int line) {
  ++counts.checks;
  if (!ok) {
    ++counts.failures;
    printf("%s:%d: failed: %s\n", file, line, text);
  }
  return ok;
}

int check_close(double a, double b, double tolerance, const char *text, const char *file,
                int line) {
  const int ok = a == b || fabs(a - b) <= tolerance;
  check_true(ok, text, file, line);
  if (!ok) {
    printf("    %.17g against %.17g: differs by %.3g, allowed %.3g\n", a, b, fabs(a - b),
           tolerance);
  }
  return ok;
}

int check_equal(int64_t a, int64_t b, const char *text, const char *file, int line) {
  check_true(a == b, text, file, line);
  if (a != b) {
    printf("    %" PRId64 " against %" PRId64 "\n", a, b);
  }
  return a == b;
}

int check_string(const char *a, const char *b, const char *text, const char *file, int line) {
  const int ok = a && b && strcmp(a, b) == 0;
  check_true(ok, text, file, line);
  if (!ok) {
    printf("    \"%s\" against \"%s\"\n", a ? a : "(null)", b ? b : "(null)");
  }
  return ok;
}

int check_all_close(const double *a, const double *b, int64_t n, double tolerance, const char *text,
                    const char *file, int line) {
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

/* ---- running --------------------------------------------------------------------------------- */

static int is_selected(const char *name, int argc, char **argv) {
  int selected = argc < 2;
  for (int i = 1; i < argc; ++i) {
    selected |= strstr(name, argv[i]) != NULL;
  }
  return selected;
}

/* Returns whether the test passes. */
static int run_test(const check_test *test, const char *name) {
  counts.checks = 0;
  counts.failures = 0;
  test->run();
  const int ok = counts.failures == 0 && counts.checks > 0;
  printf("%s %s (%ld checks%s)\n", ok ? "ok  " : "FAIL", name, counts.checks,
         counts.checks ? "" : ": a test must check something");
  return ok;
}

int check_run(const check_file *const *files, size_t n, int argc, char **argv) {
  int n_run = 0;
  int n_failed = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t f = 0; f < n; ++f) {
    for (size_t i = 0; i < files[f]->n; ++i) {
      char name[256];
      snprintf(name, sizeof name, "%s/%s", files[f]->name, files[f]->tests[i].name);
      if (is_selected(name, argc, argv)) {
        n_failed += !run_test(&files[f]->tests[i], name);
        ++n_run;
      }
    }
  }
  printf("%d tests, %d failed\n", n_run, n_failed);
  return n_failed > 0 || n_run == 0;
}
