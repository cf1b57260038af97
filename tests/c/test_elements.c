/* Tests the gathering of constraints other than contacts from a small model, with rows by hand.
 *
 * Tree 0 is a chain of two hinges (dofs 0, 1; qpos 0, 1), tree 1 a ball joint (dofs 2 to 4; qpos 2
 * to 5). Masses are 2 and 4 on the diagonal of tree 0, and 1 on that of tree 1. */

#include "counter.h"
#include "element_model.h"
#include "step/scatter.h"

enum { NV = 5, NQ = 6, TREES = 2 };

static void make_model(struct model *m) {
  *m = (struct model){
      .tree_dofadr = {0, 2},
      .tree_dofnum = {2, 3},
      .limit_joint = {1, 2},
      .limit_ball = {0, 1},
      .limit_qposadr = {1, 2},
      .limit_dofadr = {1, 2},
      .limit_range = {-0.5, 0.75, 0.0, 1.0},
      .limit_k = {INFINITY, 1e3},
      .limit_tau_d = {0.01, 0.02},
      .frictionloss = {0.7},
      .tendon_tree = {0, 1, -1, -1},
      .tendon_limited = {1, 0},
      .rownnz = {2, 1},
      .rowadr = {0, 2},
      .colind = {1, 3, 0},
      .tendon_range = {-INFINITY, 0.25, 0, 0},
      .tendon_k = {1e5, 1},
      .equality_kind = {SAP_EQUALITY_POSE, SAP_EQUALITY_SCALAR, SAP_EQUALITY_ROWS},
      .equality_tree = {0, 1, 0, -1, -1, -1},
      .equality_k = {INFINITY, 50, 7, 1, 1, 1},
      .equality_scale = {2, 1, 1},
      .output = {0, 2},
      .controller_tree = {0, -1, 0, -1},
      .group = {3, -1},
      .dof = {1, -1},
      .gains = {8, 2, 0, 5},
      .range = {-INFINITY, INFINITY, -1, 3},
      .total = {-10, 6, -INFINITY, INFINITY},
      .qpos = {0.1, 0.5, 0.8, 0.6, 0, 0},
      .ten_length = {0.125, 9},
      .ten_J = {3, -2, 1},
      .length = {0.5, 0, 0.25},
      .speed = {2, 0, -1},
      .moment = {2, 1, 1},
      .force = {1.5, 4, -7},
      .moment_nnz = {1, 1, 1},
      .moment_adr = {0, 1, 2},
      .moment_col = {1, 1, 0},
      .qfrc_actuator = {-7, 7, 0, 0, 0},
      .qfrc_smooth = {1, 2, 3, 4, 5},
  };
  wire(m, TREES, NV,
       &(struct sap_elements){.n_limits = 2,
                              .n_tendons = 2,
                              .n_equalities = 3,
                              .n_controllers = 2,
                              .n_tendon_entries = 3,
                              .nq = NQ,
                              .n_outputs = OUTPUTS});
  /* a pose whose second row moves nothing, a scalar, frictions, limits, and two rows of contacts */
  const double none[NV] = {0}, one[NV] = {1, 0, 0, 0, 0};
  for (int row = 0; row < 6; ++row) {
    const double J[NV] = {row + 1, 0, 0.5 * row, 1, 0};
    add_row(m, SAP_ROW_EQUALITY, 0, 0.1 * row, 0, row == 1 ? none : J);
  }
  add_row(m, SAP_ROW_EQUALITY, 1, 0.3, 0, (const double[NV]){1, -2, 0, 0, 0});
  add_row(m, SAP_ROW_DOF_FRICTION, 0, 0, 0.7, one);
  add_row(m, SAP_ROW_TENDON_FRICTION, 0, 0, 0.9, (const double[NV]){0, 3, 0, -2, 0});
  add_row(m, SAP_ROW_JOINT_LIMIT, 1, 0.25, 0, none);
  add_row(m, SAP_ROW_TENDON_LIMIT, 0, 0.125, 0, none);
  add_row(m, SAP_ROW_CONTACT, 0, 0, 0, none);
}

static const double dt = 0.01;

