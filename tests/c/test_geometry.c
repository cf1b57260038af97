/* Tests contact surfaces: polygons, the rules of shapes and pairs, memory. */
#include "counter.h"
#include "geometry/intersect.h"
#include "octahedron.h"

static struct geo_four four_of(const struct geo_vec x[4]) {
  struct geo_four four;
  for (int k = 0; k < 4; ++k) {
    geo_to_four(x[k], &four, k);
  }
  return four;
}

/* ---- polygons ---- */

/* A plane in a tetrahedron: corners on it, in order about where s rises, as many as there must
 * be. */
static void cuts(void) {
  uint64_t seed = 1;
  for (int trial = 0; trial < 2000; ++trial) {
    struct geo_vec x[4];
    double s[4];
    struct geo_cut cut;
    for (int k = 0; k < 4; ++k) {
      x[k] = random_vec(&seed);
    }
    const struct geo_vec e1 = geo_sub(x[1], x[0]);
    const struct geo_vec e2 = geo_sub(x[2], x[0]);
    if (geo_dot(geo_cross(e1, e2), geo_sub(x[3], x[0])) < 0) {
      const struct geo_vec swapped = x[0];
      x[0] = x[1];
      x[1] = swapped;
    }
    const struct geo_vec g = random_vec(&seed);
    const double offset = check_random(&seed, -1, 1);
    int positive = 0;
    for (int k = 0; k < 4; ++k) {
      s[k] = geo_dot(g, x[k]) - offset;
      positive += s[k] > 0;
    }
    const struct geo_four four = four_of(x);
    geo_cut_tetrahedron(&four, s, &cut);
    CHECK_EQUAL(cut.n, positive % 4 == 0 ? 0 : positive == 2 ? 4 : 3);
    for (int k = 0; k < cut.n; ++k) {
      const struct geo_vec here = cut.v[k];
      const struct geo_vec next = cut.v[(k + 1) % cut.n];
      const struct geo_vec after = cut.v[(k + 2) % cut.n];
      CHECK_CLOSE(geo_dot(g, here), offset, 1e-13);
      CHECK(geo_dot(g, geo_cross(geo_sub(next, here), geo_sub(after, next))) > 0);
      /* consecutive corners are on one face, and its edges have three vertices between them */
      CHECK_EQUAL(__builtin_popcount((unsigned)(cut.edge[k] | cut.edge[(k + 1) % cut.n])), 3);
    }
  }
}

/* If s is zero on a whole face, exactly one of its cells has the polygon. */
static void cuts_along_a_face(void) {
  const struct geo_vec x[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const struct geo_four four = four_of(x);
  struct geo_cut cut;
  geo_cut_tetrahedron(&four, (double[]){0, 0, 0, 1}, &cut);
  CHECK_EQUAL(cut.n, 3);
  for (int k = 0; k < cut.n; ++k) {
    CHECK(cut.v[k].z == 0);
  }
  geo_cut_tetrahedron(&four, (double[]){0, 0, 0, -1}, &cut);
  CHECK_EQUAL(cut.n, 0);
}

static struct geo_polygon square(void) {
  return (struct geo_polygon){4, {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}};
}

/* Both sides of a line add up to the square. */
static void clips(void) {
  const struct geo_vec up = {0, 0, 1};
  uint64_t seed = 2;
  for (int trial = 0; trial < 2000; ++trial) {
    const struct geo_vec n = random_vec(&seed);
    const double offset = check_random(&seed, -1, 1);
    struct geo_polygon one = square();
    struct geo_polygon other = square();
    struct geo_vec c = {0, 0, 0};
    struct geo_vec d = {0, 0, 0};
    geo_clip(&one, n, offset, 1);
    geo_clip(&other, geo_scale(-1, n), -offset, 0);
    const double area = one.n ? geo_area(&one, up, &c) : 0;
    const double rest = other.n ? geo_area(&other, up, &d) : 0;
    CHECK_CLOSE(area + rest, 1, 1e-14);
    CHECK_CLOSE(area * c.x + rest * d.x, 0.5, 1e-14);
    CHECK(one.n <= 5 && other.n <= 5);
  }
  /* in the plane of a face: of the one that owns it */
  struct geo_polygon owned = square();
  struct geo_polygon lent = square();
  geo_clip(&owned, up, 0, 1);
  geo_clip(&lent, geo_scale(-1, up), 0, 0);
  CHECK_EQUAL(owned.n, 4);
  CHECK_EQUAL(lent.n, 0);
}

static void corners_are_merged(void) {
  struct geo_polygon p = {
      6, {{0, 0, 0}, {1e-15, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 1e-15, 0}}};
  geo_tidy(&p);
  CHECK_EQUAL(p.n, 4);
  struct geo_polygon wider = {4, {{0, 0, 0}, {2e-14, 0, 0}, {1, 1, 0}, {0, 1, 0}}};
  geo_tidy(&wider);
  CHECK_EQUAL(wider.n, 4);
  struct geo_polygon line = {4, {{0, 0, 0}, {1, 0, 0}, {1, 1e-15, 0}, {0, 5e-15, 0}}};
  geo_tidy(&line);
  CHECK_EQUAL(line.n, 0);
  struct geo_polygon flat = {3, {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}};
  struct geo_vec c;
  CHECK(geo_area(&flat, (struct geo_vec){0, 0, 1}, &c) == 0);
}

/* ---- surfaces ---- */

static const geo_arrays ground = {.kind = GEO_HALF_SPACE};
static const geo_arrays foam = {.kind = GEO_COMPLIANT_HALF_SPACE, .slope = 1e6, .margin = 0.1};
static const geo_pose at_origin = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};

