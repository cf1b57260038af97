/* Tests contacts of soft bodies: faces against pressure fields, rows of contacts, memory. */
#include "fem/contact_rows.h"
#include "sapwood/fem.h"

#include <math.h>
#include <string.h>

#include "counter.h"

/* A tetrahedron above its bottom face. */
static const double corners[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const int32_t cells[] = {0, 1, 2, 3}, bottom[] = {0, 2, 1}, behind[] = {0};
static const fem_faces faces = {.n = 1, .corners = bottom, .tetrahedra = behind};

/* A field below z = 0.5, far wider than the tetrahedron, of 40 Pa a metre of depth. */
static const double wide[] = {-9, -9, 0.5, 9, -9, 0.5, 0, 18, 0.5, 0, 0, -9.5};
static const int32_t wide_cell[] = {0, 2, 1, 3};
static const double pressure[] = {0, 0, 0, 400};

static sap_status make_field(const sap_allocator *allocator, geo_shape **shape) {
  const geo_arrays arrays = {.kind = GEO_TETRAHEDRA,
                             .n_vertices = 4,
                             .n_cells = 1,
                             .vertices = wide,
                             .cells = wide_cell,
                             .pressure = pressure};
  return geo_shape_create(shape, &arrays, allocator, NULL);
}

static fem_field field_of(const geo_shape *shape, int is_depth) {
  return (fem_field){.shape = shape,
                     .pose = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}},
                     .stiffness = 10,
                     .is_depth = is_depth};
}

/* The bottom face lies 0.5 m deep in the field, with all of its area. */
static void one_face_in_a_field(void) {
  static const double weights[] = {1. / 3, 1. / 3, 1. / 3}, up[] = {0, 0, 1};
  fem_mesh *mesh = NULL;
  geo_shape *shape = NULL;
  fem_face_search *search = NULL;
  fem_contacts found;
  sap_error error;
  REQUIRE(fem_mesh_create(&mesh, 4, corners, 1, cells, NULL, NULL) == SAP_OK);
  REQUIRE(make_field(NULL, &shape) == SAP_OK);
  REQUIRE(fem_face_search_create(&search, NULL) == SAP_OK);
  fem_field field = field_of(shape, 0);
  for (int is_depth = 0; is_depth < 2; ++is_depth) {
    field.is_depth = is_depth;
    REQUIRE(fem_contacts_with_shape(search, mesh, &faces, corners, &field, &found, &error) ==
            SAP_OK);
    REQUIRE(found.n == 1);
    /* two springs, 10 and 40 Pa/m, yield in series, or the depth alone counts */
    const double g = is_depth ? 10 : 8;
    CHECK_EQUAL(found.face[0], 0);
    CHECK_EQUAL(found.corners[1], 2);
    CHECK_CLOSE(found.k[0], g * 0.5, 1e-13);
    CHECK_CLOSE(found.phi0[0], is_depth ? -0.5 : -20 / g, 1e-13);
    CHECK_ALL_CLOSE(found.weights, weights, 3, 1e-14);
    CHECK_ALL_CLOSE(found.normals, up, 3, 1e-15);
    CHECK_CLOSE(found.points[0], 1. / 3, 1e-14);
  }
  field.pose.t[2] = -2; /* below the face */
  CHECK_EQUAL(fem_contacts_with_shape(search, mesh, &faces, corners, &field, &found, NULL), SAP_OK);
  CHECK_EQUAL(found.n, 0);
  /* a tetrahedron that is turned over makes none */
  double x[12];
  memcpy(x, corners, sizeof x);
  x[11] = -1;
  field.pose.t[2] = 0;
  CHECK_EQUAL(fem_contacts_with_shape(search, mesh, &faces, x, &field, &found, NULL), SAP_OK);
  CHECK_EQUAL(found.n, 0);
  fem_face_search_destroy(search);
  geo_shape_destroy(shape);
  fem_mesh_destroy(mesh);
}

