/* Tests gathering from the model of model.h. */
#include "gathering.h"
#include "step/contacts/material.h"
#include "step/scatter.h"
#include "problem/problem_check.h"

/* The branches of a problem follow the pattern of M, and of D if there is any. */
static void check_branches(const int32_t *parent) {
  CHECK(memcmp(g.problem.parent, parent, NV * sizeof *parent) == 0);
}

static void mass_and_free_motion(void) {
  sap_error error;
  begin(1);
  const double c[3] = {0.5, 0.25, 2.0};
  memcpy(m.damping + 4 * SAP_DAMPING_TERMS, c, sizeof c);
  REQUIRE(sap_forest_check(&m.forest, &error) == SAP_OK);
  REQUIRE(gather(SAP_CONE_ELLIPTIC));
  CHECK_EQUAL(g.problem.n_contacts, 0);
  check_branches((const int32_t[]){-1, -1, -1, -1, 0});

  /* slope of (c0 + c1 |v| + c2 v^2) v */
  const double v = m.qvel[4], slope = c[0] + 2 * c[1] * fabs(v) + 3 * c[2] * v * v;
  const double A[13] = {2, 0, 0, 0, 2, 0, 0, 0, 2, 5, 1, 1, 3 + 0.01 * slope};
  CHECK_ALL_CLOSE(g.problem.A, A, 13, 1e-15);
  CHECK_ALL_CLOSE(g.free_motion.a_star, m.qacc_smooth, 3, 0.0);
  CHECK_CLOSE(5 * g.free_motion.a_star[3] + g.free_motion.a_star[4], m.qfrc_smooth[3], 1e-13);
  CHECK_CLOSE(g.free_motion.a_star[3] + A[12] * g.free_motion.a_star[4], m.qfrc_smooth[4], 1e-13);
  for (int i = 0; i < NV; ++i) {
    CHECK_CLOSE(g.problem.v_star[i], m.qvel[i] + 0.01 * g.free_motion.a_star[i], 1e-16);
    CHECK_CLOSE(g.free_motion.v_0[i], m.qvel[i], 0.0);
  }
  sap_gather_release(&g);
}

/* Begins with a model with slopes, and damping of one joint, which D has. */
static void begin_damped(uint64_t first) {
  begin(first);
  give_slopes(&m);
  m.damping[4 * SAP_DAMPING_TERMS] = 7.0;
  REQUIRE(sap_forest_check(&m.forest, NULL) == SAP_OK);
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
}

static void fill_slopes(void) {
  for (int i = 0; i < ND; ++i) {
    m.qDeriv[i] = check_random(&seed, -9, 9);
  }
}

/* The forces give A = M - dt sym(D) and A a* = f, whatever an earlier step left in A. */
static void smooth_forces_are_implicit(void) {
  begin_damped(10);
  for (int step = 0; step < 3; ++step) {
    fill_slopes();
    REQUIRE(run(SAP_CONE_ELLIPTIC) && g.fault == SAP_FAULT_NONE);
    const double *D = m.qDeriv, *E = D + 9, *f = m.qfrc_smooth;
    const double M[9] = {2, 0, 0, 0, 2, 0, 0, 0, 2}, N[4] = {5, 1, 1, 3};
    double A[13];
    for (int i = 0; i < 9; ++i) {
      A[i] = M[i] - 0.005 * (D[i] + D[i % 3 * 3 + i / 3]);
    }
    for (int i = 0; i < 4; ++i) {
      A[9 + i] = N[i] - 0.005 * (E[i] + E[i % 2 * 2 + i / 2]);
    }
    CHECK_ALL_CLOSE(g.problem.A, A, 13, 1e-15);
    for (int i = 0; i < 3; ++i) {
      CHECK_CLOSE(A[3 * i] * g.free_motion.a_star[0] + A[3 * i + 1] * g.free_motion.a_star[1] +
                      A[3 * i + 2] * g.free_motion.a_star[2],
                  f[i], 1e-13);
    }
    for (int i = 0; i < 2; ++i) {
      CHECK_CLOSE(A[9 + 2 * i] * g.free_motion.a_star[3] + A[10 + 2 * i] * g.free_motion.a_star[4],
                  f[3 + i], 1e-13);
    }
  }

  check_branches((const int32_t[]){-1, 0, 1, -1, 0});

  /* without any force that depends on the velocity the engine's a* is taken */
  memset(m.qDeriv, 0, sizeof(double) * 9);
  REQUIRE(run(SAP_CONE_ELLIPTIC));
  const double mass[9] = {2, 0, 0, 0, 2, 0, 0, 0, 2};
  CHECK_ALL_CLOSE(g.problem.A, mass, 9, 0.0);
  CHECK_ALL_CLOSE(g.free_motion.a_star, m.qacc_smooth, 3, 0.0);
  sap_gather_release(&g);
}