static geo_pose raised(double z) {
  geo_pose pose = at_origin;
  pose.t[2] = z;
  return pose;
}

/* A slice of the octahedron at height z is a square of area 2 (1 - z)^2. */
static void slice_of_an_octahedron(void) {
  geo_shape *ball = shape_of(&soft);
  geo_shape *floor = shape_of(&ground);
  geo_workspace *work;
  REQUIRE(geo_workspace_create(&work, NULL) == SAP_OK);
  /* the last is in the plane of four faces */
  const double heights[] = {0.5, 0.25, -0.5, 0};
  for (int i = 0; i < 4; ++i) {
    const geo_pair pair = {ball, floor, raised(-heights[i]), at_origin};
    geo_surfaces s;
    REQUIRE(geo_contact_surfaces(work, 1, &pair, GEO_POLYGONS, &s, NULL) == SAP_OK);
    const double side_length = 1 - fabs(heights[i]);
    CHECK_EQUAL(s.n_faces, 4);
    double area = 0;
    for (int f = 0; f < s.n_faces; ++f) {
      area += s.area[f];
      CHECK_CLOSE(s.normal[3 * f + 2], 1, 1e-15);
      CHECK_CLOSE(s.load[f], s.area[f] * s.p0[f], 0);
      CHECK(isinf(s.g_b[f]));
    }
    CHECK_CLOSE(area, 2 * side_length * side_length, 1e-13);
    /* a pyramid of pressure */
    CHECK_CLOSE(s.force[2], 1e5 * area * side_length / 3, 1e-8);
  }
  geo_workspace_destroy(work);
  geo_shape_destroy(floor);
  geo_shape_destroy(ball);
}

/* Returns the area where p = z of a large tetrahedron meets p = -z of one with these vertices. */
static double area_between(const struct geo_vec v[4], const int32_t order[4]) {
  static const double around[] = {-9, -9, -9, 27, -9, -9, -9, 27, -9, -9, -9, 27};
  static const double rising[] = {-9, -9, -9, 27};
  static const int32_t cell[] = {0, 1, 2, 3};
  double vertices[12], falling[4];
  for (int k = 0; k < 4; ++k) {
    const struct geo_vec x = v[order[k]];
    vertices[3 * k] = x.x;
    vertices[3 * k + 1] = x.y;
    vertices[3 * k + 2] = x.z;
    falling[k] = -x.z;
  }
  const geo_arrays up = {GEO_TETRAHEDRA, 4, 1, around, cell, rising, 0, 0};
  const geo_arrays down = {GEO_TETRAHEDRA, 4, 1, vertices, cell, falling, 0, 0};
  geo_shape *a = shape_of(&up), *b = shape_of(&down);
  const struct geo_view view = {identity, identity, 0, 1e-6};
  struct geo_face face;
  struct geo_vec centroid;
  double area = 0;
  a->tetrahedra->field = (struct geo_field){{0, 0, 1}, 0, 1}; /* to the last bit */
  b->tetrahedra->field = (struct geo_field){{0, 0, -1}, 0, 1};
  if (geo_meet_fields(a->tetrahedra, b->tetrahedra, &view, &face)) {
    area = geo_area(&face.polygon, face.n, &centroid);
  }
  geo_shape_destroy(a);
  geo_shape_destroy(b);
  return area;
}

