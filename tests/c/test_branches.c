/* Branches of a tree: which entries of A and of its factor are zero. */
#include "problem/branches.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "problem/problem.h"

enum { MOST = 40 };

/* parents of n velocities, of one tree or of several, some of them with long branches */
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

/* A (n, n) of a tree with all entries that it may have, dominated by its diagonal */
static void fill(int32_t n, const int32_t *parent, double *A, uint64_t *seed) {
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < i; ++j) {
      A[i * n + j] = A[j * n + i] = is_above(parent, j, i) ? check_random(seed, -1, 1) : 0;
    }
    A[i * (n + 1)] = n + check_random(seed, 0, 1);
  }
}

/* the tree is found from all of A, and from the entries of each velocity with its parent and its
 * root, whatever those lack */
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

/* an entry between two branches makes one depend on the other: it is broken, and joins them */
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

/* parents are checked, and that A keeps to them */
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

int main(int argc, char **argv) {
  const check_test tests[] = {
      CHECK_TEST(trees_are_found_again),
      CHECK_TEST(entries_between_branches_are_filled_in),
      CHECK_TEST(broken_branches_are_refused),
  };
  return check_run(tests, CHECK_COUNT(tests), argc, argv);
}