/* Sets slopes with which A is not positive definite in the first tree, and in the second by damping
 * alone. */
static void drive_on(void) {
  m.qDeriv[4] = 250.0;  /* 2 - 0.01 250 < 0: the engine's a* */
  m.qDeriv[12] = 400.0; /* 3 - 0.01 400 < 0: damping alone */
}

/* If A would not be positive definite, a tree keeps only the damping of its joints. */
static void forces_that_drive_motion_on_are_explicit(void) {
  begin_damped(11);
  fill_slopes();
  drive_on();
  REQUIRE(run(SAP_CONE_ELLIPTIC) && g.fault == SAP_FAULT_NONE);
  const double A[13] = {2, 0, 0, 0, 2, 0, 0, 0, 2, 5, 1, 1, 3.07};
  CHECK_ALL_CLOSE(g.problem.A, A, 13, 1e-15);
  CHECK_ALL_CLOSE(g.free_motion.a_star, m.qacc_smooth, 3, 0.0);
  CHECK_CLOSE(5 * g.free_motion.a_star[3] + g.free_motion.a_star[4], m.qfrc_smooth[3], 1e-13);
  CHECK_CLOSE(g.free_motion.a_star[3] + 3.07 * g.free_motion.a_star[4], m.qfrc_smooth[4], 1e-13);
  sap_gather_release(&g);
}

/* Checks that S of a problem with the factors that the gather knows has the bits of that of A
 * alone. */
static void check_factors(const int *known) {
  sap_problem plain = g.problem;
  double S[2][13];
  uint64_t strips[NV];
  plain.A_inverse_factor = NULL;
  for (int t = 0; t < g.forest->n_trees; ++t) {
    CHECK_EQUAL(g.problem.A_inverse_factor[t] != NULL, known[t]);
  }
  REQUIRE(sap_invert_mass(&g.problem, 0, g.forest->n_trees, NULL, S[0], strips, NULL, NULL) ==
          SAP_OK);
  REQUIRE(sap_invert_mass(&plain, 0, g.forest->n_trees, NULL, S[1], strips, NULL, NULL) == SAP_OK);
  CHECK(memcmp(S[0], S[1], sizeof S[0]) == 0);
}

/* The factors of the free motion are those of this A; a tree that took none has none. */
static void factors_are_known(void) {
  begin_damped(12);
  for (int trial = 0; trial < 20; ++trial) {
    fill_slopes();
    if (trial % 2 == 1) {
      drive_on();
    }
    REQUIRE(run(SAP_CONE_ELLIPTIC) && g.fault == SAP_FAULT_NONE);
    check_factors((const int[]){trial % 2 == 0, 1});
  }
  sap_gather_release(&g);
}

