/* Tests geoms with pressure fields in steps of the model of model.h: faces become contacts, memory
 * is kept, wrong fields and poses are named. */
#include "counter.h"
#include "model.h"
#include "step/stepper_object.h"

/* The octahedron of eight tetrahedra is that of the mass (geom 1) and of the pendulum's second
 * body (geom 3); the floor is geom 0. */
static const double points[] = {0,   0,    0, 0.1, 0, 0,    0, 0.1, 0, 0,   0,
                                0.1, -0.1, 0, 0,   0, -0.1, 0, 0,   0, -0.1};
static const double pressure[] = {1e5, 0, 0, 0, 0, 0, 0};
static const int32_t cells[] = {0, 1, 2, 3, 0, 2, 4, 3, 0, 4, 5, 3, 0, 5, 1, 3,
                                0, 2, 1, 6, 0, 4, 2, 6, 0, 5, 4, 6, 0, 1, 5, 6};
static const geo_arrays soft = {GEO_TETRAHEDRA, 7, 8, points, cells, pressure, 0, 0};
static const geo_arrays ground = {.kind = GEO_HALF_SPACE};

enum { PAIRS = 3 };

/* release speed of these steps, m/s: a tenth of the smallest depth */
static const double V = 0.01;

struct scene {
  struct model m;
  struct list l;
  double xpos[3 * GEOMS], xmat[9 * GEOMS];
  double qacc[NV], qfrc_constraint[NV], efc_force[3 * MOST];
  geo_shape *ball, *floor;
  const geo_shape *shape[GEOMS];
  int32_t pair_geom[2 * PAIRS], pair_dim[PAIRS];
  sap_fields fields;
};

static geo_shape *shape_of(const geo_arrays *arrays) {
  geo_shape *shape = NULL;
  CHECK_EQUAL(geo_shape_create(&shape, arrays, NULL, NULL), SAP_OK);
  return shape;
}

/* Puts the ball of geom 1 into the floor, and that of geom 3 into it, askew. */
static void make(struct scene *s, uint64_t *seed) {
  static const double turn[9] = {0.36, 0.48, -0.8, -0.8, 0.6, 0, 0.48, 0.64, 0.6};
  *s = (struct scene){.pair_geom = {0, 1, 1, 3, 0, 3}, .pair_dim = {3, 3, 1}};
  make_model(&s->m, seed);
  make_list(&s->l);
  for (int g = 0; g < GEOMS; ++g) {
    s->xpos[3 * g] = 5.0 * g;
    for (int i = 0; i < 9; ++i) {
      s->xmat[9 * g + i] = g == 3 ? turn[i] : i % 4 == 0;
    }
  }
  s->xpos[3] = 0.01;
  s->xpos[5] = 0.08;
  s->xpos[9] = 0.1;
  s->xpos[10] = 0.02;
  s->xpos[11] = 0.15;
  s->m.state.geom_xpos = s->xpos;
  s->m.state.geom_xmat = s->xmat;
  s->ball = shape_of(&soft);
  s->floor = shape_of(&ground);
  s->shape[0] = s->floor;
  s->shape[1] = s->shape[3] = s->ball;
  s->fields = (sap_fields){
      .n_pairs = PAIRS, .pair_geom = s->pair_geom, .pair_dim = s->pair_dim, .shape = s->shape};
}

static void release(struct scene *s) {
  geo_shape_destroy(s->ball);
  geo_shape_destroy(s->floor);
}

static sap_step_arrays arrays_of(struct scene *s) {
  return (sap_step_arrays){.state = s->m.state,
                           .contacts = s->l.list,
                           .qacc = s->qacc,
                           .qfrc_constraint = s->qfrc_constraint,
                           .efc_force = s->efc_force};
}

static sap_status create(sap_stepper **stepper, const struct scene *s,
                         const sap_allocator *allocator) {
  sap_step_settings step = sap_step_settings_default(0.01);
  step.release_speed = V;
  sap_status status = sap_stepper_create(stepper, &s->m.forest, NULL, &step, NULL, allocator, NULL);
  return status == SAP_OK ? sap_stepper_set_fields(*stepper, &s->fields, NULL) : status;
}

/* Contacts of the engine come first, then the faces with k > 0 at their centroids, with n from A
 * to B. */
