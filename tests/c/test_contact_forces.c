/* Tests the forces of contacts on chosen geoms. */

#include <math.h>

#include "check.h"
#include "step/contact_forces.h"

enum { N_GEOMS = 4, N = 2 };

/* Geoms 3 and 1 are chosen; contacts with geom 2 do not count. */
struct results {
  int32_t column[N_GEOMS];
  uint8_t meets[N_GEOMS], acting[N];
  double force[3 * N], air_time[N], since[N];
};

static struct sap_contact_forces begin(struct results *r) {
  *r = (struct results){
      .column = {-1, 1, -1, 0}, .meets = {1, 1, 0, 1}, .since = {NAN, NAN}, .force = {9.0}};
  return (struct sap_contact_forces){.n = N,
                                     .n_geoms = N_GEOMS,
                                     .column = r->column,
                                     .meets = r->meets,
                                     .acting = r->acting,
                                     .force = r->force,
                                     .air_time = r->air_time,
                                     .since = r->since};
}

/* A contact whose axes t1, t2, n are y, z and x of the world. */
static sap_contact_record contact(int32_t one, int32_t two, double t1, double t2, double n) {
  return (sap_contact_record){
      .geom = {one, two}, .force = {t1, t2, n}, .frame = {0, 1, 0, 0, 0, 1, 1, 0, 0}};
}

static void forces_are_opposite_on_both_sides(void) {
  struct results r;
  const struct sap_contact_forces forces = begin(&r);
  const sap_contact_record both = contact(1, 3, 1.0, 2.0, 3.0);
  sap_contact_forces_clear(&forces);
  sap_contact_forces_add(&forces, &both);
  const double expected[6] = {3.0, 1.0, 2.0, -3.0, -1.0, -2.0};
  for (int i = 0; i < 6; ++i) {
    CHECK_EQUAL(r.force[i], expected[i]);
  }
  CHECK(r.acting[0] && r.acting[1]);
}

static void others_do_not_count(void) {
  struct results r;
  const struct sap_contact_forces forces = begin(&r);
  const sap_contact_record left_out[] = {
      contact(2, 3, 1.0, 1.0, 1.0),  /* not met */
      contact(0, 2, 1.0, 1.0, 1.0),  /* not chosen */
      contact(0, 1, 0.0, 0.0, 0.0),  /* without force */
      contact(-1, 3, 1.0, 1.0, 1.0), /* a geom of a flex */
      contact(3, 9, 1.0, 1.0, 1.0),  /* a geom of another model */
  };
  sap_contact_forces_clear(&forces);
  for (size_t i = 0; i < sizeof left_out / sizeof *left_out; ++i) {
    sap_contact_forces_add(&forces, left_out + i);
  }
  for (int i = 0; i < 3 * N; ++i) {
    CHECK_EQUAL(r.force[i], 0.0);
  }
  CHECK(!r.acting[0] && !r.acting[1]);
}

static void air_time_counts_from_the_last_touch(void) {
  struct results r;
  const struct sap_contact_forces forces = begin(&r);
  const sap_contact_record touch = contact(0, 3, 0.0, 0.0, 1.0);
  sap_contact_forces_end(&forces, 2.0);
  CHECK(r.air_time[0] == 0.0 && r.air_time[1] == 0.0);
  sap_contact_forces_add(&forces, &touch);
  sap_contact_forces_end(&forces, 3.0);
  CHECK(r.air_time[0] == 0.0 && r.air_time[1] == 1.0);
  sap_contact_forces_clear(&forces);
  sap_contact_forces_end(&forces, 3.5);
  CHECK(r.air_time[0] == 0.5 && r.air_time[1] == 1.5);
  sap_contact_forces_end(&forces, 0.5);
  CHECK(r.air_time[0] == 0.0 && r.air_time[1] == 0.0);
}

static const check_test tests[] = {
    CHECK_TEST(forces_are_opposite_on_both_sides),
    CHECK_TEST(others_do_not_count),
    CHECK_TEST(air_time_counts_from_the_last_touch),
};
CHECK_FILE(test_contact_forces, tests);