/* Contacts of every kind have the right trees, Jacobians and materials. */
static void contacts_of_every_kind(void) {
  sap_error error;
  begin(2);
  add_contact(&l, 0, 1, 3, 3, &seed);                         /* world, mass */
  add_contact(&l, 2, 5, 3, 3, &seed);                         /* pendulum, static body */
  add_contact(&l, 0, 1, 3, 0, &seed)->exclude = 1;            /* in the gap */
  double *own = add_contact(&l, 1, 4, 3, 3, &seed)->friction; /* two trees, an explicit pair */
  own[0] = own[1] = 0.77;
  add_contact(&l, 3, 1, 1, 1, &seed); /* two trees, frictionless */
  add_contact(&l, 2, 4, 3, 3, &seed); /* inside one tree */
  add_contact(&l, 0, 5, 3, 3, &seed); /* nothing moves */
  struct engine_contact *still = add_contact(&l, 2, 0, 3, 3, &seed);
  memcpy(still->pos, m.q1, sizeof still->pos); /* on the only axis */
  REQUIRE(gather(SAP_CONE_ELLIPTIC));
  REQUIRE(sap_regularize(&g.problem, &g.parameters, g.R_t, g.R_n, g.v_hat_n, NULL, &error) ==
          SAP_OK);

  const int32_t index[5] = {0, 1, 3, 4, 5}, tree_a[5] = {0, 1, 0, 1, 1},
                tree_b[5] = {-1, -1, 1, 0, -1};
  const double k[5] = {1e4, 2e4 / 1.2, 1e4, 1e4 * 0.75, 2e4};
  const double tau_d[5] = {0.01, (0.02 * 5 + 0.03) / 6, 0.01, 0.75 * 0.01, 0.02};
  const double mu[5] = {2 * 0.5 / 1.5, 2 * 0.25 * 0.6 / 0.85, 0.77, 0.0, 2 * 0.25 * 0.8 / 1.05};
  /* the core that is reached first, each geom having its share of the depth */
  const int8_t barrier[5] = {SAP_BARRIER_LOG, SAP_BARRIER_EXP, SAP_BARRIER_LOG, SAP_BARRIER_LOG,
                             SAP_BARRIER_EXP};
  const double delta[5] = {1e-3, 2e-3 * 1.2, 1e-3, 1e-3 / 0.75, 2e-3};
  REQUIRE(g.problem.n_contacts == 5 && g.problem.barrier == g.barrier);
  const double *J = g.problem.J;
  for (int32_t i = 0; i < 5; ++i) {
    const struct engine_contact *c = &l.contacts[index[i]];
    CHECK_EQUAL(g.contacts[i].index, index[i]);
    CHECK_EQUAL(g.problem.tree_a[i], tree_a[i]);
    CHECK_EQUAL(g.problem.tree_b[i], tree_b[i]);
    CHECK_CLOSE(g.k[i], k[i], 1e-11 * k[i]);
    CHECK_CLOSE(g.tau_d[i], tau_d[i], 1e-16);
    CHECK_CLOSE(g.problem.mu[i], mu[i], 1e-15);
    CHECK_EQUAL(g.barrier[i], barrier[i]);
    CHECK_CLOSE(g.delta[i], delta[i], 1e-17);
    CHECK_CLOSE(g.barrier_lambda[i], barrier[i] == SAP_BARRIER_EXP ? 4 : 1, 0);
    CHECK_CLOSE(g.phi0[i], c->dist, 0.0);
    CHECK_CLOSE(g.problem.v_hat_t[2 * i], -c->surface_velocity[0], 0.0);
    CHECK_CLOSE(g.problem.v_hat_t[2 * i + 1], -c->surface_velocity[1], 0.0);
    CHECK_CLOSE(g.problem.v_hat_n[i], -c->dist / (0.01 + tau_d[i]), 1e-12);
    CHECK(g.problem.R_t[i] > 0 && g.problem.R_n[i] > 0);

    /* J v against the velocities of the two bodies */
    double v1[3], v2[3];
    velocity(&m, m.body_weldid[c->geom[0]], c->pos, v1);
    velocity(&m, m.body_weldid[c->geom[1]], c->pos, v2);
    for (int row = 0; row < 3; ++row) {
      const double *axis = c->frame + 3 * ((row + 1) % 3);
      const int32_t trees[2] = {tree_a[i], tree_b[i]};
      double found = 0, expected = 0;
      const double *block = J;
      for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
        const int32_t n = m.tree_dofnum[trees[side]];
        for (int32_t j = 0; j < n; ++j) {
          found += block[row * n + j] * m.qvel[m.tree_dofadr[trees[side]] + j];
        }
        block += 3 * n;
      }
      for (int j = 0; j < 3; ++j) {
        expected += axis[j] * (v2[j] - v1[j]);
      }
      CHECK_CLOSE(found, expected, 1e-14);
    }
    J += 3 * m.tree_dofnum[tree_a[i]] + (tree_b[i] < 0 ? 0 : 3 * m.tree_dofnum[tree_b[i]]);
  }
  CHECK_EQUAL(J - g.problem.J, g.nJ);
  sap_gather_release(&g);
}