/* These orders of four vertices keep the sign of the volume. */
static const int32_t orders[12][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {1, 0, 3, 2},
                                      {1, 2, 0, 3}, {1, 3, 2, 0}, {2, 0, 1, 3}, {2, 1, 3, 0},
                                      {2, 3, 0, 1}, {3, 0, 2, 1}, {3, 1, 0, 2}, {3, 2, 1, 0}};

/* The surface z = 0 runs along a face whose corners are at `high`, `high` and -`low`. It covers the
 * face but for the part at the third corner. */
static void check_along_a_face(double high, double low) {
  const struct geo_vec v[4] = {{4, 0.01, high}, {3, 1, high}, {3.4, 0.4, -low}, {3.2, 0.3, -1}};
  const double whole = 0.102, part = low / (high + low);
  for (size_t k = 0; k < CHECK_COUNT(orders); ++k) {
    const int32_t swapped[] = {orders[k][1], orders[k][0], orders[k][2], orders[k][3]};
    CHECK_CLOSE(area_between(v, swapped), whole * (1 - part * part), 1e-5);
  }
}

static void surfaces_along_a_face_end_where_it_does(void) {
  check_along_a_face(1e-8, 1e-8);
  check_along_a_face(1e-8, 3e-8);
  check_along_a_face(3e-8, 1e-8);
}

/* The edge at the corner is so short that round-off decides its direction. */
static void edges_without_a_direction_clip_nothing(void) {
  for (int k = 1; k < 40; ++k) {
    check_along_a_face(1e-8, 1e-24 * k);
  }
}

/* Room for faces grows by itself; nothing is allocated if there is enough. */
static void memory_of_surfaces(void) {
  geo_shape *ball = shape_of(&soft);
  geo_shape *hard = shape_of(&rigid);
  geo_shape *floor = shape_of(&ground);
  geo_shape *pad = shape_of(&foam);
  static geo_pair pairs[200];
  for (int i = 0; i < 200; ++i) {
    const double z = -0.004 * i;
    pairs[i] = i % 4 == 0   ? (geo_pair){ball, floor, raised(z), at_origin}
               : i % 4 == 1 ? (geo_pair){ball, hard, raised(1 + z), at_origin}
               : i % 4 == 2 ? (geo_pair){hard, pad, raised(z), at_origin}
                            : (geo_pair){ball, ball, raised(1 + z), at_origin};
  }
  geo_surfaces s;
  for (long fail_at = 0; fail_at < 3; ++fail_at) {
    struct counter counter = {.fail_at = fail_at};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    geo_workspace *work = NULL;
    sap_status status = geo_workspace_create(&work, &allocator);
    if (status == SAP_OK) {
      status = geo_contact_surfaces(work, 200, pairs, GEO_TRIANGLE_FANS, &s, NULL);
    }
    CHECK_EQUAL(status, SAP_OUT_OF_MEMORY);
    if (work) {
      /* it goes on where memory can be had */
      CHECK_EQUAL(geo_contact_surfaces(work, 200, pairs, GEO_TRIANGLE_FANS, &s, NULL), SAP_OK);
      const long before = counter.allocations;
      CHECK_EQUAL(geo_contact_surfaces(work, 200, pairs, GEO_TRIANGLE_FANS, &s, NULL), SAP_OK);
      CHECK_EQUAL(geo_contact_surfaces(work, 100, pairs, GEO_POLYGONS, &s, NULL), SAP_OK);
      CHECK_EQUAL(counter.allocations, before);
    }
    geo_workspace_destroy(work);
    CHECK_EQUAL(counter.live, 0);
  }
  geo_shape_destroy(ball);
  geo_shape_destroy(hard);
  geo_shape_destroy(floor);
  geo_shape_destroy(pad);
}

