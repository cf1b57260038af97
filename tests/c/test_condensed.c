/* Tests rows that are activated beside a factor that has them as free or as fixed. The step must
 * obey the balance of momentum with them as unknowns, by sums that share no code with the solver,
 * on every instruction set. */
#include "solver/dense/condensation.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "check.h"
#include "constraints/laws/clamp.h"
#include "constraints/laws/contact_law.h"
#include "counter.h"

enum { N = 21, CONTACTS = 4, M = 3 * CONTACTS, ROWS = 30 };

static struct sap_block block;
static struct sap_dense_unknowns unknowns;
static struct sap_condensed condensed;

static void carve(void *context, struct sap_arena *arena) {
  (void)context;
  sap_dense_unknowns_carve(&unknowns, arena, N, 1);
  sap_condensed_carve(&condensed, arena, N);
}

static double A[N][N], momentum[N], J[ROWS][N], J_c[M][N], dv[N];
static struct sap_contact contact[CONTACTS];
static struct sap_condensed_row row[ROWS];
static double y_of[ROWS];

/* Sets row i, with bounds -1 and 1, and its first entry. */
static void set_row(int i, int32_t first, double R, double y) {
  y_of[i] = y;
  row[i] = (struct sap_condensed_row){.J = J[i],
                                      .first = first,
                                      .was_free = fabs(y) <= 1,
                                      .R = R,
                                      .gamma = sap_clamp_impulse(y, -1, 1),
                                      .velocity_error = R * y,
                                      .lower = -1,
                                      .upper = 1};
}

/* Lists the unknowns of the contacts. */
static void list_contacts(void) {
  struct sap_impulses *p = &unknowns.impulses;
  sap_dense_unknowns_clear(&unknowns, N, M, 1);
  p->n_contacts = CONTACTS;
  for (int i = 0; i < CONTACTS; ++i) {
    p->mu[i] = contact[i].mu;
    p->first[i + 1] = 3 * (i + 1);
  }
  for (int k = 0; k < M; ++k) {
    const struct sap_contact *law = &contact[k / 3];
    p->W[k * (p->ld + 1)] = k % 3 < 2 ? law->R_t : law->R_n;
    p->u[k] = law->v_hat[k % 3];
    for (int j = 0; j < N; ++j) {
      unknowns.J[(size_t)j * (size_t)unknowns.ld + (size_t)k] = J_c[k][j];
    }
  }
}

/* Makes rows of one velocity or of all, at v between their bounds or at one of them. */
static void make(uint64_t *seed) {
  double root[N][N];
  for (int i = 0; i < N; ++i) {
    momentum[i] = check_random(seed, -1, 1);
    for (int j = 0; j < N; ++j) {
      root[i][j] = check_random(seed, -1, 1);
    }
  }
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      A[i][j] = sap_vector_dot(N, root[i], root[j]) + (i == j);
    }
  }
  for (int k = 0; k < M; ++k) {
    for (int j = 0; j < N; ++j) {
      J_c[k][j] = check_random(seed, -1, 1);
    }
  }
  for (int i = 0; i < CONTACTS; ++i) {
    contact[i] = sap_contact_make(0.5, 1e-2, 1e-3, 0, 0, 0, check_random(seed, 0, 1));
  }
  for (int i = 0; i < ROWS; ++i) {
    const int dof = i % 3 ? (int)(check_random_bits(seed) % N) : -1;
    const double R = pow(10, check_random(seed, -4, 0)), y = check_random(seed, -2, 2);
    memset(J[i], 0, sizeof J[i]);
    for (int j = 0; j < N; ++j) {
      J[i][j] = dof < 0 || j == dof ? check_random(seed, 0.5, 1) : 0;
    }
    set_row(i, dof < 0 ? 0 : dof, R, y);
  }
}