/* An open contact dissipates within the given time at most, a touching one within its own. */
static void open_contacts_have_a_short_damper(void) {
  static const double dist[3] = {0.001, 0.0, -0.001}, most[3] = {0.0025, 0.02, INFINITY};
  begin(8);
  for (int i = 0; i < 3; ++i) {
    add_contact(&l, 0, 1, 3, 3, &seed)->dist = dist[i];
  }
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
  for (int trial = 0; trial < 3; ++trial) {
    g.open_tau_d = most[trial];
    REQUIRE(run(SAP_CONE_ELLIPTIC) && g.fault == SAP_FAULT_NONE && g.problem.n_contacts == 3);
    const double tau_d[3] = {fmin(0.01, most[trial]), 0.01, 0.01};
    CHECK_ALL_CLOSE(g.tau_d, tau_d, 3, 0.0);
  }
  sap_gather_release(&g);
}

/* A contact that moves nothing is left out, and those behind it keep their bodies. */
static void contacts_behind_one_left_out(void) {
  begin(7);
  add_contact(&l, 0, 1, 3, 3, &seed); /* world, mass */
  struct engine_contact *still = add_contact(&l, 2, 0, 3, 3, &seed);
  memcpy(still->pos, m.q1, sizeof still->pos); /* on the only axis */
  add_contact(&l, 1, 4, 3, 3, &seed);          /* mass, pendulum */
  add_contact(&l, 4, 0, 3, 3, &seed);          /* pendulum, world */
  add_contact(&l, 3, 1, 3, 3, &seed);          /* pendulum, mass */
  REQUIRE(gather(SAP_CONE_ELLIPTIC) && g.problem.n_contacts == 4);
  const int32_t index[4] = {0, 2, 3, 4}, tree_a[4] = {0, 0, 1, 1}, tree_b[4] = {-1, 1, -1, 0};
  for (int32_t i = 0; i < 4; ++i) {
    CHECK_EQUAL(g.contacts[i].index, index[i]);
    CHECK_EQUAL(g.problem.tree_a[i], tree_a[i]);
    CHECK_EQUAL(g.problem.tree_b[i], tree_b[i]);
    CHECK_CLOSE(g.phi0[i], l.contacts[index[i]].dist, 0.0);
  }
  sap_gather_release(&g);
}

/* The forces are J^T f of contacts of one tree, of two, and of one again. */
static void forces_of_runs(void) {
  begin(5);
  for (int i = 0; i < 5; ++i) {
    add_contact(&l, i == 2, i == 2 ? 4 : 1 + 3 * (i == 4), 1, 1, &seed);
  }
  REQUIRE(gather(SAP_CONE_ELLIPTIC) && g.problem.n_contacts == 5);
  double qacc[NV], force[NV], rows[5], expected[NV] = {0};
  const double *J = g.problem.J;
  memset(g.v, 0, sizeof qacc);
  for (int c = 0; c < 5; ++c) {
    for (int side = 0; side < 2; ++side) {
      const int32_t tree = side ? g.tree_b[c] : g.tree_a[c],
                    n = tree < 0 ? 0 : m.forest.tree_dofnum[tree];
      for (int row = 0; row < 3; ++row) {
        g.gamma[3 * c + row] = 0.01 * (1 + row + c);
        for (int j = 0; j < n; ++j) {
          expected[m.forest.tree_dofadr[tree] + j] += *J++ * (1 + row + c);
        }
      }
    }
  }
  CHECK(g.tree_b[1] < 0 && g.tree_b[2] >= 0 && g.tree_b[3] < 0 && g.tree_a[4] != g.tree_a[3]);
  sap_scatter(&g, SAP_CONE_ELLIPTIC, 1e10, qacc, force, rows);
  CHECK_ALL_CLOSE(force, expected, NV, 1e-12);
  sap_gather_release(&g);
}