static void rows_of_every_kind(void) {
  for (int dense = 0; dense < 2; ++dense) {
    struct model m;
    struct sap_element_gather g;
    enum sap_fault fault;
    int64_t index;
    uint8_t touched[TREES] = {0};
    make_model(&m);
    if (dense) {
      m.state.efc_J_rownnz = m.state.efc_J_rowadr = m.state.efc_J_colind = NULL;
    }
    REQUIRE(sap_elements_check(&m.elements, &m.forest, NULL) == SAP_OK);
    REQUIRE(sap_element_gather_create(&g, &m.elements, &m.forest, NULL) == SAP_OK);
    REQUIRE(gather_rows(&g, &m.state, touched, &fault, &index) == SAP_OK);
    REQUIRE(fault == SAP_FAULT_NONE);
    CHECK(touched[0] && touched[1]);
    CHECK_EQUAL(g.n_engine_rows, 11);
    REQUIRE(g.n_groups == 4);
    const sap_kind kinds[] = {SAP_BILATERAL, SAP_DRY_FRICTION, SAP_LIMIT, SAP_CONTROLLER};
    const int32_t counts[] = {3, 2, 4, 2};
    const int64_t ends[] = {6, 8, 12, 14};
    for (int i = 0; i < 4; ++i) {
      CHECK_EQUAL(g.groups[i].kind, kinds[i]);
      CHECK_EQUAL(g.groups[i].n, counts[i]);
      CHECK_EQUAL(g.first_row[i + 1], ends[i]);
    }

    /* position and rotation of the pose are two constraints, in rad; J of a tree after the other */
    const int32_t sizes[] = {2, 3, 1};
    const double J[] = {1, 0, 3,  0, 0,  1, 0, 1, 1, 0,                /* rows 0 and 2 */
                        8, 0, 10, 0, 12, 0, 3, 2, 0, 4, 2, 0, 5, 2, 0, /* twice rows 3 to 5 */
                        1, -2};
    const double residual[] = {0, 0.2, 0.6, 0.8, 1.0, 0.3};
    const double k[] = {INFINITY, INFINITY, 50, 50, 50, 7};
    for (int i = 0; i < 3; ++i) {
      CHECK_EQUAL(g.groups[0].size[i], sizes[i]);
    }
    CHECK_ALL_CLOSE(g.groups[0].J, J, g.nJ[0], 1e-15);
    CHECK_EQUAL(g.nJ[0], 27);
    CHECK_ALL_CLOSE(g.value[0], residual, 6, 1e-15);
    CHECK_ALL_CLOSE(g.value[1], k, 6, 0);

    /* only the entry of its dof */
    const double frictions[] = {1, 0, 3, 0, -2, 0};
    CHECK_EQUAL(g.nJ[1], 6);
    CHECK_ALL_CLOSE(g.groups[1].J, frictions, 6, 0);
    CHECK(g.groups[1].dof[0] == 0 && g.groups[1].dof[1] == -1);
    CHECK_ALL_CLOSE(g.value[0] + 6, ((const double[]){0.7, 0.9}), 2, 0);

    /* cos(a/2) = 0.8: the angle of the ball joint, about x */
    const double limits[] = {1, -1, -1, 0, 0, 0, -3, 0, 2, 0};
    const int32_t limit_dofs[] = {1, 1, -1, -1};
    const double angle = 2 * acos(0.8), phi0[] = {1.0, 0.25, 1 - angle, 0.125};
    CHECK_EQUAL(g.nJ[2], 10);
    CHECK_ALL_CLOSE(g.groups[2].J, limits, 10, 0);
    CHECK_ALL_CLOSE(g.value[0] + 8, phi0, 4, 1e-15);
    const int32_t engine[] = {-1, 9, -1, 10};
    for (int i = 0; i < 4; ++i) {
      CHECK_EQUAL(g.label[8 + i].row, engine[i]);
      CHECK_EQUAL(g.groups[2].dof[i], limit_dofs[i]);
    }

    /* set points: force + Kp length + Kd speed; the motor on dof 1 leaves 6 - 4 of the total */
    CHECK_EQUAL(g.nJ[3], 2);
    CHECK_ALL_CLOSE(g.groups[3].J, ((const double[]){2, 1}), 2, 0);
    CHECK(g.groups[3].dof[0] == 1 && g.groups[3].dof[1] == 0);
    CHECK_CLOSE(g.value[3][12], (1.5 + 8 * 0.5 + 2 * 2) / 8, 1e-15);
    CHECK_CLOSE(g.value[4][13], (-7 - 5.0) / 5, 1e-15);
    CHECK_ALL_CLOSE(g.range, ((const double[]){-7, 1, -1, 3}), 4, 1e-15);
    CHECK_ALL_CLOSE(g.smooth, ((const double[]){8, -1, 3, 4, 5}), NV, 1e-15);
    sap_element_gather_release(&g);
  }
}

