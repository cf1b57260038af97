/* Tests torsional and rolling friction gathered from the model of model.h, and the wrenches that
 * are written back. */
#include "gathering.h"
#include "step/scatter.h"
#include "step/stepper_object.h"

/* Adds a contact of dimension 4 or 6, in a model without cores. */
static struct engine_contact *add_spin(int32_t geom1, int32_t geom2, int32_t dim,
                                       enum sap_cone cone) {
  const int32_t rows = cone == SAP_CONE_ELLIPTIC ? dim : 2 * (dim - 1);
  struct engine_contact *c = add_contact(&l, geom1, geom2, dim, rows, &seed);
  c->friction[2] = 0.02;
  c->friction[3] = 0.003;
  c->friction[4] = 0.004;
  return c;
}

static void begin_soft(uint64_t first) {
  begin(first);
  m.forest.barrier = NULL;
}

/* Returns the angular velocity of a body about y. */
static double turn(int32_t body) {
  const double own[BODIES] = {0, 0, m.qvel[3], m.qvel[3] + m.qvel[4], 0, 0};
  return own[m.body_weldid[body]];
}

static void spins_of_every_kind(void) {
  begin_soft(11);
  const enum sap_cone cone = SAP_CONE_ELLIPTIC;
  struct engine_contact *still = add_contact(&l, 2, 0, 3, 3, &seed);
  memcpy(still->pos, m.q1, sizeof still->pos); /* left out: on the only axis */
  add_spin(0, 1, 4, cone);                     /* no dof turns the mass */
  add_spin(2, 5, 6, cone);                     /* pendulum, static body */
  add_contact(&l, 1, 4, 3, 3, &seed);
  add_spin(1, 4, 4, cone);                       /* two trees */
  add_spin(4, 2, 6, cone)->friction[3] = 1e-5;   /* inside one tree; rolls about t1 */
  add_spin(3, 1, 4, cone)->friction[2] = 0.9e-5; /* none */
  REQUIRE(gather(cone) && g.problem.n_contacts == 6);

  const sap_spin *spin = g.problem.spin;
  REQUIRE(spin != NULL && spin->n == 3);
  const int32_t contact[3] = {1, 3, 4}, index[3] = {2, 4, 5};
  const double mu[9] = {0.02, 0.003, 0.004, 0.02, 0, 0, 0.02, 0, 0.004};
  const double *J = spin->J;
  CHECK_ALL_CLOSE(spin->mu, mu, 9, 0.0);
  for (int32_t i = 0; i < 3; ++i) {
    const struct engine_contact *c = &l.contacts[index[i]];
    const int32_t trees[2] = {g.problem.tree_a[contact[i]], g.problem.tree_b[contact[i]]};
    CHECK_EQUAL(spin->contact[i], contact[i]);
    CHECK_EQUAL(g.contacts[contact[i]].index, index[i]);
    double v[3] = {0, 0, 0};
    for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
      const int32_t n = m.tree_dofnum[trees[side]];
      for (int32_t j = 0; j < 3 * n; ++j) {
        v[j / n] += J[j] * m.qvel[m.tree_dofadr[trees[side]] + j % n];
      }
      J += 3 * (int64_t)n;
    }
    for (int row = 0; row < 3; ++row) {
      const double relative = turn(c->geom[1]) - turn(c->geom[0]);
      CHECK_CLOSE(v[row], c->frame[3 * row + 1] * relative, 1e-15);
    }
  }
  CHECK_EQUAL(J - spin->J, g.spins.nJ);

  /* without sliding friction there is none */
  memset(m.friction, 0, sizeof m.friction);
  for (int32_t i = 0; i < l.list.count; ++i) {
    l.contacts[i].friction[0] = l.contacts[i].friction[1] =
        1e-5; /* friction of the explicit pair */
  }
  REQUIRE(run(cone));
  CHECK(g.problem.spin == NULL && g.problem.n_contacts == 6);
  sap_gather_release(&g);
}