/* Both cones write the forces of the solution, and J^T f. */
static void forces_of_either_cone(void) {
  for (int cone = SAP_CONE_ELLIPTIC; cone <= SAP_CONE_PYRAMIDAL; ++cone) {
    begin(3);
    const int32_t full = cone == SAP_CONE_ELLIPTIC ? 3 : 4;
    add_contact(&l, 0, 5, 3, full, &seed); /* nothing moves: its rows become 0 */
    add_contact(&l, 1, 4, 3, full, &seed);
    add_contact(&l, 0, 1, 1, 1, &seed);
    REQUIRE(gather((enum sap_cone)cone) && g.problem.n_contacts == 2);
    for (int i = 0; i < 6; ++i) {
      g.gamma[i] = check_random(&seed, -1, 1);
    }
    g.gamma[3] = g.gamma[4] = 0;
    for (int i = 0; i < NV; ++i) {
      g.v[i] = check_random(&seed, -1, 1);
    }
    double qacc[NV], force[NV], rows[9] = {9, 9, 9, 9, 9, 9, 9, 9, 9};
    sap_scatter(&g, (enum sap_cone)cone, 1e10, qacc, force, rows);
    CHECK_EQUAL(g.fault, SAP_FAULT_NONE);

    double expected[NV] = {0};
    const double *J = g.problem.J;
    for (int row = 0; row < 3; ++row) {
      for (int j = 0; j < 3; ++j) {
        expected[j] +=
            (J[3 * row + j] * g.gamma[row] + J[15 + 3 * row + j] * g.gamma[3 + row]) / 0.01;
      }
      for (int j = 0; j < 2; ++j) {
        expected[3 + j] += J[9 + 2 * row + j] * g.gamma[row] / 0.01;
      }
    }
    CHECK_ALL_CLOSE(force, expected, NV, 1e-12);
    for (int i = 0; i < NV; ++i) {
      CHECK_CLOSE(qacc[i], (g.v[i] - m.qvel[i]) / 0.01, 0.0);
    }
    const double *e = rows + full;
    for (int i = 0; i < full; ++i) {
      CHECK_CLOSE(rows[i], 0.0, 0.0);
    }
    if (cone == SAP_CONE_ELLIPTIC) {
      const double f[3] = {g.gamma[2] / 0.01, g.gamma[0] / 0.01, g.gamma[1] / 0.01};
      CHECK_ALL_CLOSE(e, f, 3, 0.0);
    } else {
      CHECK_CLOSE(e[0] + e[1] + e[2] + e[3], g.gamma[2] / 0.01, 1e-12);
      CHECK_CLOSE(0.5 * (e[0] - e[1]), g.gamma[0] / 0.01, 1e-12);
      CHECK_CLOSE(0.25 * (e[2] - e[3]), g.gamma[1] / 0.01, 1e-12);
    }
    CHECK_CLOSE(rows[2 * full], g.gamma[5] / 0.01, 0.0);

    /* a bad velocity is found before anything is written */
    g.v[4] = NAN;
    double before = qacc[0];
    g.v[0] += 1;
    sap_scatter(&g, (enum sap_cone)cone, 1e10, qacc, force, rows);
    CHECK_EQUAL(g.fault, SAP_FAULT_ACCELERATION);
    CHECK_EQUAL(g.fault_index, 4);
    CHECK_CLOSE(qacc[0], before, 0.0);
    sap_gather_release(&g);
  }
}