/* Begins with all rows in their state at v. */
static void begin(const struct sap_kernels *kernels) {
  double b[N];
  list_contacts();
  for (int j = 0; j < N; ++j) {
    b[j] = -momentum[j];
    for (int i = 0; i < N; ++i) {
      unknowns.panel[(size_t)j * (size_t)unknowns.ld + (size_t)i] = A[j][i];
    }
    for (int k = 0; k < ROWS; ++k) {
      b[j] += J[k][j] * row[k].gamma;
      for (int i = 0; i < N && row[k].was_free; ++i) {
        unknowns.panel[(size_t)j * (size_t)unknowns.ld + (size_t)i] += J[k][j] * J[k][i] / row[k].R;
      }
    }
  }
  REQUIRE(sap_condensed_begin(&condensed, &unknowns, N, b, kernels));
}

/* Checks the step with the first `n_activated` rows as unknowns. Returns how many are at a
 * bound. */
static int check_step(int n_activated) {
  const struct sap_impulses *p = &unknowns.impulses;
  double left[N];
  int held = 0;
  for (int j = 0; j < N; ++j) {
    left[j] = momentum[j] + sap_vector_dot(N, A[j], dv);
  }
  for (int k = 0; k < M; ++k) {
    const struct sap_contact *law = &contact[k / 3];
    const double gap = law->v_hat[k % 3] - sap_vector_dot(N, J_c[k], dv);
    CHECK_CLOSE(p->u[k], gap - (k % 3 < 2 ? law->R_t : law->R_n) * p->gamma[k], 1e-10);
    sap_vector_add(N, -p->gamma[k], J_c[k], left);
  }
  for (int i = 0; i < ROWS; ++i) {
    const double y = y_of[i] - sap_vector_dot(N, J[i], dv) / row[i].R;
    const double as_before = row[i].was_free ? y : row[i].gamma;
    const double gamma = i < n_activated ? p->gamma[M + i] : as_before;
    if (i < n_activated) {
      CHECK_CLOSE(gamma, sap_clamp_impulse(y, -1, 1), 1e-7);
      held += fabs(gamma) == 1;
    }
    sap_vector_add(N, -gamma, J[i], left);
  }
  for (int j = 0; j < N; ++j) {
    CHECK_CLOSE(left[j], 0, 1e-8);
  }
  return held;
}

static void the_step_is_that_without_rows_that_turned(void) {
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  uint64_t seed = 351;
  REQUIRE(sap_block_carve(&block, carve, NULL, &allocator));
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    const struct sap_kernels *kernels = sap_kernels_of(set);
    int held = 0;
    for (int trial = 0; kernels && trial < 20; ++trial) {
      make(&seed);
      begin(kernels);
      for (int n = 0; n <= SAP_DENSE_UNKNOWN_ROWS; ++n) {
        sap_condensed_find(&condensed, &unknowns, kernels, sap_impulses_of(set), dv);
        held += check_step(n);
        CHECK_EQUAL(sap_condensed_add(&condensed, &unknowns, &row[n], row[n].gamma, kernels,
                                      sap_vector_loops_of(set)),
                    n < SAP_DENSE_UNKNOWN_ROWS);
      }
    }
    CHECK(!kernels || held > 500);
  }
  sap_block_release(&block, &allocator);
}

/* A row that determines a velocity by itself leaves almost nothing of d, and is not activated. */
static void rows_that_hide_all_else_stay_as_they_are(void) {
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  const struct sap_kernels *kernels = sap_kernels_best();
  uint64_t seed = 352;
  REQUIRE(sap_block_carve(&block, carve, NULL, &allocator));
  for (int stiff = 0; stiff < 2; ++stiff) {
    make(&seed);
    set_row(0, 0, stiff ? 1e-9 : 1e-3, 0.5);
    begin(kernels);
    CHECK_EQUAL(sap_condensed_add(&condensed, &unknowns, &row[0], row[0].gamma, kernels,
                                  sap_vector_loops_of(sap_kernels_best_set())),
                !stiff);
    CHECK_EQUAL(unknowns.impulses.n_rows, !stiff);
  }
  sap_block_release(&block, &allocator);
}

static const check_test tests[] = {
    CHECK_TEST(the_step_is_that_without_rows_that_turned),
    CHECK_TEST(rows_that_hide_all_else_stay_as_they_are),
};
CHECK_FILE(test_condensed, tests);
