/* Tests the presolve of constraints, on a model with numbers by hand.
 *
 * Trees 0 and 1 are sliders (dofs 0, 1) of masses 1 and 2, tree 2 has two dofs (2, 3) and a full
 * block of A. Tendon 0 moves all of them, tendon 1 none but dof 0; equality constraint 0 is of no
 * kind that a problem has. */

#include "counter.h"
#include "element_model.h"
#include "step/presolve/presolve.h"
#include "step/joints/constraints.h"

enum { NV = 4, TREES = 3 };

static const double dt = 0.01;
static const double J[NV] = {1, -2, 1, 0};
/* These are A^-1 J^T of the tendon and J A^-1 J^T. */
static const double U[NV] = {1, -1, 0.4, -0.2}, w = 3.4;

/* The model, one contact, and the free motion. */
struct scene {
  struct model m;
  int32_t exclude[1], row[1], dim[1], geom[2];
  double dist[1], friction[5];
  struct sap_contact_list contacts;
  enum sap_cone cone;
  double A[6], inverse[6], inverted[6], image[NV], v_0[NV], v_star[NV], a_star[NV];
  const double *S[TREES];
  uint64_t strips[NV];
  struct sap_free_motion motion;
};

static void make_scene(struct scene *s) {
  *s = (struct scene){
      .m = {.tree_dofadr = {0, 1, 2},
            .tree_dofnum = {1, 1, 2},
            .tendon_tree = {-2, -1, 0, -1},
            .rownnz = {3, 1},
            .rowadr = {0, 3},
            .colind = {0, 1, 2, 0},
            .tendon_range = {-INFINITY, 0.5, -1, 1},
            .tendon_k = {1, 1},
            .equality_kind = {SAP_EQUALITY_AHEAD},
            .equality_tree = {-1, -1},
            .equality_k = {1, 1},
            .equality_scale = {1},
            .ten_J = {1, -2, 1, 1}},
      .A = {1, 2, 3, 1, 1, 2},
      .strips = {1, 1, 1, 1},
      .v_0 = {1, 2, 3, 4},
      .v_star = {2, 0, 1, 7},
      .a_star = {100, -200, -200, 300},
  };
  wire(&s->m, TREES, NV,
       &(struct sap_elements){.n_tendons = 2, .n_equalities = 1, .n_tendon_entries = 4});
  s->contacts =
      (struct sap_contact_list){.dist = {(const char *)s->dist, sizeof *s->dist},
                                .friction = {(const char *)s->friction, sizeof s->friction},
                                .dim = {(const char *)s->dim, sizeof *s->dim},
                                .geom = {(const char *)s->geom, sizeof s->geom},
                                .exclude = {(const char *)s->exclude, sizeof *s->exclude},
                                .row = {(const char *)s->row, sizeof *s->row}};
  s->motion = (struct sap_free_motion){.A = s->A,
                                       .v_0 = s->v_0,
                                       .v_star = s->v_star,
                                       .a_star = s->a_star,
                                       .inverse = s->inverse,
                                       .inverted = s->inverted,
                                       .image = s->image,
                                       .S = s->S,
                                       .forest = &s->m.forest,
                                       .strips = s->strips,
                                       .loops = sap_vector_loops_of(sap_kernels_best_set())};
}

/* Adds one row of the engine that moves what tendon 0 moves. */
static void add_moving_row(struct scene *s, int32_t type, double pos, double loss) {
  add_row(&s->m, type, 0, pos, loss, J);
}

/* Both parts of the gathering of a model may have an allocator of their own. */
struct held {
  struct sap_element_gather elements;
  struct sap_presolve presolve;
};

static sap_status create(struct held *h, const struct scene *s, const sap_allocator *allocator) {
  memset(h, 0, sizeof *h);
  sap_status status =
      sap_element_gather_create(&h->elements, &s->m.elements, &s->m.forest, allocator);
  if (status == SAP_OK) {
    status = sap_presolve_create(&h->presolve, &h->elements, allocator);
  }
  return status;
}

