/* Tests elastic tetrahedra: decompositions, blocks, rules, memory. */
#include "fem/element.h"
#include "fem/matrix3.h"

#include "counter.h"

static const double corners[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
static const int32_t cells[] = {0, 1, 2, 3, 1, 2, 3, 4};

static void fill_random(uint64_t *seed, int n, double *x) {
  for (int i = 0; i < n; ++i) {
    x[i] = check_random(seed, -1, 1);
  }
}

/* Checks F = U diag(s) V^T, rotations U and V, and the order of s. */
static void check_decomposition(const double F[9], double scale) {
  struct fem_svd svd;
  double scaled[9], product[9], unit[9];
  static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  fem_decompose(F, &svd);
  for (int i = 0; i < 9; ++i) {
    scaled[i] = svd.U[i] * svd.s[i % 3];
  }
  fem_multiply_transposed(scaled, svd.V, product);
  CHECK_ALL_CLOSE(product, F, 9, 4e-15 * scale);
  fem_multiply_transposed(svd.U, svd.U, unit);
  CHECK_ALL_CLOSE(unit, identity, 9, 4e-15);
  fem_multiply_transposed(svd.V, svd.V, unit);
  CHECK_ALL_CLOSE(unit, identity, 9, 4e-15);
  CHECK_CLOSE(fem_determinant(svd.U), 1, 1e-14);
  CHECK_CLOSE(fem_determinant(svd.V), 1, 1e-14);
  CHECK(svd.s[0] >= svd.s[1] && svd.s[1] >= fabs(svd.s[2]) * (1 - 1e-14));
  CHECK(fem_determinant(F) * svd.s[2] >= -1e-15 * scale * scale * scale * scale);
}

static void decompositions(void) {
  uint64_t seed = 1;
  for (int trial = 0; trial < 2000; ++trial) {
    double F[9], x[3], y[3];
    fill_random(&seed, 9, F);
    check_decomposition(F, 1);
    /* ranks 1 and 0, equal singular values, columns of very different length */
    fill_random(&seed, 3, x);
    fill_random(&seed, 3, y);
    for (int i = 0; i < 9; ++i) {
      F[i] = x[i / 3] * y[i % 3];
    }
    check_decomposition(F, 1);
    for (int i = 0; i < 9; ++i) {
      F[i] = check_random(&seed, -1, 1) * (i % 3 == 0 ? 1 : i % 3 == 1 ? 1e-9 : 1e-12);
    }
    check_decomposition(F, 1);
  }
  static const double special[][9] = {{0},
                                      {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                      {-1, 0, 0, 0, -1, 0, 0, 0, -1},
                                      {0, 1, 0, 1, 0, 0, 0, 0, 1},
                                      {0, 0, 0, 0, 0, 0, 0, 0, 2},
                                      {1, 1, 1, 1, 1, 1, 1, 1, 1}};
  for (size_t i = 0; i < CHECK_COUNT(special); ++i) {
    check_decomposition(special[i], 4);
  }
}

/* The polar rotation is U V^T, by Newton's method and without it. */
static void polar_rotations(void) {
  uint64_t seed = 3;
  for (int trial = 0; trial < 4000; ++trial) {
    double F[9], R[9], expected[9];
    struct fem_svd svd;
    /* near the identity, and of any sign of the determinant */
    const double size = trial % 2 == 0 ? 0.2 : 2;
    for (int i = 0; i < 9; ++i) {
      F[i] = check_random(&seed, -size, size) + (i % 4 == 0);
    }
    fem_decompose(F, &svd);
    fem_rotation(&svd, expected);
    fem_polar(F, R);
    /* the rotation is as sensitive as the sum of the two least singular values is small */
    CHECK_ALL_CLOSE(R, expected, 9, 4e-15 * (1 + svd.s[0] / (svd.s[1] + svd.s[2])));
  }
}

/* A clamped matrix is positive semidefinite, and differs from H by such a matrix. */
static void clamped_eigenvalues(void) {
  uint64_t seed = 2;
  for (int trial = 0; trial < 2000; ++trial) {
    double H[9], clamped[9];
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j <= i; ++j) {
        H[3 * i + j] = H[3 * j + i] = check_random(&seed, -1, 1);
      }
    }
    memcpy(clamped, H, sizeof H);
    fem_clamp_eigenvalues(clamped);
    double inner = 0;
    for (int k = 0; k < 10; ++k) {
      double x[3], value = 0, more = 0;
      fill_random(&seed, 3, x);
      for (int i = 0; i < 9; ++i) {
        value += x[i / 3] * clamped[i] * x[i % 3];
        more += x[i / 3] * (clamped[i] - H[i]) * x[i % 3];
      }
      CHECK(value >= -1e-14 && more >= -1e-14);
    }
    /* the two parts have different eigenvectors: their product is 0 */
    for (int i = 0; i < 9; ++i) {
      inner += clamped[i] * (clamped[i] - H[i]);
    }
    CHECK_CLOSE(inner, 0, 1e-14);
  }
}

