/* Tests the loops over contacts that follow the dual, on every instruction set, against the
 * formulas of solver/newton/direction.h written contact by contact, and the properties of those
 * formulas. */
#include <math.h>

#include "check.h"
#include "constraints/laws.h"
#include "linalg/kernels/kernels.h"

enum { MOST = 67 }; /* no multiple of a vector width */

static struct sap_pool pool;
static _Alignas(SAP_ALIGNMENT) unsigned char room[64 * 1024];

/* Makes contacts of all kinds at random velocities, with the solver's y, slip, G and gamma. */
static void fill(const struct sap_law_loops *loops, double soft_norm, uint64_t *seed) {
  struct sap_arena arena = {room, 0};
  sap_pool_carve(&pool, &arena, MOST, (const int8_t[SAP_N_LAWS]){0});
  REQUIRE(arena.used <= sizeof room);
  pool.soft = soft_norm * soft_norm;
  for (int32_t i = 0; i < MOST; ++i) {
    pool.contact.mu[i] = i % 7 ? check_random(seed, 0, 1.5) : 0;
    pool.contact.R_t[i] = pow(10, check_random(seed, -4, 0));
    pool.contact.R_n[i] = pow(10, check_random(seed, -3, 1));
    for (int r = 0; r < 3; ++r) {
      pool.v_hat[r][i] = check_random(seed, -0.3, 0.3);
      pool.v_c[r][i] = check_random(seed, -1, 1);
      pool.dv_c[r][i] = check_random(seed, -1, 1);
    }
  }
  REQUIRE(loops->derive(&pool, 0, MOST));
  loops->evaluate(&pool, 0, MOST);
}

/* Is the symmetric matrix (a, b; b, c) positive semidefinite to round-off? */
static int semidefinite(double a, double b, double c) {
  const double size = fabs(a) + fabs(b) + fabs(c);
  return a >= -1e-14 * size && c >= -1e-14 * size && a * c - b * b >= -1e-13 * size * size;
}

static void dual_is_the_linearized_law_in_the_cone(void) {
  uint64_t seed = 61;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (!sap_kernels_of(set)) {
      continue;
    }
    const struct sap_law_loops *loops = sap_laws[SAP_LAW_CONTACT]->loops[set];
    fill(loops, 0, &seed);
    loops->predict(&pool, 0, MOST);
    for (int32_t i = 0; i < MOST; ++i) {
      const int entry[3][3] = {{SAP_G_11, SAP_G_12, SAP_G_1N},
                               {SAP_G_12, SAP_G_22, SAP_G_2N},
                               {SAP_G_1N, SAP_G_2N, SAP_G_NN}};
      double next[3];
      for (int r = 0; r < 3; ++r) {
        next[r] = pool.gamma[r][i];
        for (int c = 0; c < 3; ++c) {
          next[r] -= pool.G[entry[r][c]][i] * pool.dv_c[c][i];
        }
      }
      const double w_1 = pool.dual[0][i], w_2 = pool.dual[1][i], normal = pool.dual[2][i];
      const double size = 1e-11 * (fabs(next[0]) + fabs(next[1]) + fabs(next[2]) + 1);
      CHECK_CLOSE(normal, fmax(next[2], 0), size);
      CHECK(w_1 * w_1 + w_2 * w_2 <= 1 + 1e-14);
      /* gamma_t' is along w, and is mu gamma_n' w where that is possible */
      const double bound = fmax(pool.contact.mu[i] * normal, hypot(next[0], next[1]));
      CHECK_CLOSE(bound * w_1, next[0], size);
      CHECK_CLOSE(bound * w_2, next[1], size);
    }
  }
}

/* Without a step w = t and gamma_n' = gamma_n where a contact slides, and G is the law's. */
static void own_dual_changes_nothing(void) {
  uint64_t seed = 62;
  int slides = 0;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (!sap_kernels_of(set)) {
      continue;
    }
    const struct sap_law_loops *loops = sap_laws[SAP_LAW_CONTACT]->loops[set];
    fill(loops, 0, &seed);
    double G[SAP_G_ENTRIES][MOST];
    for (int32_t i = 0; i < MOST; ++i) {
      pool.dv_c[0][i] = pool.dv_c[1][i] = pool.dv_c[2][i] = 0;
      for (int e = 0; e < SAP_G_ENTRIES; ++e) {
        G[e][i] = pool.G[e][i];
      }
      slides += pool.contact.region[i] == SAP_SLIDING;
    }
    loops->predict(&pool, 0, MOST);
    loops->blend(&pool, 0, MOST);
    for (int32_t i = 0; i < MOST; ++i) {
      for (int e = 0; e < SAP_G_ENTRIES; ++e) {
        CHECK_CLOSE(pool.G[e][i], G[e][i], 1e-12 * pool.contact.inverse_R_t[i]);
      }
    }
  }
  CHECK(slides > MOST / 4);
}

/* For any step, G is positive semidefinite and no stiffer than stiction plus the law's own part. */
static void blended_curvature_is_bounded(void) {
  uint64_t seed = 63;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (!sap_kernels_of(set)) {
      continue;
    }
    const struct sap_law_loops *loops = sap_laws[SAP_LAW_CONTACT]->loops[set];
    for (int trial = 0; trial < 50; ++trial) {
      fill(loops, trial % 2 ? 1e-2 : 0, &seed);
      loops->predict(&pool, 0, MOST);
      for (int32_t i = 0; i < MOST; ++i) {
        pool.dual[2][i] *= pow(10, trial % 5 - 2);
      }
      loops->evaluate(&pool, 0, MOST);
      loops->blend(&pool, 0, MOST);
      for (int32_t i = 0; i < MOST; ++i) {
        /* G less the part along (mu t, 1), which is the law's and semidefinite */
        const double t_1 = pool.contact.slip[0][i], t_2 = pool.contact.slip[1][i];
        const double normal = pool.contact.mu[i] * pool.contact.mu[i] * pool.G[SAP_G_NN][i];
        const double G_11 = pool.G[SAP_G_11][i] - normal * t_1 * t_1;
        const double G_12 = pool.G[SAP_G_12][i] - normal * t_1 * t_2;
        const double G_22 = pool.G[SAP_G_22][i] - normal * t_2 * t_2;
        const double most = pool.contact.inverse_R_t[i] * (1 + 1e-12) + 1e-12 * normal;
        CHECK(semidefinite(G_11 + 1e-12 * most, G_12, G_22 + 1e-12 * most));
        CHECK(semidefinite(most - G_11, -G_12, most - G_22));
      }
    }
  }
}

static const check_test tests[] = {
    CHECK_TEST(dual_is_the_linearized_law_in_the_cone),
    CHECK_TEST(own_dual_changes_nothing),
    CHECK_TEST(blended_curvature_is_bounded),
};
CHECK_FILE(test_contact_pool, tests);