static void wrong_shapes(void) {
  const geo_arrays plane = {.kind = GEO_COMPLIANT_HALF_SPACE, .slope = 1};
  fem_mesh *mesh = NULL;
  geo_shape *shape = NULL;
  fem_face_search *search = NULL;
  fem_contacts found;
  sap_error error;
  REQUIRE(fem_mesh_create(&mesh, 4, corners, 1, cells, NULL, NULL) == SAP_OK);
  REQUIRE(fem_face_search_create(&search, NULL) == SAP_OK);
  REQUIRE(geo_shape_create(&shape, &plane, NULL, NULL) == SAP_OK);
  fem_field field = field_of(shape, 0);
  CHECK_EQUAL(fem_contacts_with_shape(search, mesh, &faces, corners, &field, &found, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "shape");
  CHECK_EQUAL(found.n, 0);
  geo_shape_destroy(shape);
  REQUIRE(make_field(NULL, &shape) == SAP_OK);
  field.shape = shape;
  /* a face of no area is told of by its number, behind one whose tetrahedron is turned over */
  static const double five[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  static const int32_t two[] = {0, 1, 2, 3, 1, 2, 3, 4}, last[] = {1, 4, 2, 0, 2, 1, 0, 0, 1};
  static const int32_t behind_last[] = {1, 0, 0};
  const fem_faces flat = {.n = 3, .corners = last, .tetrahedra = behind_last};
  double x[15];
  fem_mesh_destroy(mesh);
  REQUIRE(fem_mesh_create(&mesh, 5, five, 2, two, NULL, NULL) == SAP_OK);
  memcpy(x, five, sizeof x);
  x[12] = x[13] = x[14] = -1;
  CHECK_EQUAL(fem_contacts_with_shape(search, mesh, &flat, x, &field, &found, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "faces");
  CHECK_EQUAL(error.index, 2);
  geo_shape_destroy(shape);
  fem_face_search_destroy(search);
  fem_mesh_destroy(mesh);
}

/* Two searches, the second of which allocates the shape of the faces alone. */
static sap_status search_twice(const sap_allocator *allocator, struct counter *counter) {
  fem_mesh *mesh = NULL;
  geo_shape *shape = NULL;
  fem_face_search *search = NULL;
  fem_contacts found;
  CHECK_EQUAL(fem_mesh_create(&mesh, 4, corners, 1, cells, NULL, NULL), SAP_OK);
  CHECK_EQUAL(make_field(NULL, &shape), SAP_OK);
  sap_status status = fem_face_search_create(&search, allocator);
  const fem_field field = field_of(shape, 1);
  long before = 0;
  for (int i = 0; i < 2 && status == SAP_OK; ++i) {
    before = counter->allocations;
    status = fem_contacts_with_shape(search, mesh, &faces, corners, &field, &found, NULL);
  }
  if (status == SAP_OK) {
    CHECK_EQUAL(counter->allocations - before, 3);
  }
  fem_face_search_destroy(search);
  geo_shape_destroy(shape);
  fem_mesh_destroy(mesh);
  return status;
}

static void memory(void) { CHECK(fail_allocations(search_twice) >= 6); }

/* One vertex with a half of its weight against a rigid tree that slides along x. */
static void rows_of_one_contact(void) {
  static const int32_t place[] = {-1, 0}, column[] = {0}, vertex[] = {1};
  static const double weight[] = {0.5}, up[] = {0, 0, 1}, J[] = {1, 0, 0}, v[] = {2};
  static const double start[] = {0, 0, 0, 1, 3, 0};
  const struct fem_part part = {
      .tree = 1, .nv = 3, .place = place, .column = column, .start = start};
  const struct fem_meeting meeting = {
      .n = 1,
      .normals = up,
      .side = {{.part = &part, .n_corners = 1, .vertices = vertex, .weights = weight}},
      .tree = 0,
      .nv = 1,
      .width = 1,
      .J = J,
      .v = v};
  double axes[9], bias[3], slip, rows[12];
  int32_t tree_a, tree_b;
  REQUIRE(fem_rows_size(&meeting) == 12);
  struct fem_rows to = {axes, bias, &slip, &tree_a, &tree_b, rows};
  fem_append_rows(&meeting, &to);
  CHECK(to.J == rows + 12 && to.axes == axes + 9);
  CHECK_EQUAL(tree_a, 1);
  CHECK_EQUAL(tree_b, 0);
  CHECK_CLOSE(slip, 1.5 * sqrt(2), 1e-15); /* 1.5 along y, 0.5 - 2 along x */
  CHECK_ALL_CLOSE(axes + 6, up, 3, 0);
  for (int i = 0; i < 3; ++i) {
    CHECK_CLOSE(bias[i], 0, 0);
    for (int j = 0; j < 3; ++j) {
      CHECK_CLOSE(rows[3 * i + j], 0.5 * axes[3 * i + j], 0);
    }
    CHECK_CLOSE(rows[9 + i], -axes[3 * i], 0);
  }
}

static const check_test tests[] = {
    CHECK_TEST(one_face_in_a_field),
    CHECK_TEST(wrong_shapes),
    CHECK_TEST(memory),
    CHECK_TEST(rows_of_one_contact),
};
CHECK_FILE(test_soft_contacts, tests);
