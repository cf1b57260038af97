/* Tests lower bounds of the gaps between bodies from earlier steps. */

#include <math.h>
#include <string.h>

#include "check.h"
#include "step/contacts/body_separation.h"

enum { GEOMS = 4, BODIES = 3 };

struct scene {
  struct sap_body_separation gaps;
  struct sap_block block;
  double centre[3 * GEOMS], axes[9 * GEOMS];
};

static void carve(void *context, struct sap_arena *arena) {
  sap_body_separation_carve(context, arena);
}

/* Makes a geom that stays, a body of two and one of one; all of them are 0.1 m thick. */
static void make(struct scene *s) {
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  memset(s, 0, sizeof *s);
  s->gaps.n_geoms = GEOMS;
  CHECK(sap_block_carve(&s->block, carve, &s->gaps, &allocator));
  s->gaps.n = BODIES;
  s->gaps.first = 1;
  s->gaps.body[0] = (struct sap_geom_body){.id = 0, .first = 0, .end = 1};
  s->gaps.body[1] = (struct sap_geom_body){.id = 1, .first = 1, .end = 3};
  s->gaps.body[2] = (struct sap_geom_body){.id = 2, .first = 3, .end = 4};
  for (int g = 0; g < GEOMS; ++g) {
    s->gaps.reach[g] = 0.1;
    s->centre[3 * g] = g;
    for (int k = 0; k < 3; ++k) {
      s->axes[9 * g + 4 * k] = 1.0;
    }
  }
}

static void destroy(struct scene *s) {
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  sap_block_release(&s->block, &allocator);
}

static void follow(struct scene *s) { sap_body_separation_follow(&s->gaps, s->centre, s->axes); }

static void turn(double *R, int axis, double angle) {
  const int j = (axis + 1) % 3, k = (axis + 2) % 3;
  for (int col = 0; col < 3; ++col) {
    const double a = R[3 * j + col], b = R[3 * k + col];
    R[3 * j + col] = cos(angle) * a - sin(angle) * b;
    R[3 * k + col] = sin(angle) * a + cos(angle) * b;
  }
}

static void nothing_is_known_at_first(void) {
  struct scene s;
  make(&s);
  follow(&s);
  for (int i = 0; i < BODIES; ++i) {
    for (int j = sap_first_after(&s.gaps, i); j < BODIES; ++j) {
      CHECK(*sap_body_separation_bound(&s.gaps, i, j) == -INFINITY);
    }
    CHECK_EQUAL(s.gaps.moved[i], 0);
  }
  destroy(&s);
}

/* No point of a geom moves farther than is counted, whichever of the geoms of its body moves. */
static void points_move_less_than_is_counted(void) {
  uint64_t seed = 3;
  for (int trial = 0; trial < 200; ++trial) {
    struct scene s;
    double point[3], before[3], after[3], square = 0.0, length = 0.0;
    const int g = 1 + trial % 2;
    make(&s);
    follow(&s);
    for (int k = 0; k < 3; ++k) {
      point[k] = check_random(&seed, -1, 1);
      length += point[k] * point[k];
    }
    for (int k = 0; k < 3; ++k) {
      point[k] *= 0.1 / sqrt(length);
    }
    for (int step = 0; step < 3; ++step) {
      for (int k = 0; k < 3; ++k) {
        before[k] = s.centre[3 * g + k];
        for (int j = 0; j < 3; ++j) {
          before[k] += s.axes[9 * g + 3 * k + j] * point[j];
        }
      }
      turn(s.axes + 9 * (ptrdiff_t)g, step, check_random(&seed, -0.2, 0.2));
      for (int k = 0; k < 3; ++k) {
        s.centre[3 * g + k] += trial % 3 ? check_random(&seed, -0.01, 0.01) : 0.0;
        after[k] = s.centre[3 * g + k];
        for (int j = 0; j < 3; ++j) {
          after[k] += s.axes[9 * g + 3 * k + j] * point[j];
        }
      }
      const double moved = s.gaps.moved[1];
      follow(&s);
      square = 0.0;
      for (int k = 0; k < 3; ++k) {
        square += (after[k] - before[k]) * (after[k] - before[k]);
      }
      CHECK(s.gaps.moved[1] - moved >= sqrt(square) - 1e-15);
      CHECK(s.gaps.moved[1] - moved < 0.5);
      CHECK_EQUAL(s.gaps.moved[2], 0);
    }
    destroy(&s);
  }
}

/* The bodies 1 and 2 are 0.5 m apart, and both come nearer. */
static void what_both_have_moved_is_lost(void) {
  struct scene s;
  make(&s);
  follow(&s);
  for (int way = 1; way >= -1; way -= 2) { /* there and back, before they are seen */
    s.centre[9] += way;
    follow(&s);
  }
  sap_body_separation_keep(&s.gaps, 0, 1, INFINITY);
  sap_body_separation_keep(&s.gaps, 0, 2, INFINITY);
  sap_body_separation_keep(&s.gaps, 1, 2, 0.5);
  int64_t near = 0;
  int steps = 0;
  for (; near == 0 && steps < 100; ++steps) {
    double spent[BODIES];
    s.centre[3] += 0.01;
    s.centre[6] += 0.01;
    s.centre[9] -= 0.01;
    follow(&s);
    for (int i = 0; i < BODIES; ++i) {
      spent[i] = s.gaps.moved[i] + 0.05;
    }
    CHECK_EQUAL(sap_body_separation_near(&s.gaps, 0, spent), 0);
    near = sap_body_separation_near(&s.gaps, 1, spent);
  }
  /* 0.4 m are left: 20 steps, or fewer by sqrt(2) */
  CHECK_EQUAL(near, 1);
  CHECK(steps <= 20 && steps >= 14);
  destroy(&s);
}

/* Sums that grow too large, and those that are no number, forget all. */
static void far_ways_forget_all(void) {
  const double far[] = {1e3, INFINITY, NAN};
  for (int i = 0; i < 3; ++i) {
    struct scene s;
    make(&s);
    follow(&s);
    sap_body_separation_keep(&s.gaps, 1, 2, 0.5);
    s.centre[3 + i % 2] = far[i];
    follow(&s);
    CHECK(*sap_body_separation_bound(&s.gaps, 1, 2) == -INFINITY);
    destroy(&s);
  }
}

/* Static geoms may be listed after moving ones, each as a body of its own: there is room for
 * all. */
static void there_is_room_for_pairs_of_all_geoms(void) {
  enum { MANY = 60 };
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  struct sap_block block = {0};
  struct sap_body_separation gaps = {.n_geoms = MANY};
  REQUIRE(sap_block_carve(&block, carve, &gaps, &allocator));
  gaps.n = MANY;
  sap_body_separation_forget(&gaps);
  const double *last = sap_body_separation_bound(&gaps, MANY - 1, MANY - 1);
  CHECK(*last == -INFINITY);
  CHECK((const unsigned char *)(last + 1) <= block.base + block.capacity);
  sap_block_release(&block, &allocator);
}

static const check_test tests[] = {
    CHECK_TEST(nothing_is_known_at_first),
    CHECK_TEST(points_move_less_than_is_counted),
    CHECK_TEST(what_both_have_moved_is_lost),
    CHECK_TEST(far_ways_forget_all),
    CHECK_TEST(there_is_room_for_pairs_of_all_geoms),
};
CHECK_FILE(test_body_separation, tests);