/* Gathers two contacts after a change, of the second one, c, or of the model. Checks the fault, and
 * that the problem has no contacts then. */
#define FAULT(change, code, at)                                      \
  do {                                                               \
    begin(4);                                                        \
    add_contact(&l, 0, 1, 3, 3, &seed);                              \
    c = add_contact(&l, 1, 2, 3, 3, &seed);                          \
    m.damping[4 * SAP_DAMPING_TERMS] = 1.0;                          \
    REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK); \
    change;                                                          \
    REQUIRE(run(SAP_CONE_ELLIPTIC));                                 \
    CHECK_EQUAL(g.fault, code);                                      \
    CHECK_EQUAL(g.fault_index, at);                                  \
    CHECK(g.problem.n_contacts == 0 && g.nJ == 0);                   \
    sap_gather_release(&g);                                          \
  } while (0)

static void faults(void) {
  struct engine_contact *c;
  FAULT(c->row = -1, SAP_FAULT_OVERFLOW, 1);
  FAULT(c->dim = 2, SAP_FAULT_DIMENSION, 1);
  FAULT(c->geom[0] = -1, SAP_FAULT_GEOM, 1);
  FAULT(c->geom[1] = GEOMS, SAP_FAULT_GEOM, 1);
  FAULT(c->row = 4, SAP_FAULT_ROWS, 1);
  FAULT(l.list.n_rows += 2, SAP_FAULT_ROWS, -1);
  FAULT(m.qacc_smooth[2] = INFINITY, SAP_FAULT_FORCE, 2);
  FAULT(m.M[3] = -5.0, SAP_FAULT_MASS, 1);
  FAULT(c->pos[1] = NAN, SAP_FAULT_CONTACT, 1);
  FAULT(c->frame[8] = INFINITY, SAP_FAULT_CONTACT, 1);
}

/* A contact has the engine's coefficient unless a material on either side gives one. */
static void friction_of_either_source(void) {
  static const struct {
    int32_t geom[2];
    int32_t dim;
    double engine[2];
    double mu;
  } cases[] = {{{0, 1}, 3, {0.3, 0.3}, 2 * 0.5 / 1.5},  /* given on one side */
               {{2, 5}, 3, {0.3, 0.3}, 0.3},            /* by the engine alone */
               {{2, 5}, 1, {0.3, 0.3}, 0.0},            /* one dimension */
               {{5, 3}, 3, {0.9, 0.4}, 0.6},            /* unequal in the two directions */
               {{5, 3}, 3, {1e-5, 1e-5}, 0.0},          /* the engine's least */
               {{1, 4}, 3, {0.77, 0.77}, 0.77},         /* a pair that is listed, one side given */
               {{1, 0}, 3, {NAN, NAN}, 2 * 0.5 / 1.5}}; /* not read */
  const int8_t given[GEOMS] = {0, 1, 0, 0, 0, 0};
  begin(14);
  m.forest.friction_given = given;
  for (size_t i = 0; i < CHECK_COUNT(cases); ++i) {
    const int32_t *geom = cases[i].geom, dim = cases[i].dim;
    memcpy(add_contact(&l, geom[0], geom[1], dim, dim, &seed)->friction, cases[i].engine,
           sizeof cases[i].engine);
  }
  REQUIRE(gather(SAP_CONE_ELLIPTIC) && g.problem.n_contacts == (int32_t)CHECK_COUNT(cases));
  for (size_t i = 0; i < CHECK_COUNT(cases); ++i) {
    CHECK_CLOSE(g.problem.mu[i], cases[i].mu, 1e-15);
  }

  /* one that is no number is a fault */
  static const double wrong[][2] = {{NAN, NAN}, {-0.5, 0.5}, {INFINITY, INFINITY}};
  for (size_t i = 0; i < CHECK_COUNT(wrong); ++i) {
    memcpy(l.contacts[3].friction, wrong[i], sizeof wrong[i]);
    REQUIRE(run(SAP_CONE_ELLIPTIC));
    CHECK_EQUAL(g.fault, SAP_FAULT_CONTACT);
    CHECK_EQUAL(g.fault_index, 3);
  }
  sap_gather_release(&g);
}