static void memory_of_shapes(void) {
  const geo_arrays *all[] = {&soft, &rigid, &ground, &foam};
  for (int i = 0; i < 4; ++i) {
    struct counter counter = {.fail_at = -1};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    geo_shape *shape;
    CHECK_EQUAL(geo_shape_create(&shape, all[i], &allocator, NULL), SAP_OK);
    geo_shape_destroy(shape);
    CHECK_EQUAL(counter.live, 0);
    const long needed = counter.allocations;
    for (long fail_at = 0; fail_at < needed; ++fail_at) {
      counter = (struct counter){.fail_at = fail_at};
      CHECK_EQUAL(geo_shape_create(&shape, all[i], &allocator, NULL), SAP_OUT_OF_MEMORY);
      CHECK(shape == NULL);
      CHECK_EQUAL(counter.live, 0);
    }
  }
}

/* A field without slope makes no contact. */
static void constant_fields(void) {
  static const double flat[] = {1e5, 1e5, 1e5, 1e5, 1e5, 1e5, 1e5};
  geo_arrays arrays = soft;
  arrays.pressure = flat;
  geo_shape *ball = shape_of(&arrays);
  geo_shape *floor = shape_of(&ground);
  geo_workspace *work;
  geo_surfaces s;
  REQUIRE(geo_workspace_create(&work, NULL) == SAP_OK);
  const geo_pair pair = {ball, floor, raised(0.1), at_origin};
  CHECK_EQUAL(geo_contact_surfaces(work, 1, &pair, GEO_POLYGONS, &s, NULL), SAP_OK);
  CHECK_EQUAL(s.n_faces, 0);
  CHECK_EQUAL(geo_contact_surfaces(work, 0, NULL, GEO_POLYGONS, &s, NULL), SAP_OK);
  CHECK_EQUAL(s.n_pairs, 0);
  geo_workspace_destroy(work);
  geo_shape_destroy(floor);
  geo_shape_destroy(ball);
}