static void faces_are_contacts(void) {
  static struct scene s;
  uint64_t seed = 1;
  make(&s, &seed);
  add_contact(&s.l, 0, 2, 3, 3, &seed);
  sap_stepper *stepper;
  REQUIRE(create(&stepper, &s, NULL) == SAP_OK);
  const sap_step_arrays arrays = arrays_of(&s);
  REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK && sap_stepper_took(stepper));
  const sap_patch_list patches = sap_stepper_patches(stepper);
  const geo_surfaces *found = patches.surfaces;
  const sap_problem *p = sap_stepper_problem(stepper);
  const struct sap_gather *g = &stepper->gather;

  CHECK_EQUAL(found->n_pairs, 2); /* geom 3 does not reach the floor's */
  static sap_contact_record records[200];
  REQUIRE(p->n_contacts > 8 && p->n_contacts < 200);
  sap_stepper_contacts(stepper, records);
  CHECK_EQUAL(records[0].index, 0);
  CHECK_EQUAL(records[0].face, -1);
  int32_t c = 1, n_limited = 0;
  double total[3] = {0, 0, 0};
  int64_t offset = 3 * 2; /* offset in J: one contact of the pendulum */
  for (int32_t i = 0; i < found->n_pairs; ++i) {
    const int32_t *geom = patches.pair_geom + 2 * (size_t)patches.pair[i];
    for (int32_t f = found->pair_start[i]; f < found->pair_start[i + 1]; ++f) {
      if (found->k[f] == 0) {
        continue;
      }
      const sap_contact_record *r = &records[c];
      const double *centroid = found->centroid + 3 * (size_t)f;
      CHECK_EQUAL(r->index, -1);
      CHECK_EQUAL(r->face, f);
      CHECK(r->geom[0] == geom[0] && r->geom[1] == geom[1]);
      CHECK_ALL_CLOSE(r->position, centroid, 3, 0);
      /* the depth that a face promises is that of the fields there, or the release speed's */
      const double depth = found->p0[f] / found->steepness[f];
      const double h = 0.01 + g->tau_d[c], lean = fmin(sqrt(2), 1 + g->tau_d[c] / 0.01);
      const int limited = depth > 0 && -found->phi0[f] > lean * depth;
      const double limit = fmax(depth, V * h);
      const double phi0 = limited ? fmax(found->phi0[f], -limit) : found->phi0[f];
      CHECK_CLOSE(r->distance, phi0, 0);
      if (phi0 == found->phi0[f]) {
        CHECK_CLOSE(g->k[c], found->k[f], 0);
      }
      n_limited += phi0 != found->phi0[f];
      CHECK_CLOSE(-g->k[c] * r->distance, found->load[f], 1e-12 * found->load[f]);

      /* axes at right angles; J v is the velocity of B's point against A's along them */
      double v_a[3], v_b[3];
      velocity(&s.m, s.m.geom_bodyid[geom[0]], centroid, v_a);
      velocity(&s.m, s.m.geom_bodyid[geom[1]], centroid, v_b);
      const int32_t trees[2] = {p->tree_a[c], p->tree_b[c]};
      for (int row = 0; row < 3; ++row) {
        const double *axis = r->frame + 3 * (size_t)row;
        double expected = 0, v = 0;
        for (int j = 0; j < 3; ++j) {
          expected += axis[j] * (v_b[j] - v_a[j]);
        }
        int64_t at = offset;
        for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
          const int32_t n = p->tree_nv[trees[side]];
          for (int32_t j = 0; j < n; ++j) {
            v +=
                p->J[at + row * (int64_t)n + j] * s.m.qvel[s.m.forest.tree_dofadr[trees[side]] + j];
          }
          at += 3 * (int64_t)n;
        }
        CHECK_CLOSE(v, expected, 1e-13);
        for (int other = 0; other < 3; ++other) {
          const double *b = r->frame + 3 * (size_t)other;
          CHECK_CLOSE(axis[0] * b[0] + axis[1] * b[1] + axis[2] * b[2], row == other, 1e-14);
        }
      }
      for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
        offset += 3 * (int64_t)p->tree_nv[trees[side]];
      }
      const double *normal = found->normal + 3 * (size_t)f;
      for (int j = 0; j < 3; ++j) {
        CHECK_CLOSE(r->frame[6 + j], -normal[j], 0);
        total[j] += found->load[f] * normal[j];
      }
      CHECK_CLOSE(r->friction > 0, geom[0] == 0 || geom[1] == 3, 0);
      ++c;
    }
  }
  CHECK_EQUAL(c, p->n_contacts);
  CHECK(n_limited > 0 && n_limited < c - 1);
  CHECK(total[2] < 0); /* on the floor, and on the lower ball */
  sap_stepper_destroy(stepper);
  release(&s);
}