static sap_status run(struct held *h, struct scene *s) {
  enum sap_fault fault;
  int64_t index;
  uint8_t touched[TREES];
  const sap_status status =
      sap_element_gather_run(&h->elements, &s->m.state, touched, &fault, &index);
  CHECK_EQUAL(fault, SAP_FAULT_NONE);
  return status != SAP_OK
             ? status
             : sap_presolve_run(&h->presolve, &s->m.state, &s->contacts, s->cone, dt, &s->motion);
}

static void release(struct held *h) {
  sap_presolve_release(&h->presolve);
  sap_element_gather_release(&h->elements);
}

static double speed(const struct scene *s) {
  double sum = 0.0;
  for (int j = 0; j < NV; ++j) {
    sum += J[j] * s->v_star[j];
  }
  return sum;
}

/* Checks v* after an impulse of row 0, the a* that follows, and the forces of that impulse. */
static void check_impulse(const struct held *h, const struct scene *s, double impulse, int row) {
  const double before[NV] = {2, 0, 1, 7};
  double force[NV] = {0.5, 0, 0, 0}, rows[ROWS] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
  sap_presolve_scatter(&h->presolve, dt, force, rows);
  for (int j = 0; j < NV; ++j) {
    CHECK_CLOSE(s->v_star[j], before[j] + U[j] * impulse, 1e-12);
    CHECK_CLOSE(s->a_star[j], (s->v_star[j] - s->v_0[j]) / dt, 1e-9);
    CHECK_CLOSE(force[j], (j == 0 ? 0.5 : 0.0) + J[j] * impulse / dt, 1e-9);
  }
  for (int i = 0; i < ROWS; ++i) {
    /* a force of a limit pushes out of it */
    CHECK_CLOSE(rows[i], i == row ? fabs(impulse) / dt : 9.0, 1e-9);
  }
}

static void a_limit_stops_what_would_pass_it(void) {
  struct scene s;
  struct held h;
  make_scene(&s);
  s.m.tendon_limited[0] = 1;
  s.m.ten_length[0] = 0.49;
  add_moving_row(&s, SAP_ROW_TENDON_LIMIT, 0.01, 0);
  REQUIRE(sap_elements_check(&s.m.elements, &s.m.forest, NULL) == SAP_OK);
  REQUIRE(create(&h, &s, NULL) == SAP_OK && run(&h, &s) == SAP_OK);
  /* speed 3 would pass 1 cm within the step: 1 remains */
  CHECK_CLOSE(speed(&s), 1.0, 1e-12);
  check_impulse(&h, &s, (1.0 - 3.0) / w, 0);
  release(&h);

  /* beyond it by 0.1: back in SAP_PRESOLVE_TIME; the row of another distance is not this one's */
  make_scene(&s);
  s.m.tendon_limited[0] = 1;
  s.m.ten_length[0] = 0.6;
  add_moving_row(&s, SAP_ROW_TENDON_LIMIT, 0.01, 0);
  REQUIRE(create(&h, &s, NULL) == SAP_OK && run(&h, &s) == SAP_OK);
  CHECK_CLOSE(speed(&s), -0.1 / SAP_PRESOLVE_TIME, 1e-12);
  check_impulse(&h, &s, (-2.0 - 3.0) / w, -1);
  release(&h);
}

static void a_limit_that_is_not_reached_does_nothing(void) {
  struct scene s;
  struct held h;
  make_scene(&s);
  s.m.tendon_limited[0] = 1;
  s.m.ten_length[0] = 0.4;
  REQUIRE(create(&h, &s, NULL) == SAP_OK && run(&h, &s) == SAP_OK);
  check_impulse(&h, &s, 0.0, -1);
  release(&h);
}

static void friction_brakes_and_holds(void) {
  const double losses[] = {50, 1e4}, impulses[] = {-0.5, -3.0 / 3.4};
  for (int i = 0; i < 2; ++i) {
    struct scene s;
    struct held h;
    double force[NV] = {0}, rows[ROWS] = {0};
    make_scene(&s);
    add_moving_row(&s, SAP_ROW_TENDON_FRICTION, 0, losses[i]);
    if (i == 1) {
      /* a dense Jacobian has no numbers of columns */
      s.m.state.efc_J_rownnz = s.m.state.efc_J_rowadr = s.m.state.efc_J_colind = NULL;
    }
    REQUIRE(create(&h, &s, NULL) == SAP_OK && run(&h, &s) == SAP_OK);
    CHECK_CLOSE(speed(&s), 3.0 + w * impulses[i], 1e-12);
    CHECK_EQUAL(h.elements.n_groups, 0);
    sap_presolve_scatter(&h.presolve, dt, force, rows);
    CHECK_CLOSE(rows[0], impulses[i] / dt, 1e-9);
    release(&h);
  }
}

