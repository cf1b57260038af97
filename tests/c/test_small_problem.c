/* Tests the small problem of contacts in dispute: results obey Coulomb's law, with every
 * instruction set, for operators that are symmetric or not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "linalg/kernels/kernels.h"
#include "solver/delassus/small_problem.h"

static struct sap_small_problem problem;
static struct sap_block block;

static void carve(void *context, struct sap_arena *arena) { sap_small_carve(context, arena); }

static void reserve(void) {
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  REQUIRE(sap_block_carve_zeros(&block, carve, &problem, &allocator));
}

static void release(void) {
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  sap_block_release(&block, &allocator);
}

static double *entry(int32_t i, int32_t j) { return &problem.M[j * problem.ld + i]; }

/* Makes n contacts on fewer joints than rows, with R on the diagonal and an unsymmetric part. */
static void make(int32_t n, double unsymmetric, uint64_t *seed) {
  enum { JOINTS = 12 };
  static double J[SAP_SMALL_UNKNOWNS][JOINTS];
  problem.n = n;
  problem.ld = sap_impulses_stride(3 * n);
  memset(problem.M, 0, (size_t)problem.ld * 3 * (size_t)n * sizeof(double));
  memset(problem.q, 0, (size_t)problem.ld * sizeof(double));
  for (int32_t i = 0; i < 3 * n; ++i) {
    for (int32_t k = 0; k < JOINTS; ++k) {
      J[i][k] = check_random(seed, -1, 1);
    }
    problem.q[i] = check_random(seed, -1, 0.3);
    problem.gamma[i] = 0;
    problem.mu[i / 3] = check_random(seed, 0, 1);
  }
  for (int32_t i = 0; i < 3 * n; ++i) {
    for (int32_t j = 0; j < 3 * n; ++j) {
      double sum = i == j ? 0.05 : 0;
      for (int32_t k = 0; k < JOINTS; ++k) {
        sum += J[i][k] * J[j][k];
      }
      *entry(i, j) = sum + (i < j ? unsymmetric : -unsymmetric) * (i == j ? 0 : J[i][0]);
    }
  }
}

/* Returns the largest violation of Coulomb's law by gamma, m/s and N s. */
static double violation(void) {
  double worst = 0;
  for (int32_t i = 0; i < problem.n; ++i) {
    const double *gamma = problem.gamma + 3 * i;
    double u[3];
    for (int r = 0; r < 3; ++r) {
      u[r] = problem.q[3 * i + r];
      for (int32_t j = 0; j < 3 * problem.n; ++j) {
        u[r] += *entry(3 * i + r, j) * problem.gamma[j];
      }
    }
    const double friction = hypot(gamma[0], gamma[1]), slip = hypot(u[0], u[1]);
    const double bound = problem.mu[i] * gamma[2];
    worst = fmax(worst, fmax(-gamma[2], -u[2]));
    worst = fmax(worst, fabs(gamma[2] * u[2]));
    worst = fmax(worst, friction - bound);
    worst = fmax(worst, fabs(gamma[0] * u[0] + gamma[1] * u[1] + bound * slip));
  }
  return worst;
}

static void solutions_obey_the_law(void) {
  int solved = 0, all = 0;
  reserve();
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    uint64_t seed = 5;
    for (int32_t k = 0; sap_kernels_of(set) && k < 60; ++k) {
      make(1 + k % SAP_SMALL_MOST, k % 2 ? 0.02 : 0, &seed);
      const double map = sap_small_loops_of(set)->solve(&problem);
      CHECK(map >= 0 && map <= 1);
      ++all;
      if (map < 1e-12) {
        ++solved;
        CHECK(violation() < 1e-4);
      }
    }
  }
  CHECK(solved >= 0.9 * all);
  release();
}

/* Counts the problems that a search solves, of redundant contacts with little R. */
static int count_solved(int32_t set, int thorough) {
  int solved = 0;
  uint64_t seed = 5;
  problem.thorough = thorough;
  for (int32_t k = 0; k < 100; ++k) {
    make(4 + k % 12, 0.02, &seed);
    for (int32_t i = 0; i < 3 * problem.n; ++i) {
      *entry(i, i) -= 0.05 - 1e-5;
    }
    solved += sap_small_loops_of(set)->solve(&problem) < 1e-12;
  }
  problem.thorough = 0;
  return solved;
}

static void the_thorough_search_solves_more(void) {
  reserve();
  for (int32_t set = 0; set < SAP_KERNEL_SETS && sap_kernels_of(set); ++set) {
    const int usual = count_solved(set, 0), thorough = count_solved(set, 1);
    CHECK(thorough >= usual + 5);
  }
  release();
}