static void totals_and_groups_that_are_off(void) {
  struct model m;
  struct sap_element_gather g;
  enum sap_fault fault;
  int64_t index;
  uint8_t touched[TREES];
  make_model(&m);
  REQUIRE(sap_element_gather_create(&g, &m.elements, &m.forest, NULL) == SAP_OK);
  /* another actuator takes more than the total: it gets the total, and the controller nothing */
  m.qfrc_actuator[1] = 23;
  REQUIRE(gather_rows(&g, &m.state, touched, &fault, &index) == SAP_OK);
  CHECK_ALL_CLOSE(g.range, ((const double[]){-8, 0}), 2, 1e-15);
  CHECK_CLOSE(g.smooth[1], 2 - 3 - 14, 1e-14);
  m.state.disabled = 1 << 3;
  REQUIRE(gather_rows(&g, &m.state, touched, &fault, &index) == SAP_OK);
  CHECK_EQUAL(g.n_acting, 1);
  CHECK_EQUAL(g.controller[0], 1);
  m.state.disabled = -1;
  REQUIRE(gather_rows(&g, &m.state, touched, &fault, &index) == SAP_OK);
  CHECK_EQUAL(g.n_acting, 0);
  CHECK_EQUAL(g.n_groups, 3);
  sap_element_gather_release(&g);
}

static void impulses_become_forces(void) {
  struct model m;
  struct sap_element_gather g;
  enum sap_fault fault;
  int64_t index;
  uint8_t touched[TREES];
  double A[4 + 9] = {2, 0, 0, 4, 1, 0, 0, 0, 1, 0, 0, 0, 1}, force[NV] = {0}, rows[ROWS] = {0};
  make_model(&m);
  REQUIRE(sap_element_gather_create(&g, &m.elements, &m.forest, NULL) == SAP_OK);
  REQUIRE(gather_rows(&g, &m.state, touched, &fault, &index) == SAP_OK);
  const sap_problem problem = {.n_trees = TREES,
                               .tree_nv = m.tree_dofnum,
                               .A = A,
                               .n_groups = g.n_groups,
                               .groups = g.groups};
  const sap_parameters step = {.dt = dt, .sigma = 1e-3, .beta = 1, .groups = g.regularization};
  sap_element_gather_parameters(&g, &step);
  REQUIRE(sap_regularize(&problem, &step, NULL, NULL, NULL, NULL, NULL) == SAP_OK);
  /* w = 1/4 for the limit of dof 1, beta = 0.1; bounds of the controllers differ by side */
  CHECK_CLOSE(g.R[8], 0.01 / 39.478417604357434 * 0.25, 1e-12);
  CHECK_CLOSE(g.v_hat[9], -0.25 / 0.02, 1e-12);
  CHECK_CLOSE(g.R[6], 1e-3 / 2, 1e-15);
  CHECK_ALL_CLOSE(g.lower + 12, ((const double[]){-0.07, -0.01}), 2, 1e-15);
  CHECK_ALL_CLOSE(g.upper + 12, ((const double[]){0.01, 0.03}), 2, 1e-15);

  for (int i = 0; i < g.n_rows; ++i) {
    g.gamma[i] = i < 12 ? dt * (i + 1) : 1.0;
  }
  sap_scatter_elements(&g, &m.state, dt, force, rows);
  /* efc_force of the rotation is larger by the scale, and of limits there is the upper one */
  const double expected[] = {1, 0, 2, 6, 8, 10, 6, 7, 8, 10, 12, 0};
  CHECK_ALL_CLOSE(rows, expected, ROWS, 1e-13);
  double sum[NV] = {0};
  for (int i = 0; i < 9; ++i) {
    for (int j = 0; j < NV; ++j) {
      sum[j] += m.J[i * NV + j] * rows[i];
    }
  }
  sum[1] += 9 - 10 - 3 * 12;
  sum[2] -= 11;
  sum[3] += 2 * 12;
  CHECK_ALL_CLOSE(force, sum, NV, 1e-12);
  /* controllers at their bounds, to the last bit */
  CHECK(m.force[0] == 1.0 && m.force[2] == 3.0 && m.force[1] == 4.0);
  CHECK_ALL_CLOSE(m.qfrc_actuator, ((const double[]){3, 6, 0, 0, 0}), NV, 1e-14);
  CHECK_ALL_CLOSE(m.qfrc_smooth, ((const double[]){11, 1, 3, 4, 5}), NV, 1e-14);
  sap_element_gather_release(&g);
}

static enum sap_fault fault_of(struct model *m, int64_t *index) {
  struct sap_element_gather g;
  enum sap_fault fault = SAP_FAULTS;
  uint8_t touched[TREES];
  if (CHECK(sap_element_gather_create(&g, &m->elements, &m->forest, NULL) == SAP_OK)) {
    CHECK(gather_rows(&g, &m->state, touched, &fault, index) == SAP_OK);
  }
  sap_element_gather_release(&g);
  return fault;
}