/* Checks A (v* - v) against the forces that are told. */
static void check_forces(const struct held *h, const struct scene *s, double *rows) {
  double force[NV] = {0};
  sap_presolve_scatter(&h->presolve, dt, force, rows);
  const double change[NV] = {s->v_star[0] - 2, s->v_star[1], s->v_star[2] - 1, s->v_star[3] - 7};
  CHECK_CLOSE(dt * force[0], change[0], 1e-12);
  CHECK_CLOSE(dt * force[1], 2.0 * change[1], 1e-12);
  CHECK_CLOSE(dt * force[2], 3.0 * change[2] + change[3], 1e-12);
  CHECK_CLOSE(dt * force[3], change[2] + 2.0 * change[3], 1e-12);
}

static void equalities_hold_together(void) {
  struct scene s;
  struct held h;
  make_scene(&s);
  add_moving_row(&s, SAP_ROW_EQUALITY, 0.2, 0);
  add_moving_row(&s, SAP_ROW_EQUALITY, 0, 0);
  s.m.J[NV] = s.m.J[NV + 2] = 0.0; /* dofs 1 and 3 of the second row */
  s.m.J[NV + 3] = 1.0;
  add_moving_row(&s, SAP_ROW_EQUALITY, 0, 0);
  memset(s.m.J + 2 * NV, 0, NV * sizeof *s.m.J); /* moves nothing */
  REQUIRE(create(&h, &s, NULL) == SAP_OK && run(&h, &s) == SAP_OK);
  CHECK_EQUAL(h.presolve.n, 2);
  CHECK_CLOSE(speed(&s), -0.2 / SAP_PRESOLVE_TIME, 1e-7);
  CHECK_CLOSE(-2.0 * s.v_star[1] + s.v_star[3], 0.0, 1e-7);

  double rows[ROWS] = {0};
  check_forces(&h, &s, rows);
  release(&h);
}

