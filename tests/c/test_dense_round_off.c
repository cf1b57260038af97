/* Tests what round-off changes of contacts in dense storage: the bounds of the certificate cover
 * sums that lose their small terms. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "solver/solver_object.h"

enum { LONG = 4096, STRIDE = 64 };

/* A frictionless contact. */
static struct sap_dense_contact contact_of(const double *J, double R_n, double v_hat) {
  return (struct sap_dense_contact){.law = {.mu = 0,
                                            .R_t = 1,
                                            .R_n = R_n,
                                            .inverse_R_t = 1,
                                            .inverse_R_n = 1 / R_n,
                                            .share = 1,
                                            .inverse_share = 1,
                                            .v_hat = {0, 0, v_hat}},
                                    .J = J};
}

/* The sum v_c of 1 and 63 numbers loses each of them in round-off. The bound covers the error of
 * the impulse (2 - v_c)/R_n. */
static void bounds_cover_velocities_that_are_rounded(void) {
  static double J[3 * LONG], v[LONG], impulse[LONG], e[LONG];
  const double small = 0.49 * 0x1p-52, R_n = 0.25;
  for (int32_t j = 0; j < LONG; j += STRIDE) {
    J[2 * LONG + j] = 1;
    v[j] = j == 0 ? 1 : small;
  }
  for (int32_t set = 0; set <= sap_kernels_best_set(); ++set) {
    const struct sap_vector_loops *loops = sap_vector_loops_of(set);
    struct sap_dense_contact contact = contact_of(J, R_n, 2);
    memset(e, 0, sizeof e);
    sap_dense_contact_evaluate(&contact, loops, LONG, v, impulse);
    sap_dense_contact_certify(&contact, loops, LONG, v, 1, e);
    const double lost = (contact.v_c[2] - 1) - (LONG / STRIDE - 1) * small;
    CHECK(fabs(lost) > 60 * small);
    CHECK(e[0] >= fabs(lost) / R_n);
    CHECK(e[0] <= 2 * LONG * 0x1p-52 / R_n);
  }
}

/* J^T gamma sums 1 and 99 impulses, each of which round-off loses. The bound covers their sum. */
static void bounds_cover_impulses_that_are_rounded(void) {
  enum { CONTACTS = 100 };
  static const double J[3] = {0, 0, 1}, v[1] = {0};
  const double small = 0.49 * 0x1p-52;
  const struct sap_vector_loops *loops = sap_vector_loops_of(sap_kernels_best_set());
  double impulse = 0, e = 0;
  for (int i = 0; i < CONTACTS; ++i) {
    struct sap_dense_contact contact = contact_of(J, 1, i == 0 ? 1 : small);
    sap_dense_contact_evaluate(&contact, loops, 1, v, &impulse);
    sap_dense_contact_certify(&contact, loops, 1, v, CONTACTS + 2, &e);
  }
  CHECK_CLOSE(impulse, 1, 0);
  CHECK(e >= (CONTACTS - 1) * small);
  CHECK(e <= 2 * CONTACTS * 0x1p-52);
}

static const check_test tests[] = {
    CHECK_TEST(bounds_cover_velocities_that_are_rounded),
    CHECK_TEST(bounds_cover_impulses_that_are_rounded),
};
CHECK_FILE(test_dense_round_off, tests);