/* A stretched tetrahedron by hand: linear model, nu = 0, F = diag(1 + e, 1, 1). */
static void one_tetrahedron(void) {
  fem_mesh *mesh;
  REQUIRE(fem_mesh_create(&mesh, 4, corners, 1, cells, NULL, NULL) == SAP_OK);
  const fem_arrays *a = fem_mesh_arrays(mesh);
  CHECK_CLOSE(a->volume[0], 1. / 6, 1e-16);
  CHECK_EQUAL(a->n_pairs, 6);
  const fem_material material = {.model = FEM_LINEAR, .young = 12, .poisson = 0};
  double x[12], force[12], K[36], pairs[54], energies[1], F[9], stress[9];
  memcpy(x, corners, sizeof x);
  x[3] = 1.5;
  fem_result result = {.energy = 0,
                       .turned_over = 0,
                       .force = force,
                       .K = K,
                       .K_pairs = pairs,
                       .energies = energies,
                       .deformation = F,
                       .stress = stress};
  CHECK_EQUAL(fem_evaluate(mesh, &material, x, NULL, FEM_PROJECTED, &result, NULL), SAP_OK);
  /* V Y e^2/2, V Y e */
  CHECK_CLOSE(result.energy, 12 * 0.25 / 12, 1e-15);
  CHECK_CLOSE(force[3], -1, 1e-15);
  CHECK_CLOSE(force[0], 1, 1e-15);
  CHECK_CLOSE(F[0], 1.5, 1e-15);
  CHECK_CLOSE(stress[0], 12 * 0.5 * 1.5 / 1.5, 1e-14);
  /* V Y for the first corner in x, and half of it in y */
  CHECK_CLOSE(K[9], 2, 1e-15);
  CHECK_CLOSE(K[13], 1, 1e-15);
  fem_mesh_destroy(mesh);
}