/* The shares of the compliance give tau_d: the soft one's own against the floor, the mean of two
 * alike where their gradients are. */
static void dissipation_follows_compliance(void) {
  static struct scene s;
  uint64_t seed = 2;
  make(&s, &seed);
  sap_stepper *stepper;
  REQUIRE(create(&stepper, &s, NULL) == SAP_OK);
  const sap_step_arrays arrays = arrays_of(&s);
  REQUIRE(sap_stepper_gather(stepper, &arrays, NULL) == SAP_OK);
  const struct sap_gather *g = &stepper->gather;
  const geo_surfaces *found = sap_stepper_patches(stepper).surfaces;
  const double *tau = s.m.dissipation_time;
  int32_t between = 0;
  for (int32_t c = 0; c < g->problem.n_contacts; ++c) {
    const int32_t f = g->contacts[c].face;
    if (g->contacts[c].geom[0] == 0) {
      CHECK_CLOSE(g->tau_d[c], tau[1], 0);
    } else {
      const double c_1 = 1 / found->g_a[f], c_3 = 1 / found->g_b[f];
      CHECK_CLOSE(g->tau_d[c], (c_1 * tau[1] + c_3 * tau[3]) / (c_1 + c_3), 1e-15);
      ++between;
    }
  }
  CHECK(between > 0);
  sap_stepper_destroy(stepper);
  release(&s);
}

/* Without a material mu is that of the engine's pair, or 0 in a pair without friction. */
static void friction_is_that_of_the_engine_or_of_materials(void) {
  static struct scene s;
  static const double of_pairs[2 * PAIRS] = {0.4, 0.9, 0.25, 0.25, 0.7, 0.7};
  static int8_t given[GEOMS];
  uint64_t seed = 7;
  make(&s, &seed);
  s.xpos[11] = 0.05; /* the third pair meets, too */
  s.xpos[9] = 0.3;
  s.pair_geom[0] = 1; /* in another order */
  s.pair_geom[1] = 0;
  s.fields.pair_friction = of_pairs;
  s.m.forest.friction_given = given;
  const double *mu = s.m.forest.friction;
  const double in_series = 2 * mu[0] * mu[1] / (mu[0] + mu[1]);
  for (int by_material = 0; by_material < 2; ++by_material) {
    given[0] = (int8_t)by_material;
    sap_stepper *stepper;
    REQUIRE(create(&stepper, &s, NULL) == SAP_OK);
    const sap_step_arrays arrays = arrays_of(&s);
    REQUIRE(sap_stepper_gather(stepper, &arrays, NULL) == SAP_OK);
    const struct sap_gather *g = &stepper->gather;
    int32_t met[GEOMS] = {0};
    for (int32_t c = 0; c < g->problem.n_contacts; ++c) {
      const int32_t *geom = g->contacts[c].geom;
      const int third = geom[0] == 0 && geom[1] == 3;
      const double expected = third ? 0.0 : by_material ? in_series : 0.6;
      CHECK(third || (geom[0] == 1 && geom[1] == 0));
      CHECK_CLOSE(g->mu[c], expected, 1e-15);
      ++met[geom[1]];
    }
    CHECK(met[0] > 0 && met[3] > 0);
    sap_stepper_destroy(stepper);
  }
  release(&s);
}

static void memory_is_kept(void) {
  static struct scene s;
  uint64_t seed = 3;
  struct counter counter = {0, 0, -1};
  const sap_allocator allocator = {counting_allocate, counting_release, &counter};
  make(&s, &seed);
  sap_stepper *stepper;
  REQUIRE(create(&stepper, &s, &allocator) == SAP_OK);
  const sap_step_arrays arrays = arrays_of(&s);
  long before = 0;
  for (int i = 0; i < 6; ++i) {
    s.xpos[5] = i % 2 ? 0.08 : 0.3; /* with patches, and without */
    before = i == 2 ? counter.allocations : before;
    REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK && sap_stepper_took(stepper));
    CHECK_EQUAL(sap_stepper_problem(stepper)->n_contacts > 0, i % 2);
  }
  CHECK_EQUAL(counter.allocations, before);
  sap_stepper_destroy(stepper);
  CHECK_EQUAL(counter.live, 0);
  release(&s);
}

static struct scene touching;

