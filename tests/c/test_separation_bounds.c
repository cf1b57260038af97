/* Tests gaps of geoms from earlier steps. */

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "check.h"
#include "step/contacts/separation_bounds.h"

enum { GEOMS = 40 };

static void rotate_about(int axis, double angle, double *R) {
  const int j = (axis + 1) % 3, k = (axis + 2) % 3;
  memset(R, 0, 9 * sizeof *R);
  R[4 * axis] = 1.0;
  R[4 * j] = R[4 * k] = cos(angle);
  R[3 * j + k] = -sin(angle);
  R[3 * k + j] = sin(angle);
}

static struct sap_separation_bounds *make_gaps(void) {
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  struct sap_separation_bounds *gaps = sap_separation_bounds_create(GEOMS, &allocator);
  CHECK(gaps != NULL);
  return gaps;
}

static void destroy(struct sap_separation_bounds *gaps) {
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  sap_separation_bounds_destroy(gaps, &allocator);
}

/* Two balls of points seen along a normal that turns with the first: gaps change by no more than is
 * said. About the normal, and across it, nothing changes. */
static void gaps_along_a_normal_change_by_no_more(void) {
  enum { POINTS = 12 };
  uint64_t seed = 7;
  for (int trial = 0; trial < 300; ++trial) {
    double points[2][POINTS][3], p[2][3], R[2][9], gap[2];
    const double p_1[3] = {0};
    double R_1[9];
    rotate_about(0, 0.0, R_1);
    for (int i = 0; i < 2 * POINTS * 3; ++i) {
      (&points[0][0][0])[i] = check_random(&seed, -0.1, 0.1);
    }
    rotate_about(trial % 3, check_random(&seed, -1, 1), R[0]);
    struct sap_separation_bound known = {.geom = {3, 7}};
    double normal[3], change = 0.0;
    memcpy(normal, R[0] + 3 * (trial % 2), sizeof normal);
    for (int time = 0; time < 2; ++time) {
      for (int j = 0; j < 3; ++j) {
        p[time][j] = 0.2 + 0.05 * check_random(&seed, -1, 1);
      }
      rotate_about(time ? 1 : 2, check_random(&seed, -1, 1), R[1]);
      double low = INFINITY, high = -INFINITY;
      for (int i = 0; i < POINTS; ++i) {
        double along = sap_vector_dot(3, p[time], normal);
        for (int j = 0; j < 3; ++j) {
          along += normal[j] * sap_vector_dot(3, R[1] + 3 * j, points[1][i]);
        }
        low = fmin(low, along);
        high = fmax(high, sap_vector_dot(3, normal, points[0][i]));
      }
      gap[time] = low - high;
      const struct sap_relative_pose pose = sap_relative_pose_of(p_1, R_1, p[time], R[1]);
      if (time == 0) {
        known.pose = pose;
        memcpy(known.normal, normal, sizeof normal);
      }
      change = sap_separation_bound_change(&known, 3, 7, normal, &pose, 0.1 * sqrt(3.0));
    }
    CHECK(fabs(gap[1] - gap[0]) <= change + 1e-12);
    CHECK(isinf(sap_separation_bound_change(&known, 7, 3, normal, &known.pose, 0.1)));
    normal[0] += 1e-6;
    CHECK(isinf(sap_separation_bound_change(&known, 3, 7, normal, &known.pose, 0.1)));
  }
  double R[2][9], p[2][3] = {{0.1, 0.2, 0.3}, {0.5, -0.4, 0.3}};
  const double z[3] = {0, 0, 1}, origin[3] = {0};
  rotate_about(2, 0.0, R[0]);
  struct sap_separation_bound known = {
      .geom = {1, 2}, .normal = {0, 0, 1}, .pose = sap_relative_pose_of(origin, R[0], p[0], R[0])};
  rotate_about(2, 0.8, R[1]);
  const struct sap_relative_pose pose = sap_relative_pose_of(origin, R[0], p[1], R[1]);
  CHECK_CLOSE(sap_separation_bound_change(&known, 1, 2, z, &pose, 1), 0, 1e-15);
}

static void entries_are_found_again(void) {
  struct sap_separation_bounds *gaps = make_gaps();
  int lost = 0;
  for (int32_t a = 0; a < 12; ++a) {
    for (int32_t b = a + 1; b < 12; ++b) {
      *sap_separation_bounds_at(gaps, a, b) =
          (struct sap_separation_bound){.geom = {a, b}, .gap = a + 0.01 * b};
    }
  }
  for (int32_t a = 0; a < 12; ++a) {
    for (int32_t b = a + 1; b < 12; ++b) {
      const struct sap_separation_bound *known = sap_separation_bounds_at(gaps, a, b);
      const int is_own = known->geom[0] == a && known->geom[1] == b;
      lost += !is_own;
      CHECK(!is_own || known->gap == a + 0.01 * b);
    }
  }
  CHECK(lost < 3);
  destroy(gaps);
}

static void another_model_is_not_known(void) {
  enum { NUMBERS = SAP_FOLLOWED_NUMBERS * GEOMS };
  double numbers[NUMBERS] = {0};
  int integers[3] = {0};
  const struct sap_followed arrays[] = {
      {numbers, sizeof numbers}, {NULL, 0}, {integers, sizeof integers}};
  for (int i = 0; i < NUMBERS + 3; i += i < NUMBERS - 37 ? 37 : 1) {
    struct sap_separation_bounds *gaps = make_gaps();
    CHECK(sap_separation_bounds_check(gaps, arrays, 3));
    *sap_separation_bounds_at(gaps, 2, 5) = (struct sap_separation_bound){.geom = {2, 5}, .gap = 1};
    CHECK(!sap_separation_bounds_check(gaps, arrays, 3));
    CHECK_EQUAL(sap_separation_bounds_at(gaps, 2, 5)->geom[1], 5);
    if (i < NUMBERS) {
      numbers[i] += 0.5;
    } else {
      ++integers[i - NUMBERS];
    }
    CHECK(sap_separation_bounds_check(gaps, arrays, 3));
    CHECK_EQUAL(sap_separation_bounds_at(gaps, 2, 5)->geom[1], 0);
    destroy(gaps);
  }
}

static void one_has_them_at_a_time(void) {
  struct sap_separation_bounds *gaps = make_gaps();
  CHECK(sap_separation_bounds_take(gaps));
  CHECK(!sap_separation_bounds_take(gaps));
  sap_separation_bounds_leave(gaps);
  CHECK(sap_separation_bounds_take(gaps));
  destroy(gaps);
}

static const check_test tests[] = {
    CHECK_TEST(gaps_along_a_normal_change_by_no_more),
    CHECK_TEST(entries_are_found_again),
    CHECK_TEST(another_model_is_not_known),
    CHECK_TEST(one_has_them_at_a_time),
};
CHECK_FILE(test_separation_bounds, tests);