static void rules(void) {
  fem_mesh *mesh;
  sap_error error;
  double x[15];
  int32_t wrong[8];
  memcpy(x, corners, sizeof x);
  memcpy(wrong, cells, sizeof wrong);
  x[4] = NAN;
  CHECK_EQUAL(fem_mesh_create(&mesh, 5, x, 2, cells, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK(mesh == NULL);
  CHECK_STRING(error.argument, "vertices");
  CHECK_EQUAL(error.index, 1);
  wrong[5] = 5;
  CHECK_EQUAL(fem_mesh_create(&mesh, 5, corners, 2, wrong, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "tetrahedra");
  CHECK_EQUAL(error.index, 1);
  CHECK_EQUAL(fem_mesh_create(&mesh, 5, corners, 1, cells, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.rule, "must be in a tetrahedron");
  CHECK_EQUAL(fem_mesh_create(&mesh, 5, corners, 0, cells, NULL, &error), SAP_INVALID_ARGUMENT);
  REQUIRE(fem_mesh_create(&mesh, 5, corners, 2, cells, NULL, &error) == SAP_OK);

  fem_material material = {.model = FEM_LINEAR_COROTATED, .young = 1, .poisson = 0.3};
  fem_result result = {.energy = 0};
  double R[18], K[45];
  CHECK_EQUAL(fem_evaluate(mesh, &material, corners, NULL, FEM_EXACT, &result, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "rotations");
  fem_find_rotations(mesh, corners, R);
  CHECK_EQUAL(fem_evaluate(mesh, &material, corners, R, FEM_EXACT, &result, &error), SAP_OK);
  CHECK_CLOSE(result.energy, 0, 1e-30);
  result.K = K;
  CHECK_EQUAL(fem_evaluate(mesh, &material, corners, R, FEM_EXACT, &result, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "K_pairs");
  material.poisson = 0.5;
  CHECK_EQUAL(fem_check_material(&material, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "poisson");
  material = (fem_material){.model = FEM_N_MODELS, .young = 1, .poisson = 0.3};
  CHECK_EQUAL(fem_check_material(&material, &error), SAP_INVALID_ARGUMENT);
  CHECK_EQUAL(fem_mass_matrix(mesh, 1, FEM_N_MASSES, K, K + 5, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "kind");
  fem_mesh_destroy(mesh);
}

static sap_status make_and_destroy(const sap_allocator *allocator, struct counter *counter) {
  fem_mesh *mesh;
  const sap_status status = fem_mesh_create(&mesh, 5, corners, 2, cells, allocator, NULL);
  (void)counter;
  fem_mesh_destroy(mesh);
  return status;
}

static sap_status order_and_destroy(const sap_allocator *allocator, struct counter *counter) {
  static const int32_t last[] = {1, 4};
  fem_mesh *mesh;
  fem_system *system;
  (void)counter;
  CHECK_EQUAL(fem_mesh_create(&mesh, 5, corners, 2, cells, NULL, NULL), SAP_OK);
  const fem_graph graph = fem_mesh_graph(mesh);
  sap_status status = fem_system_create(&system, &graph, allocator);
  if (status == SAP_OK) {
    status = fem_system_order(system, 2, last, NULL);
  }
  fem_system_destroy(system);
  fem_mesh_destroy(mesh);
  return status;
}

/* Two tetrahedra that share a face: they may touch only if their balls are small. */
static sap_status find_pairs(const sap_allocator *allocator, struct counter *counter) {
  static const int32_t order[] = {1, 0};
  static const double centre[] = {0.25, 0.25, 0.25, 0.5, 0.5, 0.5};
  double reach[] = {0.2, 0.2};
  const fem_balls balls = {.order = order, .centre = centre, .reach = reach};
  int32_t pairs[] = {-1, -1};
  int64_t n = -1;
  fem_mesh *mesh;
  (void)counter;
  CHECK_EQUAL(fem_mesh_create(&mesh, 5, corners, 2, cells, NULL, NULL), SAP_OK);
  const sap_status status = fem_find_far_pairs(mesh, &balls, corners, 1, pairs, &n, allocator);
  if (status == SAP_OK) {
    CHECK_EQUAL(n, 1);
    CHECK_EQUAL(pairs[0], 0);
    CHECK_EQUAL(pairs[1], 1);
    reach[0] = 0.25; /* sqrt(3)/4 apart */
    CHECK_EQUAL(fem_find_far_pairs(mesh, &balls, corners, 0, NULL, &n, NULL), SAP_OK);
    CHECK_EQUAL(n, 0);
  }
  fem_mesh_destroy(mesh);
  return status;
}

static void memory(void) {
  CHECK_EQUAL(fail_allocations(find_pairs), 1);
  CHECK_EQUAL(fail_allocations(make_and_destroy), 3);
  CHECK_EQUAL(fail_allocations(order_and_destroy), 7);
}

/* A x = b for a mass and a stiffness by hand, with a fixed vertex; S of one vertex. */
static void systems(void) {
  static const int32_t last[] = {4}, wrong[] = {3, 3};
  static const int8_t fixed[] = {1, 0, 0, 0, 0};
  fem_mesh *mesh;
  fem_system *system;
  sap_error error;
  double K[45], K_pairs[9 * 9], mass[5], pairs[9], R[18], x[15], b[15], S[9];
  REQUIRE(fem_mesh_create(&mesh, 5, corners, 2, cells, NULL, NULL) == SAP_OK);
  REQUIRE(fem_mesh_arrays(mesh)->n_pairs == 9);
  const fem_graph graph = fem_mesh_graph(mesh);
  REQUIRE(fem_system_create(&system, &graph, NULL) == SAP_OK);
  const fem_material material = {.model = FEM_LINEAR_COROTATED, .young = 10, .poisson = 0.3};
  fem_result result = {.energy = 0};
  result.K = K;
  result.K_pairs = K_pairs;
  fem_find_rotations(mesh, corners, R);
  REQUIRE(fem_evaluate(mesh, &material, corners, R, FEM_EXACT, &result, NULL) == SAP_OK);
  REQUIRE(fem_mass_matrix(mesh, 3, FEM_CONSISTENT, mass, pairs, NULL) == SAP_OK);
  const fem_blocks blocks = {
      .c_K = 0.5, .c_M = 2, .K = K, .K_pairs = K_pairs, .mass = mass, .mass_pairs = pairs};
  CHECK_EQUAL(fem_system_factor(system, &blocks, NULL, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK_EQUAL(fem_system_order(system, 2, wrong, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "last");
  CHECK_EQUAL(error.index, 1);
  CHECK_EQUAL(fem_system_order(system, 1, last, &error), SAP_OK);
  CHECK(!fem_system_is_factored(system));
  uint64_t seed = 3;
  fill_random(&seed, 15, x);
  fem_multiply_blocks(&graph, &blocks, x, b);
  CHECK_EQUAL(fem_system_factor(system, &blocks, NULL, b, &error), SAP_OK);
  CHECK_ALL_CLOSE(b, x, 15, 1e-12);
  /* S e is the load that moves the last vertex by e if no other is loaded */
  fem_system_schur(system, S);
  memset(b, 0, sizeof b);
  memcpy(b + 12, S, 3 * sizeof *b);
  CHECK_EQUAL(fem_system_factor(system, &blocks, NULL, b, &error), SAP_OK);
  CHECK_CLOSE(b[12], 1, 1e-12);
  CHECK_CLOSE(b[13], 0, 1e-12);
  double follows[15];
  fem_system_extend(system, b + 12, follows);
  CHECK_ALL_CLOSE(follows, b, 15, 1e-12);
  /* fixed vertices stay */
  memset(x, 0, 3 * sizeof *x);
  fem_multiply_blocks(&graph, &blocks, x, b);
  CHECK_EQUAL(fem_system_factor(system, &blocks, fixed, b, &error), SAP_OK);
  CHECK_ALL_CLOSE(b, x, 15, 1e-12);
  fem_multiply_blocks(&graph, &blocks, x, b);
  fem_system_solve(system, b);
  CHECK_ALL_CLOSE(b, x, 15, 1e-12);
  /* a mass that is not positive is told of with its vertex */
  mass[2] = -100;
  CHECK_EQUAL(fem_system_factor(system, &blocks, NULL, NULL, &error), SAP_NOT_POSITIVE_DEFINITE);
  CHECK_EQUAL(error.index, 2);
  CHECK(!fem_system_is_factored(system));
  fem_system_destroy(system);
  fem_mesh_destroy(mesh);
}

/* One face below a half space, then half of its height. */
static void contacts(void) {
  fem_mesh *mesh = NULL;
  REQUIRE(fem_mesh_create(&mesh, 4, corners, 1, cells, NULL, NULL) == SAP_OK);
  static const int32_t faces[] = {0, 2, 1, 0, 1, 3}, behind[] = {0, 0};
  const fem_faces listed = {.n = 2, .corners = faces, .tetrahedra = behind};
  fem_half_space plane = {.normal = {0, 0, 1}, .offset = 0.5, .stiffness = 10};
  fem_contacts found = {.face = NULL};
  fem_contacts_with_plane(mesh, &listed, corners, &plane, &found);
  REQUIRE(found.n == 1); /* the other face is upright */
  int32_t face, movers[3];
  double weights[3], point[3], normal[3], k, phi0;
  found = (fem_contacts){.face = &face,
                         .corners = movers,
                         .weights = weights,
                         .points = point,
                         .normals = normal,
                         .k = &k,
                         .phi0 = &phi0};
  fem_contacts_with_plane(mesh, &listed, corners, &plane, &found);
  CHECK_EQUAL(face, 0);
  CHECK_CLOSE(k, 5, 1e-14);
  CHECK_CLOSE(phi0, -0.5, 1e-15);
  CHECK_CLOSE(weights[0], 1. / 3, 1e-15);
  CHECK_CLOSE(point[0], 1. / 3, 1e-15);
  CHECK_EQUAL(movers[2], 1);
  CHECK_CLOSE(normal[2], 1, 0);
  plane = (fem_half_space){.normal = {1, 0, 0}, .offset = 0.5, .stiffness = 10};
  fem_contacts_with_plane(mesh, &listed, corners, &plane, &found);
  CHECK_EQUAL(found.n, 0); /* both faces are parallel to its normal */
  fem_mesh_destroy(mesh);
}

static const check_test tests[] = {
    CHECK_TEST(decompositions),  CHECK_TEST(polar_rotations), CHECK_TEST(clamped_eigenvalues),
    CHECK_TEST(one_tetrahedron), CHECK_TEST(rules),           CHECK_TEST(memory),
    CHECK_TEST(systems),         CHECK_TEST(contacts),
};
CHECK_FILE(test_fem, tests);