static sap_status take_step(const sap_allocator *allocator, struct counter *counter) {
  (void)counter;
  const sap_step_arrays arrays = arrays_of(&touching);
  sap_stepper *stepper = NULL;
  sap_status status = create(&stepper, &touching, allocator);
  if (status == SAP_OK) {
    status = sap_stepper_solve(stepper, &arrays, NULL);
    if (status != SAP_OK) {
      CHECK_EQUAL(sap_stepper_problem(stepper)->n_contacts, 0);
      CHECK(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK && sap_stepper_took(stepper));
    }
  }
  sap_stepper_destroy(stepper);
  return status;
}

static void failing_allocations_are_clean_errors(void) {
  uint64_t seed = 4;
  make(&touching, &seed);
  CHECK(fail_allocations(take_step) > 1);
  release(&touching);
}

static void check_refused(struct scene *s, sap_stepper *stepper, const char *name, int64_t index) {
  sap_error error = {0};
  CHECK_EQUAL(sap_stepper_set_fields(stepper, &s->fields, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, name);
  CHECK_EQUAL(error.index, index);
}

static void wrong_fields_are_named(void) {
  static struct scene s;
  uint64_t seed = 5;
  make(&s, &seed);
  sap_stepper *stepper;
  REQUIRE(create(&stepper, &s, NULL) == SAP_OK);
  s.fields.n_pairs = -1;
  check_refused(&s, stepper, "fields.n_pairs", -1);
  s.fields.n_pairs = PAIRS;
  s.pair_dim[1] = 4;
  check_refused(&s, stepper, "fields.pair_dim", 1);
  s.pair_dim[1] = 3;
  s.pair_geom[3] = GEOMS;
  check_refused(&s, stepper, "fields.pair_geom", 3);
  s.pair_geom[3] = 2;
  check_refused(&s, stepper, "fields.pair_geom", 3);
  s.shape[2] = s.floor;
  s.pair_geom[2] = 0;
  check_refused(&s, stepper, "pairs", 1);
  s.pair_geom[2] = 1;
  s.pair_geom[3] = 3;
  const double wrong[2 * PAIRS] = {1, 1, 0, -0.1, 1, 1}, none[2 * PAIRS] = {1, NAN, 1, 1, 1, 1};
  s.fields.pair_friction = wrong;
  check_refused(&s, stepper, "fields.pair_friction", 3);
  s.fields.pair_friction = none;
  check_refused(&s, stepper, "fields.pair_friction", 1);
  s.fields.pair_friction = NULL;

  /* the previous patches remain until a step has none */
  const sap_step_arrays arrays = arrays_of(&s);
  REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK);
  CHECK(sap_stepper_problem(stepper)->n_contacts > 0);
  s.fields.n_pairs = 0;
  REQUIRE(sap_stepper_set_fields(stepper, &s.fields, NULL) == SAP_OK);
  REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK);
  CHECK_EQUAL(sap_stepper_problem(stepper)->n_contacts, 0);
  CHECK_EQUAL(sap_stepper_patches(stepper).surfaces->n_pairs, 0);
  sap_stepper_destroy(stepper);
  release(&s);
}

static void a_pose_that_is_none_is_a_fault(void) {
  static struct scene s;
  uint64_t seed = 6;
  make(&s, &seed);
  sap_stepper *stepper;
  REQUIRE(create(&stepper, &s, NULL) == SAP_OK);
  const sap_step_arrays arrays = arrays_of(&s);
  s.xmat[9 * 3 + 4] = NAN;
  int64_t geom = -1;
  CHECK_EQUAL(sap_stepper_solve(stepper, &arrays, NULL), SAP_OK);
  CHECK(!sap_stepper_took(stepper));
  CHECK_EQUAL(sap_stepper_fault(stepper, &geom), SAP_FAULT_PATCH);
  CHECK_EQUAL(geom, 1);
  CHECK_EQUAL(sap_stepper_problem(stepper)->n_contacts, 0);
  s.xmat[9 * 3 + 4] = 0.6;
  CHECK(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK && sap_stepper_took(stepper));
  sap_stepper_destroy(stepper);
  release(&s);
}

static const check_test tests[] = {
    CHECK_TEST(faces_are_contacts),
    CHECK_TEST(dissipation_follows_compliance),
    CHECK_TEST(memory_is_kept),
    CHECK_TEST(failing_allocations_are_clean_errors),
    CHECK_TEST(wrong_fields_are_named),
    CHECK_TEST(a_pose_that_is_none_is_a_fault),
    CHECK_TEST(friction_is_that_of_the_engine_or_of_materials),
};
CHECK_FILE(test_patches, tests);