static void check_refused(geo_arrays arrays, const char *argument, int64_t index) {
  geo_shape *shape;
  sap_error error = {0};
  CHECK_EQUAL(geo_shape_create(&shape, &arrays, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, argument);
  CHECK_EQUAL(error.index, index);
  CHECK(shape == NULL);
}

static void wrong_shapes(void) {
  int32_t spoilt[32];
  geo_arrays arrays = soft;
  arrays.kind = (geo_kind)7;
  check_refused(arrays, "kind", -1);
  arrays = soft;
  arrays.n_cells = 0;
  check_refused(arrays, "tetrahedra", -1);
  arrays = soft;
  arrays.cells = spoilt;
  memcpy(spoilt, cells, sizeof spoilt);
  spoilt[4 * 3] = 7;
  check_refused(arrays, "tetrahedra", 3);
  memcpy(spoilt, cells, sizeof spoilt);
  memcpy(spoilt + 4 * 5, spoilt + 4 * 2, 4 * sizeof *spoilt);
  check_refused(arrays, "tetrahedra", 5);
  memcpy(spoilt, cells, sizeof spoilt);
  spoilt[4 * 6] = spoilt[4 * 6 + 1];
  check_refused(arrays, "tetrahedra", 6);
  memcpy(spoilt, cells, sizeof spoilt);
  spoilt[4 * 7 + 2] = 1;
  spoilt[4 * 7 + 1] = 5;
  check_refused(arrays, "tetrahedra", 7);
  arrays = foam;
  arrays.slope = INFINITY;
  check_refused(arrays, "slope", -1);
  arrays = foam;
  arrays.margin = NAN;
  check_refused(arrays, "margin", -1);
  static const double steep[] = {1e308, 0, 0, 0, 0, 0, 0};
  static const double small[] = {0,    0,     0, 1e-9, 0, 0,     0, 1e-9, 0, 0,    0,
                                 1e-9, -1e-9, 0, 0,    0, -1e-9, 0, 0,    0, -1e-9};
  arrays = soft;
  arrays.pressure = steep;
  arrays.vertices = small;
  geo_shape *shape;
  sap_error error;
  CHECK_EQUAL(geo_shape_create(&shape, &arrays, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "tetrahedra");
}

/* An error tells the area of a triangle that is too flat, or the volume of a tetrahedron. */
static void flat_cells(void) {
  const double h = 1e-17;
  const double vertices[] = {0, 0, 0, 1, 0, 0, 0.5, 1, 0, 0.5, h, 0, 0.5, 0.5, h};
  const int32_t triangle[] = {0, 1, 3}, tetrahedron[] = {0, 1, 2, 4};
  const geo_arrays wrong[] = {{GEO_TRIANGLES, 5, 1, vertices, triangle, NULL, 0, 0},
                              {GEO_TETRAHEDRA, 5, 1, vertices, tetrahedron, pressure, 0, 0}};
  for (int k = 0; k < 2; ++k) {
    geo_shape *shape;
    sap_error error;
    CHECK_EQUAL(geo_shape_create(&shape, &wrong[k], NULL, &error), SAP_INVALID_ARGUMENT);
    CHECK_CLOSE(error.value, k == 0 ? h / 2 : h / 6, 1e-30);
  }
}

/* Ranges of pressure are wider than round-off, in any unit. */
static void ranges_of_pressure_are_wide(void) {
  for (int e = -9; e <= 9; e += 3) {
    double scaled[7] = {pow(10, e)};
    geo_arrays arrays = soft;
    arrays.pressure = scaled;
    geo_shape *ball = shape_of(&arrays);
    for (int i = 0; i < 8; ++i) {
      const struct geo_tetrahedron *t = &ball->tetrahedra[i];
      CHECK(t->p_low < -1e-14 * scaled[0] && t->p_low > -1e-9 * scaled[0]);
      CHECK(t->p_high > (1 + 1e-14) * scaled[0] && t->p_high < (1 + 1e-9) * scaled[0]);
    }
    geo_shape_destroy(ball);
  }
}

static void wrong_pairs(void) {
  geo_shape *ball = shape_of(&soft);
  geo_shape *hard = shape_of(&rigid);
  geo_shape *pad = shape_of(&foam);
  geo_workspace *work;
  geo_surfaces s;
  sap_error error;
  REQUIRE(geo_workspace_create(&work, NULL) == SAP_OK);
  geo_pair pairs[2] = {{ball, hard, at_origin, at_origin}, {hard, hard, at_origin, at_origin}};
  CHECK_EQUAL(geo_contact_surfaces(work, 2, pairs, GEO_POLYGONS, &s, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "pairs");
  CHECK_EQUAL(error.index, 1);
  pairs[1].b = pad;
  CHECK_EQUAL(geo_contact_surfaces(work, 2, pairs, GEO_POLYGONS, &s, &error), SAP_OK);
  pairs[1].a = ball;
  CHECK_EQUAL(geo_contact_surfaces(work, 2, pairs, GEO_POLYGONS, &s, &error), SAP_INVALID_ARGUMENT);
  pairs[1] = pairs[0];
  for (int k = 0; k < 3; ++k) {
    pairs[1] = pairs[0];
    pairs[1].pose_b.t[k] = NAN;
    CHECK_EQUAL(geo_contact_surfaces(work, 2, pairs, GEO_POLYGONS, &s, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "pose_b");
  }
  pairs[1] = pairs[0];
  pairs[1].pose_a.R[8] = -1;
  CHECK_EQUAL(geo_contact_surfaces(work, 2, pairs, GEO_POLYGONS, &s, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "pose_a");
  CHECK_EQUAL(geo_contact_surfaces(work, -1, pairs, GEO_POLYGONS, &s, &error),
              SAP_INVALID_ARGUMENT);
  geo_workspace_destroy(work);
  geo_workspace_destroy(NULL);
  geo_shape_destroy(ball);
  geo_shape_destroy(hard);
  geo_shape_destroy(pad);
  geo_shape_destroy(NULL);
}

static const check_test tests[] = {
    CHECK_TEST(cuts),
    CHECK_TEST(cuts_along_a_face),
    CHECK_TEST(clips),
    CHECK_TEST(corners_are_merged),
    CHECK_TEST(slice_of_an_octahedron),
    CHECK_TEST(surfaces_along_a_face_end_where_it_does),
    CHECK_TEST(edges_without_a_direction_clip_nothing),
    CHECK_TEST(memory_of_surfaces),
    CHECK_TEST(memory_of_shapes),
    CHECK_TEST(constant_fields),
    CHECK_TEST(wrong_shapes),
    CHECK_TEST(flat_cells),
    CHECK_TEST(ranges_of_pressure_are_wide),
    CHECK_TEST(wrong_pairs),
};
CHECK_FILE(test_geometry, tests);