/* A contact whose friction drives it onto itself sticks, at an impulse that no sliding one joins:
 * M_nn + mu M_n t is negative along its slip. */
static void a_jammed_contact_sticks(void) {
  static const double M[3][3] = {{2, 0, -1.5}, {0, 2, 0}, {-1.5, 0, 1.2}};
  reserve();
  for (int32_t set = 0; set < SAP_KERNEL_SETS && sap_kernels_of(set); ++set) {
    problem.n = 1;
    problem.ld = sap_impulses_stride(3);
    for (int32_t i = 0; i < 3; ++i) {
      for (int32_t j = 0; j < 3; ++j) {
        *entry(i, j) = M[i][j];
      }
      problem.gamma[i] = 0;
    }
    problem.mu[0] = 1;
    problem.q[0] = -0.1, problem.q[1] = 0, problem.q[2] = -0.1;
    CHECK(sap_small_loops_of(set)->solve(&problem) < 1e-9);
    CHECK(problem.gamma[2] > 0 && violation() < 1e-4);
    CHECK(hypot(problem.gamma[0], problem.gamma[1]) < problem.gamma[2]);
  }
  release();
}

/* Numbers that overflow, or are none, give a finite number of steps and no larger map. */
static void hostile_numbers_end(void) {
  static const double sizes[] = {0, 1e-300, 1e300, INFINITY, NAN};
  reserve();
  for (size_t k = 0; k < CHECK_COUNT(sizes); ++k) {
    for (int32_t at = 0; at < 3; ++at) {
      uint64_t seed = 3;
      make(4, 0, &seed);
      *(at == 0 ? entry(4, 4) : at == 1 ? &problem.q[5] : &problem.mu[1]) = sizes[k];
      sap_small_loops_of(0)->solve(&problem);
    }
  }
  for (int32_t i = 0; i < 6; ++i) { /* a contact that gives way negatively is no solution */
    uint64_t seed = 3;
    make(2, 0, &seed);
    *entry(i, i) = -1;
    const double map = sap_small_loops_of(0)->solve(&problem);
    CHECK(map >= 0 && map <= 1);
  }
  make(1, 0, &(uint64_t){1});
  memset(problem.M, 0, 3 * (size_t)problem.ld * sizeof(double));
  sap_small_loops_of(0)->solve(&problem);
  release();
}

/* W = (1 - S K)^-1 S obeys W = S + S K W. A contact without a law needs no division by it. */
static void the_operator_obeys_its_equation(void) {
  enum { N = 5, SIZE = 3 * N };
  static double S[SIZE * SAP_SMALL_UNKNOWNS], K[9 * N];
  reserve();
  for (int32_t set = 0; set < SAP_KERNEL_SETS && sap_kernels_of(set); ++set) {
    uint64_t seed = 9;
    for (int32_t k = 0; k < SIZE * SAP_SMALL_UNKNOWNS; ++k) {
      S[k] = check_random(&seed, -1, 1);
    }
    for (int32_t k = 0; k < 9 * N; ++k) {
      K[k] = k / 9 == 2 ? 0 : check_random(&seed, -1, 1);
    }
    REQUIRE(sap_small_loops_of(set)->find_operator(&problem, N, S, K));
    for (int32_t j = 0; j < SIZE; ++j) {
      double KW[SIZE] = {0};
      for (int32_t k = 0; k < SIZE; ++k) {
        for (int32_t c = 0; c < 3; ++c) {
          KW[k] += K[9 * (k / 3) + 3 * c + k % 3] * *entry(3 * (k / 3) + c, j);
        }
      }
      for (int32_t i = 0; i < SIZE; ++i) {
        double sum = S[j * SAP_SMALL_UNKNOWNS + i] - *entry(i, j);
        for (int32_t k = 0; k < SIZE; ++k) {
          sum += S[k * SAP_SMALL_UNKNOWNS + i] * KW[k];
        }
        CHECK(fabs(sum) < 1e-9);
      }
    }
    memset(K, 0, sizeof K);
    memset(S, 0, sizeof S);
    K[0] = S[0] = 1; /* 1 - S K is singular */
    CHECK(!sap_small_loops_of(set)->find_operator(&problem, N, S, K));
  }
  release();
}

static const check_test tests[] = {
    CHECK_TEST(solutions_obey_the_law),          CHECK_TEST(the_thorough_search_solves_more),
    CHECK_TEST(a_jammed_contact_sticks),         CHECK_TEST(hostile_numbers_end),
    CHECK_TEST(the_operator_obeys_its_equation),
};
CHECK_FILE(test_small_problem, tests);