/* The rows are of trees 0; 0 and 1; 2; 1; 2. */
static void levels_keep_the_order_of_rows_that_share_a_tree(void) {
  const int moves[5][NV] = {{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {0, 1, 0, 0}, {0, 0, 0, 1}};
  const int64_t level[] = {0, 1, 0, 2, 1}, order[] = {0, 2, 1, 4, 3};
  struct scene s;
  struct held h;
  make_scene(&s);
  for (int i = 0; i < 5; ++i) {
    add_moving_row(&s, SAP_ROW_EQUALITY, 0, 0);
    for (int j = 0; j < NV; ++j) {
      s.m.J[i * NV + j] = moves[i][j];
    }
  }
  REQUIRE(create(&h, &s, NULL) == SAP_OK && run(&h, &s) == SAP_OK);
  CHECK_EQUAL(h.presolve.n, 5);
  for (int i = 0; i < 5; ++i) {
    CHECK_EQUAL(h.presolve.level[i], level[i]);
    CHECK_EQUAL(h.presolve.order[i], order[i]);
  }
  for (int j = 0; j < NV; ++j) {
    CHECK_CLOSE(s.v_star[j], 0.0, 1e-7);
  }
  release(&h);
}

/* Adds a contact of a flex over all trees, with a tangent along dof 3. */
static void add_contact(struct scene *s, double dist, double mu, enum sap_cone cone) {
  const int edges = cone == SAP_CONE_PYRAMIDAL;
  s->m.elements.n_flexes = 1;
  s->contacts.count = 1;
  s->cone = cone;
  s->geom[0] = 0;
  s->geom[1] = -1;
  s->dim[0] = 3;
  s->dist[0] = dist;
  s->friction[0] = s->friction[1] = mu;
  s->row[0] = s->m.state.n_rows;
  for (int i = 0; i < (edges ? 4 : 3); ++i) {
    add_moving_row(s, SAP_ROW_CONTACT, dist, 0);
    double *row = s->m.J + (s->m.state.n_rows - 1) * NV;
    if (edges && i < 2) {
      row[3] = i == 0 ? mu : -mu;
    } else if (!edges && i > 0) {
      memset(row, 0, NV * sizeof *row);
      row[3] = i == 1;
    }
  }
  s->contacts.n_rows = s->m.state.n_rows;
}

static void contacts_of_flexes_have_friction(void) {
  /* it slides, sticks, is open and not reached, has no friction */
  const struct {
    double dist, mu, normal;
    int sticks;
  } cases[] = {{0.0, 0.1, 0.0, 0}, {0.0, 2.0, 0.0, 1}, {1.0, 0.5, -3.0, 0}, {-0.1, 0.0, 2.0, 0}};
  for (size_t i = 0; i < CHECK_COUNT(cases); ++i) {
    struct scene s;
    struct held h;
    double rows[ROWS] = {0};
    make_scene(&s);
    s.v_star[0] = -4.0; /* 3 m/s towards each other */
    s.v_star[3] = 0.5;
    add_contact(&s, cases[i].dist, cases[i].mu, SAP_CONE_ELLIPTIC);
    REQUIRE(create(&h, &s, NULL) == SAP_OK && run(&h, &s) == SAP_OK);
    CHECK_CLOSE(speed(&s), cases[i].normal, 1e-7);
    if (cases[i].sticks) {
      CHECK_CLOSE(s.v_star[3], 0.0, 1e-7);
    }
    s.v_star[0] += 6.0; /* reference of check_forces() */
    s.v_star[3] += 6.5;
    check_forces(&h, &s, rows);
    if (cases[i].sticks) {
      CHECK(fabs(rows[1]) < cases[i].mu * rows[0]);
    } else {
      CHECK_CLOSE(fabs(rows[1]), cases[i].mu * rows[0], 1e-6);
    }
    release(&h);
  }
}

static void edges_of_a_pyramid_only_push(void) {
  struct scene s;
  struct held h;
  double rows[ROWS] = {0};
  make_scene(&s);
  s.v_star[0] = -4.0;
  add_contact(&s, 0.0, 0.1, SAP_CONE_PYRAMIDAL);
  REQUIRE(create(&h, &s, NULL) == SAP_OK && run(&h, &s) == SAP_OK);
  s.v_star[0] += 6.0;
  check_forces(&h, &s, rows);
  s.v_star[0] -= 6.0;
  for (int i = 0; i < 4; ++i) {
    double along = 0.0;
    for (int j = 0; j < NV; ++j) {
      along += s.m.J[i * NV + j] * s.v_star[j];
    }
    CHECK(rows[i] >= 0.0 && along > -1e-7);
    CHECK(rows[i] < 1e-6 || along < 1e-7);
  }
  release(&h);
}

static void contacts_of_two_geoms_or_none_or_solved_elsewhere_are_left_alone(void) {
  for (int i = 0; i < 3; ++i) {
    struct scene s;
    struct held h;
    make_scene(&s);
    add_contact(&s, -0.1, 0.5, SAP_CONE_ELLIPTIC);
    s.geom[1] = i == 0 ? 1 : -1;
    s.exclude[0] = i == 1;
    s.m.elements.flexes_elsewhere = i == 2;
    REQUIRE(create(&h, &s, NULL) == SAP_OK && run(&h, &s) == SAP_OK);
    CHECK_EQUAL(h.presolve.n, 0);
    release(&h);
  }
}

static void a_block_that_has_no_factor_does_not_move(void) {
  struct scene s;
  struct held h;
  make_scene(&s);
  s.A[3] = s.A[4] = 9;
  add_moving_row(&s, SAP_ROW_EQUALITY, 0, 0);
  REQUIRE(create(&h, &s, NULL) == SAP_OK && run(&h, &s) == SAP_OK);
  CHECK_CLOSE(speed(&s), 0.0, 1e-12);
  CHECK_CLOSE(s.v_star[2], 1.0, 0.0);
  CHECK_CLOSE(s.v_star[3], 7.0, 0.0);
  release(&h);
}

static void rows_that_are_not_of_the_forest(void) {
  for (int which = 0; which < 4; ++which) {
    struct scene s;
    struct held h;
    double force[NV] = {0}, rows[ROWS] = {0};
    make_scene(&s);
    add_moving_row(&s, SAP_ROW_EQUALITY, 0, 0);
    s.m.J_adr[0] = which == 0 ? ROWS * NV : 0;
    s.m.J_col[1] = which == 1 ? NV : 1;
    s.m.tendon_limited[0] = which == 2;
    s.m.colind[2] = which == 2 ? -1 : 2;
    if (which == 3) {
      add_contact(&s, 0.0, 0.5, SAP_CONE_ELLIPTIC);
      s.row[0] = ROWS - 1;
    }
    REQUIRE(create(&h, &s, NULL) == SAP_OK);
    CHECK_EQUAL(run(&h, &s), SAP_INVALID_ARGUMENT);
    /* nothing of it is left */
    sap_presolve_scatter(&h.presolve, dt, force, rows);
    CHECK_CLOSE(force[0], 0.0, 0.0);
    release(&h);
  }
}

static void models_without_any_have_no_workspace(void) {
  struct counter counter = {0, 0, -1};
  const sap_allocator allocator = {counting_allocate, counting_release, &counter};
  struct scene s;
  struct held h;
  make_scene(&s);
  s.m.tendon_tree[0] = 1;
  s.m.equality_kind[0] = SAP_EQUALITY_SCALAR;
  REQUIRE(sap_element_gather_create(&h.elements, &s.m.elements, &s.m.forest, NULL) == SAP_OK);
  REQUIRE(sap_presolve_create(&h.presolve, &h.elements, &allocator) == SAP_OK);
  REQUIRE(sap_presolve_run(&h.presolve, &s.m.state, &s.contacts, s.cone, dt, &s.motion) == SAP_OK);
  CHECK_EQUAL(counter.allocations, 0);
  CHECK_EQUAL(h.presolve.n, 0);
  release(&h);
}

static sap_status presolve(const sap_allocator *allocator, struct counter *counter) {
  struct scene s;
  struct held h;
  double force[NV] = {0}, rows[ROWS] = {0};
  make_scene(&s);
  s.m.tendon_limited[0] = 1;
  add_moving_row(&s, SAP_ROW_TENDON_FRICTION, 0, 50);
  sap_status first = create(&h, &s, allocator);
  if (first == SAP_OK) {
    first = run(&h, &s);
    sap_presolve_scatter(&h.presolve, dt, force, rows);
    /* a call that failed works when it is made again, and from then on nothing is allocated */
    CHECK_EQUAL(run(&h, &s), SAP_OK);
    const long before = counter->allocations;
    CHECK_EQUAL(run(&h, &s), SAP_OK);
    sap_presolve_scatter(&h.presolve, dt, force, rows);
    CHECK_EQUAL(counter->allocations, before);
  }
  release(&h);
  return first;
}

static void failing_allocations_are_clean_errors(void) { CHECK(fail_allocations(presolve) > 1); }

static const check_test tests[] = {
    CHECK_TEST(a_limit_stops_what_would_pass_it),
    CHECK_TEST(a_limit_that_is_not_reached_does_nothing),
    CHECK_TEST(friction_brakes_and_holds),
    CHECK_TEST(equalities_hold_together),
    CHECK_TEST(levels_keep_the_order_of_rows_that_share_a_tree),
    CHECK_TEST(contacts_of_flexes_have_friction),
    CHECK_TEST(edges_of_a_pyramid_only_push),
    CHECK_TEST(contacts_of_two_geoms_or_none_or_solved_elsewhere_are_left_alone),
    CHECK_TEST(a_block_that_has_no_factor_does_not_move),
    CHECK_TEST(rows_that_are_not_of_the_forest),
    CHECK_TEST(models_without_any_have_no_workspace),
    CHECK_TEST(failing_allocations_are_clean_errors),
};
CHECK_FILE(test_presolve, tests);
