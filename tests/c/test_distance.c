/* Tests the nearest point of a polyhedron: its optimality, and the start of the search. */
#include "check.h"
#include "invdyn/distance.h"

enum { D = 6, ROWS = 12, MANY = 80 };

static struct invdyn_distance distance;
static struct sap_block block;

static void carve(void *context, struct sap_arena *arena) {
  invdyn_distance_carve(context, ROWS, D, arena);
}

/* Every second row is twice the row before it. The first two may be equalities. All rows allow a
 * point that is drawn. */
static void load(int32_t d, int32_t pairs, int has_equality, uint64_t *seed) {
  double inside[D];
  distance.d = d;
  distance.n = distance.ld = 2 * pairs;
  distance.negligible = 0;
  for (int32_t i = 0; i < d; ++i) {
    inside[i] = check_random(seed, -1, 1);
    distance.x0[i] = check_random(seed, -3, 3);
  }
  for (int32_t j = 0; j < 2 * pairs; j += 2) {
    distance.equal[j] = distance.equal[j + 1] = has_equality && j == 0;
    distance.b[j] = distance.equal[j] ? 0 : -check_random(seed, 0, 1);
    for (int32_t i = 0; i < d; ++i) {
      const double entry = check_random(seed, -1, 1);
      distance.At[i * distance.ld + j] = entry;
      distance.At[i * distance.ld + j + 1] = 2 * entry;
      distance.b[j] += entry * inside[i];
    }
    distance.b[j + 1] = 2 * distance.b[j];
  }
}

/* Checks x = x0 + A^T u, A x >= b, u >= 0, u (A x - b) = 0. */
static void check_nearest(void) {
  double step[D] = {0};
  for (int32_t j = 0; j < distance.n; ++j) {
    double over = -distance.b[j];
    for (int32_t i = 0; i < distance.d; ++i) {
      over += distance.At[i * distance.ld + j] * distance.x[i];
      step[i] += distance.At[i * distance.ld + j] * distance.u[j];
    }
    CHECK(over >= -1e-9);
    CHECK(distance.equal[j] || distance.u[j] >= 0);
    CHECK_CLOSE(over * distance.u[j], 0, 1e-8);
  }
  for (int32_t i = 0; i < distance.d; ++i) {
    CHECK_CLOSE(distance.x[i] - distance.x0[i], step[i], 1e-9);
  }
}

/* The search ends at the nearest point from any start. It takes no pivot from the active rows and
 * others that depend on them. */
static void every_start_leads_to_the_nearest_point(void) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  uint64_t seed = 11;
  int n_active = 0;
  REQUIRE(sap_block_carve(&block, carve, &distance, &memory));
  for (int trial = 0; trial < 300; ++trial) {
    int8_t start[ROWS];
    load(1 + trial % D, 1 + trial % (ROWS / 2), trial % 3 == 0, &seed);
    CHECK_EQUAL(invdyn_distance_solve(&distance, NULL), INVDYN_NEAREST);
    check_nearest();
    for (int32_t j = 0; j < distance.n; ++j) {
      start[j] = (int8_t)(distance.is_active[j] || distance.is_active[j ^ 1]);
      n_active += distance.is_active[j];
    }
    CHECK_EQUAL(invdyn_distance_solve(&distance, start), INVDYN_NEAREST);
    CHECK_EQUAL(distance.pivots, distance.equal[0]);
    check_nearest();
    for (int32_t j = 0; j < distance.n; ++j) {
      start[j] = check_random_bits(&seed) % 2;
    }
    CHECK_EQUAL(invdyn_distance_solve(&distance, start), INVDYN_NEAREST);
    check_nearest();
    distance.x0[0] += 0.1;
    CHECK_EQUAL(invdyn_distance_resume(&distance), INVDYN_NEAREST);
    check_nearest();
  }
  CHECK(n_active > 300);
  sap_block_release(&block, &memory);
}

static void carve_many(void *context, struct sap_arena *arena) {
  invdyn_distance_carve(context, MANY, MANY, arena);
}

/* Next to x0 = -1, -2, ... every row of x >= 0, or of x = 0, enters by a pivot of its own. */
static void many_rows_take_many_pivots(void) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  REQUIRE(sap_block_carve_zeros(&block, carve_many, &distance, &memory));
  distance.d = distance.n = distance.ld = MANY;
  for (unsigned char equal = 0; equal < 2; ++equal) {
    for (int32_t i = 0; i < MANY; ++i) {
      distance.At[i * (MANY + 1)] = 1;
      distance.x0[i] = -1 - i;
      distance.equal[i] = equal;
    }
    CHECK_EQUAL(invdyn_distance_solve(&distance, NULL), INVDYN_NEAREST);
    CHECK_EQUAL(distance.pivots, MANY);
    for (int32_t i = 0; i < MANY; ++i) {
      CHECK_CLOSE(distance.x[i], 0, 1e-12);
      CHECK_CLOSE(distance.u[i], 1 + i, 1e-12 * MANY);
    }
  }
  sap_block_release(&block, &memory);
}

static const check_test tests[] = {CHECK_TEST(every_start_leads_to_the_nearest_point),
                                   CHECK_TEST(many_rows_take_many_pivots)};
CHECK_FILE(test_distance, tests);