/* Finds the wrench (n, t1, t2, torques about them) that rows of the engine stand for. */
static void wrench_of(const struct engine_contact *c, enum sap_cone cone, const double *rows,
                      double *wrench) {
  const double *row = rows + c->row;
  memset(wrench, 0, 6 * sizeof *wrench);
  for (int k = 0; k < c->dim; ++k) {
    if (cone == SAP_CONE_ELLIPTIC || c->dim == 1) {
      wrench[k] = row[k];
    } else if (k > 0) {
      wrench[0] += row[2 * k - 2] + row[2 * k - 1];
      wrench[k] = c->friction[k - 1] * (row[2 * k - 2] - row[2 * k - 1]);
    }
  }
}

static void wrenches_of_either_cone(void) {
  static const int32_t dims[] = {1, 3, 4, 6};
  for (int trial = 0; trial < 40; ++trial) {
    const enum sap_cone cone = trial % 2 ? SAP_CONE_PYRAMIDAL : SAP_CONE_ELLIPTIC;
    const int32_t dim = dims[trial / 2 % 4];
    begin_soft(12 + (uint64_t)trial);
    add_contact(&l, 0, 1, 1, 1, &seed);
    const struct engine_contact *c = add_spin(4, 1, dim, cone);
    if (dim == 1) {
      l.list.n_rows = c->row + 1; /* either cone has one row */
    }
    REQUIRE(gather(cone) && g.problem.n_contacts == 2);
    REQUIRE(g.spins.spin.n == (dim > 3));

    /* an impulse within the engine's pyramid, some of them on its side */
    double left = check_random(&seed, 0.5, 1), wrench[6] = {0}, found[6];
    wrench[0] = left;
    for (int k = 1; k < dim; ++k) {
      const double share = k < dim - 1 || trial % 8 > 3 ? check_random(&seed, 0, left) : left;
      wrench[k] = c->friction[k - 1] * (check_random_bits(&seed) % 2 ? share : -share);
      left -= share;
    }
    memset(g.gamma, 0, 6 * sizeof *g.gamma);
    memset(g.spins.gamma, 0, 3 * sizeof *g.gamma);
    memset(g.v, 0, NV * sizeof *g.v);
    for (int k = 0; k < 3; ++k) {
      wrench[k] /= 0.01;
      wrench[3 + k] /= 0.01;
      g.gamma[3 + (k + 2) % 3] = wrench[k] * 0.01;
      g.spins.gamma[k] = wrench[3 + k] * 0.01;
    }
    double qacc[NV], force[NV], rows[11], expected[NV] = {0};
    sap_scatter(&g, cone, 1e10, qacc, force, rows);
    REQUIRE(g.fault == SAP_FAULT_NONE);
    wrench_of(c, cone, rows, found);
    CHECK_ALL_CLOSE(found, wrench, 6, 1e-12);
    for (int i = 0; i < 2 * (dim - 1) && cone == SAP_CONE_PYRAMIDAL; ++i) {
      CHECK(rows[c->row + i] >= -1e-13);
    }

    /* its power is that of the point and of the turning */
    const double qvel[NV] = {m.qvel[0], m.qvel[1], m.qvel[2], m.qvel[3], m.qvel[4]};
    for (int j = 0; j < NV; ++j) {
      memset(m.qvel, 0, sizeof m.qvel);
      m.qvel[j] = 1.0;
      double v1[3], v2[3];
      velocity(&m, m.body_weldid[c->geom[0]], c->pos, v1);
      velocity(&m, m.body_weldid[c->geom[1]], c->pos, v2);
      for (int row = 0; row < 3; ++row) {
        const double *axis = c->frame + 3 * row;
        for (int i = 0; i < 3; ++i) {
          expected[j] += wrench[row] * axis[i] * (v2[i] - v1[i]);
        }
        expected[j] += wrench[3 + row] * axis[1] * (turn(c->geom[1]) - turn(c->geom[0]));
      }
    }
    memcpy(m.qvel, qvel, sizeof qvel);
    CHECK_ALL_CLOSE(force, expected, NV, 1e-12);
    sap_gather_release(&g);
  }
}

/* The friction cone is larger than the pyramid: there are negative edges, and still the same
 * force. */