#define WRONG(change, name)                                                 \
  do {                                                                      \
    sap_error error = {0};                                                  \
    begin(5);                                                               \
    give_slopes(&m);                                                        \
    REQUIRE(sap_forest_check(&m.forest, &error) == SAP_OK);                 \
    change;                                                                 \
    CHECK_EQUAL(sap_forest_check(&m.forest, &error), SAP_INVALID_ARGUMENT); \
    CHECK_STRING(error.argument, name);                                     \
    CHECK(error.index >= 0);                                                \
  } while (0)

/* Every array of a forest with one wrong entry is refused by its name. */
static void wrong_forests(void) {
  WRONG(m.tree_dofadr[1] = 2, "tree_dofadr");
  WRONG(m.tree_dofnum[1] = 3, "tree_dofnum");
  WRONG(m.tree_dofnum[0] = 0, "tree_dofnum");
  static const int32_t before[] = {-2, -1, -1, -1, -1}, of_two_dofs[] = {-1, -1, -1, 3, -1};
  static const int32_t inside[] = {-1, 3, -1, -1, -1}, of_a_ball[] = {3, -1, -1, -1, -1};
  WRONG(m.forest.dof_quaternion = before, "dof_quaternion");
  WRONG(m.forest.dof_quaternion = of_two_dofs, "dof_quaternion");
  WRONG(m.forest.dof_quaternion = inside, "dof_quaternion");
  begin(5);
  m.forest.dof_quaternion = of_a_ball;
  CHECK_EQUAL(sap_forest_check(&m.forest, NULL), SAP_OK);
  static const int8_t turns[SAP_DAMPING_TERMS * 5] = {0, 1, 4, 5};
  WRONG(m.forest.dof_turns = turns, "dof_turns");
  /* springs of one tree alone, and without all pairs of dofs in D */
  static const int8_t of_one_tree[] = {1, 0}, of_both_trees[] = {1, 1}, odd[] = {2, 2};
  WRONG(m.forest.tree_springs = of_one_tree, "tree_springs");
  WRONG((m.forest.tree_springs = of_both_trees, m.D_rownnz[3] = 1), "D_rownnz");
  WRONG((m.forest.tree_springs = of_both_trees, m.D_colind[0] = 1), "D_colind");
  WRONG(m.forest.tree_springs = odd, "tree_springs");
  WRONG(m.dof_parentid[4] = 4, "dof_parentid");
  WRONG(m.dof_parentid[4] = 2, "dof_parentid");
  WRONG(m.damping[7] = NAN, "damping");
  WRONG(m.M_rowadr[0] = -1, "M_rowadr");
  WRONG(m.M_rownnz[4] = 3, "M_rownnz");
  WRONG(m.M_rownnz[2] = 0, "M_rownnz");
  WRONG(m.M_colind[4] = 2, "M_colind");
  WRONG(m.M_colind[0] = 1, "M_colind");
  WRONG(m.body_weldid[2] = BODIES, "body_weldid");
  WRONG(m.body_rootid[3] = -1, "body_rootid");
  WRONG(m.body_dofadr[2] = 2, "body_dofadr");
  WRONG(m.body_dofnum[1] = -1, "body_dofnum");
  WRONG(m.body_treeid[1] = 2, "body_treeid");
  WRONG(m.geom_bodyid[5] = -1, "geom_bodyid");
  WRONG(m.stiffness[1] = 0, "stiffness");
  WRONG(m.stiffness[1] = NAN, "stiffness");
  WRONG(m.dissipation_time[2] = INFINITY, "dissipation_time");
  WRONG(m.dissipation_time[2] = 2.0 * SAP_TIME_STEP, "dissipation_time");
  WRONG(m.friction[0] = -1, "friction");
  static const double below[GEOMS] = {0}, endless[GEOMS] = {INFINITY};
  WRONG((m.friction[1] = 0.5, m.forest.static_friction = below), "static_friction");
  WRONG(m.forest.static_friction = endless, "static_friction");
  WRONG(m.barrier[3] = 3, "barrier");
  WRONG(m.delta[1] = 0, "delta");
  WRONG(m.barrier_lambda[2] = NAN, "barrier_lambda");
  WRONG(m.D_rowadr[2] = -1, "D_rowadr");
  WRONG(m.D_rowadr[1] = ND + 1, "D_rowadr");
  WRONG(m.D_rownnz[3] = -1, "D_rownnz");
  WRONG(m.D_rownnz[4] = 3, "D_rownnz");
  WRONG(m.D_colind[2] = 3, "D_colind");
  WRONG(m.D_colind[9] = 2, "D_colind");
  int64_t keys[2] = {7, 7};
  WRONG((m.forest.n_pairs = 2, m.forest.pair_key = keys), "pair_key");
  sap_error error = {0};
  begin(5);
  m.forest.n_trees = 1;
  CHECK_EQUAL(sap_forest_check(&m.forest, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "tree_dofnum");
  CHECK_EQUAL(error.index, -1);
}

#define MEMBER(name) {#name, offsetof(sap_forest, name)}

static void arrays_that_are_missing_are_named(void) {
  static const struct {
    const char *name;
    size_t offset;
  } arrays[] = {
      MEMBER(tree_dofadr), MEMBER(tree_dofnum), MEMBER(dof_parentid),     MEMBER(damping),
      MEMBER(M_rownnz),    MEMBER(M_rowadr),    MEMBER(M_colind),         MEMBER(body_weldid),
      MEMBER(body_rootid), MEMBER(body_dofadr), MEMBER(body_dofnum),      MEMBER(body_treeid),
      MEMBER(geom_bodyid), MEMBER(stiffness),   MEMBER(dissipation_time), MEMBER(friction),
      MEMBER(pair_key),    MEMBER(delta),       MEMBER(barrier_lambda),   MEMBER(D_rownnz),
      MEMBER(D_rowadr),    MEMBER(D_colind)};
  begin(9);
  give_slopes(&m);
  m.forest.barrier = m.barrier;
  m.forest.delta = m.delta;
  m.forest.barrier_lambda = m.barrier_lambda;
  CHECK_EQUAL(sap_forest_check(&m.forest, NULL), SAP_OK);
  for (size_t a = 0; a < CHECK_COUNT(arrays); ++a) {
    sap_forest forest = m.forest;
    sap_error error = {0};
    const void *none = NULL;
    memcpy((char *)&forest + arrays[a].offset, &none, sizeof none);
    CHECK_EQUAL(sap_forest_check(&forest, &error), SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, arrays[a].name);
    CHECK_EQUAL(error.index, -1);
  }
}

static const check_test tests[] = {
    CHECK_TEST(mass_and_free_motion),
    CHECK_TEST(smooth_forces_are_implicit),
    CHECK_TEST(forces_that_drive_motion_on_are_explicit),
    CHECK_TEST(factors_are_known),
    CHECK_TEST(contacts_of_every_kind),
    CHECK_TEST(open_contacts_have_a_short_damper),
    CHECK_TEST(contacts_behind_one_left_out),
    CHECK_TEST(forces_of_runs),
    CHECK_TEST(forces_of_either_cone),
    CHECK_TEST(faults),
    CHECK_TEST(friction_of_either_source),
    CHECK_TEST(wrong_forests),
    CHECK_TEST(arrays_that_are_missing_are_named),
};
CHECK_FILE(test_gather, tests);