static void faults(void) {
  struct model m;
  int64_t index = -1;
#define BAD_ROWS(change)                               \
  do {                                                 \
    make_model(&m);                                    \
    change;                                            \
    CHECK_EQUAL(fault_of(&m, &index), SAP_FAULT_ROWS); \
  } while (0)
  /* a pose with too few rows, ids that are none, a row outside its trees or its array */
  BAD_ROWS(m.id[5] = 1);
  BAD_ROWS(m.id[7] = NV);
  BAD_ROWS(m.type[0] = -1);
  BAD_ROWS(m.J[6 * NV + 4] = 1);
  BAD_ROWS(m.J_adr[0] = ROWS * NV);
  BAD_ROWS(m.moment_col[0] = NV);
#undef BAD_ROWS
}

static void wrong_elements(void) {
  struct model m;
  sap_error error;
#define WRONG(change, name, at)                                                            \
  do {                                                                                     \
    make_model(&m);                                                                        \
    change;                                                                                \
    CHECK_EQUAL(sap_elements_check(&m.elements, &m.forest, &error), SAP_INVALID_ARGUMENT); \
    CHECK_STRING(error.argument, name);                                                    \
    CHECK_EQUAL(error.index, at);                                                          \
  } while (0)
  WRONG(m.limit_qposadr[1] = 3, "limit_qposadr", 1);
  WRONG(m.limit_dofadr[1] = 1, "limit_dofadr", 1);
  WRONG(m.limit_dofadr[0] = NV, "limit_dofadr", 0);
  WRONG(m.limit_k[0] = 0, "limit_k", 0);
  WRONG(m.limit_tau_d[0] = INFINITY, "limit_tau_d", 0);
  WRONG(m.limit_tau_d[0] = 2.0 * SAP_TIME_STEP, "limit_tau_d", 0);
  WRONG(m.gains[1] = SAP_TIME_STEP, "controller_gains", 1);
  WRONG(m.limit_range[2] = NAN, "limit_range", 2);
  WRONG(m.tendon_tree[0] = TREES, "tendon_tree", 0);
  WRONG(m.tendon_tree[1] = 0, "tendon_tree", 1);
  WRONG(m.rowadr[0] = -1, "ten_J_rowadr", 0);
  WRONG(m.rownnz[1] = 2, "ten_J_rownnz", 1);
  WRONG(m.equality_kind[1] = 9, "equality_kind", 1);
  WRONG(m.equality_tree[3] = 0, "equality_tree", 3);
  WRONG(m.equality_scale[0] = 0, "equality_scale", 0);
  WRONG(m.output[1] = OUTPUTS, "controller_output", 1);
  WRONG(m.controller_tree[0] = -1, "controller_tree", 0);
  WRONG(m.dof[0] = NV, "controller_dof", 0);
  WRONG(m.gains[3] = 0, "controller_gains", 2);
  WRONG(m.range[2] = 1, "controller_range", 2);
  WRONG(m.total[1] = -1, "controller_total", 1);
#undef WRONG
}

/* ---- memory --------------------------------------------------------------------------------- */

static sap_status gather(const sap_allocator *allocator, struct counter *counter) {
  struct model m;
  struct sap_element_gather g;
  enum sap_fault fault;
  int64_t index;
  uint8_t touched[TREES];
  make_model(&m);
  sap_status first = sap_element_gather_create(&g, &m.elements, &m.forest, allocator);
  if (first == SAP_OK) {
    first = gather_rows(&g, &m.state, touched, &fault, &index);
    /* a call that failed works when it is made again, and from then on nothing is allocated */
    CHECK_EQUAL(gather_rows(&g, &m.state, touched, &fault, &index), SAP_OK);
    const long before = counter->allocations;
    CHECK_EQUAL(gather_rows(&g, &m.state, touched, &fault, &index), SAP_OK);
    CHECK_EQUAL(counter->allocations, before);
  }
  sap_element_gather_release(&g);
  return first;
}

static void failing_allocations_are_clean_errors(void) { CHECK(fail_allocations(gather) > 1); }

static const check_test tests[] = {
    CHECK_TEST(rows_of_every_kind),     CHECK_TEST(totals_and_groups_that_are_off),
    CHECK_TEST(impulses_become_forces), CHECK_TEST(faults),
    CHECK_TEST(wrong_elements),         CHECK_TEST(failing_allocations_are_clean_errors),
};
CHECK_FILE(test_elements, tests);