static void edges_beyond_the_pyramid(void) {
  begin_soft(13);
  const struct engine_contact *c = add_spin(0, 3, 4, SAP_CONE_PYRAMIDAL);
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
  REQUIRE(run(SAP_CONE_PYRAMIDAL));
  REQUIRE(g.spins.spin.n == 1);
  const double gamma[3] = {0.4, -0.2, 1.0}, torque[3] = {0.01, 0, 0};
  memcpy(g.gamma, gamma, sizeof gamma);
  memcpy(g.spins.gamma, torque, sizeof torque);
  memset(g.v, 0, NV * sizeof *g.v);
  double qacc[NV], force[NV], rows[6], found[6];
  sap_scatter(&g, SAP_CONE_PYRAMIDAL, 1e10, qacc, force, rows);
  wrench_of(c, SAP_CONE_PYRAMIDAL, rows, found);
  const double wrench[6] = {100, 40, -20, 1, 0, 0};
  CHECK_ALL_CLOSE(found, wrench, 6, 1e-12);
  /* 100 N less 80, 80 and 50, shared by six edges */
  const double least = -110.0 / 6, edges[6] = {80, 0, 0, 80, 50, 0};
  for (int i = 0; i < 6; ++i) {
    CHECK_CLOSE(rows[i], least + edges[i], 1e-12);
  }
  sap_gather_release(&g);
}

/* Gathers two spins after a change, of the second one, c, or of the model, and checks the fault. */
#define FAULT(change, code)                                                  \
  do {                                                                       \
    begin_soft(14);                                                          \
    add_spin(0, 3, 6, SAP_CONE_ELLIPTIC)->surface_velocity[2] = 0.0;         \
    c = add_spin(1, 2, 6, SAP_CONE_ELLIPTIC);                                \
    change;                                                                  \
    REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);         \
    REQUIRE(run(SAP_CONE_ELLIPTIC));                                         \
    CHECK_EQUAL(g.fault, code);                                              \
    CHECK_EQUAL(g.fault_index, 1);                                           \
    CHECK_EQUAL(g.problem.n_contacts, 0);                                    \
    CHECK(g.problem.spin == NULL && g.spins.spin.n == 0 && g.spins.nJ == 0); \
    sap_gather_release(&g);                                                  \
  } while (0)

static void faults(void) {
  struct engine_contact *c;
  FAULT(c->dim = 5, SAP_FAULT_DIMENSION);
  FAULT(c->surface_velocity[2] = 0.1, SAP_FAULT_DIMENSION);
  FAULT(m.forest.barrier = m.barrier, SAP_FAULT_DIMENSION);
  FAULT(c->friction[2] = NAN, SAP_FAULT_CONTACT);
  FAULT(c->friction[4] = INFINITY, SAP_FAULT_CONTACT);
  FAULT(c->row += 1, SAP_FAULT_ROWS);
}

/* A solution from elsewhere is written where its spins are as many as those of the problem. */
static void writing_needs_the_spins(void) {
  begin_soft(15);
  add_spin(0, 3, 4, SAP_CONE_ELLIPTIC);
  const sap_step_settings step = sap_step_settings_default(0.01);
  sap_stepper *stepper;
  REQUIRE(sap_stepper_create(&stepper, &m.forest, NULL, &step, NULL, NULL, NULL) == SAP_OK);
  double qacc[NV], force[NV], rows[4] = {0};
  const sap_step_arrays arrays = {.state = m.state,
                                  .contacts = l.list,
                                  .qacc = qacc,
                                  .qfrc_constraint = force,
                                  .efc_force = rows};
  REQUIRE(sap_stepper_gather(stepper, &arrays, NULL) == SAP_OK);
  const double gamma[3] = {0.01, 0.02, 0.03}, spin_gamma[3] = {0.04, 0, 0};
  struct sap_found found = {
      .v = m.qvel, .gamma = gamma, .spin_gamma = spin_gamma, .n_v = NV, .n_gamma = 3};
  CHECK(!sap_stepper_write(stepper, &arrays, &found));
  found.n_spin_gamma = 3;
  CHECK(sap_stepper_write(stepper, &arrays, &found));
  const double expected[4] = {3, 1, 2, 4};
  CHECK_ALL_CLOSE(rows, expected, 4, 1e-15);
  sap_stepper_destroy(stepper);
}

static const check_test tests[] = {
    CHECK_TEST(spins_of_every_kind),      CHECK_TEST(wrenches_of_either_cone),
    CHECK_TEST(edges_beyond_the_pyramid), CHECK_TEST(faults),
    CHECK_TEST(writing_needs_the_spins),
};
CHECK_FILE(test_spins, tests);
