/* Tests gathering from the model of model.h. */
#include "model.h"
#include "step/contacts/material.h"
#include "step/scatter.h"
#include "problem/problem_check.h"

/* The branches of a problem follow the pattern of M, and of D if there is any. */
static void check_branches(const struct sap_gather *g, const int32_t *parent) {
  CHECK(memcmp(g->problem.parent, parent, NV * sizeof *parent) == 0);
}

static void mass_and_free_motion(void) {
  uint64_t seed = 1;
  struct model m;
  struct list l;
  struct sap_gather g;
  sap_error error;
  make_model(&m, &seed);
  make_list(&l);
  const double c[3] = {0.5, 0.25, 2.0};
  memcpy(m.damping + 4 * SAP_DAMPING_TERMS, c, sizeof c);
  REQUIRE(sap_forest_check(&m.forest, &error) == SAP_OK);
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
  REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
  CHECK_EQUAL(g.fault, SAP_FAULT_NONE);
  CHECK_EQUAL(g.problem.n_contacts, 0);
  check_branches(&g, (const int32_t[]){-1, -1, -1, -1, 0});

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

static void fill_slopes(struct model *m, double from, double to, uint64_t *seed) {
  for (int i = 0; i < ND; ++i) {
    m->qDeriv[i] = check_random(seed, from, to);
  }
}

/* A = M - dt sym(D) and A a* = f, whatever an earlier step left in A */
static void smooth_forces_are_implicit(void) {
  uint64_t seed = 10;
  struct model m;
  struct list l;
  struct sap_gather g;
  make_model(&m, &seed);
  make_list(&l);
  give_slopes(&m);
  m.damping[4 * SAP_DAMPING_TERMS] = 7.0; /* D has it */
  REQUIRE(sap_forest_check(&m.forest, NULL) == SAP_OK);
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
  for (int step = 0; step < 3; ++step) {
    fill_slopes(&m, -9.0, 9.0, &seed);
    REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
    REQUIRE(g.fault == SAP_FAULT_NONE);
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

  check_branches(&g, (const int32_t[]){-1, 0, 1, -1, 0});

  /* without any force that depends on the velocity the engine's a* is taken */
  memset(m.qDeriv, 0, sizeof(double) * 9);
  REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
  const double mass[9] = {2, 0, 0, 0, 2, 0, 0, 0, 2};
  CHECK_ALL_CLOSE(g.problem.A, mass, 9, 0.0);
  CHECK_ALL_CLOSE(g.free_motion.a_star, m.qacc_smooth, 3, 0.0);
  sap_gather_release(&g);
}

/* Makes a model with slopes, and damping of one joint, in a gather. */
static void make_damped(struct model *m, struct list *l, struct sap_gather *g, uint64_t *seed) {
  make_model(m, seed);
  make_list(l);
  give_slopes(m);
  m->damping[4 * SAP_DAMPING_TERMS] = 7.0;
  REQUIRE(sap_gather_create(g, &m->forest, NULL, NULL) == SAP_OK);
}

/* slopes with which A is not positive definite in the first tree, and in the second by damping
 * alone */
static void drive_on(struct model *m) {
  m->qDeriv[4] = 250.0;  /* 2 - 0.01 250 < 0: the engine's a* */
  m->qDeriv[12] = 400.0; /* 3 - 0.01 400 < 0: damping alone */
}

/* If A would not be positive definite, a tree keeps only the damping of its joints. */
static void forces_that_drive_motion_on_are_explicit(void) {
  uint64_t seed = 11;
  struct model m;
  struct list l;
  struct sap_gather g;
  make_damped(&m, &l, &g, &seed);
  fill_slopes(&m, -9.0, 9.0, &seed);
  drive_on(&m);
  REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
  REQUIRE(g.fault == SAP_FAULT_NONE);
  const double A[13] = {2, 0, 0, 0, 2, 0, 0, 0, 2, 5, 1, 1, 3.07};
  CHECK_ALL_CLOSE(g.problem.A, A, 13, 1e-15);
  CHECK_ALL_CLOSE(g.free_motion.a_star, m.qacc_smooth, 3, 0.0);
  CHECK_CLOSE(5 * g.free_motion.a_star[3] + g.free_motion.a_star[4], m.qfrc_smooth[3], 1e-13);
  CHECK_CLOSE(g.free_motion.a_star[3] + 3.07 * g.free_motion.a_star[4], m.qfrc_smooth[4], 1e-13);
  sap_gather_release(&g);
}

/* S of a problem with the factors that the gather knows, and of A alone: the same bits */
static void check_factors(const struct sap_gather *g, const int *known) {
  sap_problem plain = g->problem;
  double S[2][13];
  uint64_t strips[NV];
  plain.A_inverse_factor = NULL;
  for (int t = 0; t < g->forest->n_trees; ++t) {
    CHECK_EQUAL(g->problem.A_inverse_factor[t] != NULL, known[t]);
  }
  REQUIRE(sap_invert_mass(&g->problem, 0, g->forest->n_trees, NULL, S[0], strips, NULL, NULL) ==
          SAP_OK);
  REQUIRE(sap_invert_mass(&plain, 0, g->forest->n_trees, NULL, S[1], strips, NULL, NULL) == SAP_OK);
  CHECK(memcmp(S[0], S[1], sizeof S[0]) == 0);
}

/* the factors that the free motion took are of the A of this step, and of no tree that took none */
static void factors_are_known(void) {
  uint64_t seed = 12;
  struct model m;
  struct list l;
  struct sap_gather g;
  make_damped(&m, &l, &g, &seed);
  for (int trial = 0; trial < 20; ++trial) {
    fill_slopes(&m, -9.0, 9.0, &seed);
    if (trial % 2 == 1) {
      drive_on(&m);
    }
    REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
    REQUIRE(g.fault == SAP_FAULT_NONE);
    check_factors(&g, (const int[]){trial % 2 == 0, 1});
  }
  sap_gather_release(&g);
}

/* Contacts of every kind have the right trees, Jacobians and materials. */
static void contacts_of_every_kind(void) {
  uint64_t seed = 2;
  struct model m;
  struct list l;
  struct sap_gather g;
  sap_error error;
  make_model(&m, &seed);
  make_list(&l);
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
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
  REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
  REQUIRE(g.fault == SAP_FAULT_NONE);
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
  uint64_t seed = 8;
  struct model m;
  struct list l;
  struct sap_gather g;
  make_model(&m, &seed);
  make_list(&l);
  for (int i = 0; i < 3; ++i) {
    add_contact(&l, 0, 1, 3, 3, &seed)->dist = dist[i];
  }
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
  for (int trial = 0; trial < 3; ++trial) {
    g.open_tau_d = most[trial];
    REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
    REQUIRE(g.fault == SAP_FAULT_NONE && g.problem.n_contacts == 3);
    const double tau_d[3] = {fmin(0.01, most[trial]), 0.01, 0.01};
    CHECK_ALL_CLOSE(g.tau_d, tau_d, 3, 0.0);
  }
  sap_gather_release(&g);
}

/* a contact that moves nothing is left out, and those behind it keep their bodies */
static void contacts_behind_one_left_out(void) {
  uint64_t seed = 7;
  struct model m;
  struct list l;
  struct sap_gather g;
  make_model(&m, &seed);
  make_list(&l);
  add_contact(&l, 0, 1, 3, 3, &seed); /* world, mass */
  struct engine_contact *still = add_contact(&l, 2, 0, 3, 3, &seed);
  memcpy(still->pos, m.q1, sizeof still->pos); /* on the only axis */
  add_contact(&l, 1, 4, 3, 3, &seed);          /* mass, pendulum */
  add_contact(&l, 4, 0, 3, 3, &seed);          /* pendulum, world */
  add_contact(&l, 3, 1, 3, 3, &seed);          /* pendulum, mass */
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
  REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
  REQUIRE(g.fault == SAP_FAULT_NONE && g.problem.n_contacts == 4);
  const int32_t index[4] = {0, 2, 3, 4}, tree_a[4] = {0, 0, 1, 1}, tree_b[4] = {-1, 1, -1, 0};
  for (int32_t i = 0; i < 4; ++i) {
    CHECK_EQUAL(g.contacts[i].index, index[i]);
    CHECK_EQUAL(g.problem.tree_a[i], tree_a[i]);
    CHECK_EQUAL(g.problem.tree_b[i], tree_b[i]);
    CHECK_CLOSE(g.phi0[i], l.contacts[index[i]].dist, 0.0);
  }
  sap_gather_release(&g);
}

/* J^T f of contacts of one tree, of two, and of one again */
static void forces_of_runs(void) {
  uint64_t seed = 5;
  struct model m;
  struct list l;
  struct sap_gather g;
  make_model(&m, &seed);
  make_list(&l);
  for (int i = 0; i < 5; ++i) {
    add_contact(&l, i == 2, i == 2 ? 4 : 1 + 3 * (i == 4), 1, 1, &seed);
  }
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
  REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
  REQUIRE(g.fault == SAP_FAULT_NONE && g.problem.n_contacts == 5);
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
  uint64_t seed = 3;
  for (int cone = SAP_CONE_ELLIPTIC; cone <= SAP_CONE_PYRAMIDAL; ++cone) {
    struct model m;
    struct list l;
    struct sap_gather g;
    make_model(&m, &seed);
    make_list(&l);
    const int32_t full = cone == SAP_CONE_ELLIPTIC ? 3 : 4;
    add_contact(&l, 0, 5, 3, full, &seed); /* nothing moves: its rows become 0 */
    add_contact(&l, 1, 4, 3, full, &seed);
    add_contact(&l, 0, 1, 1, 1, &seed);
    REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
    REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, (enum sap_cone)cone, &parameters) ==
            SAP_OK);
    REQUIRE(g.fault == SAP_FAULT_NONE && g.problem.n_contacts == 2);
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

/* Every fault has a name, and leaves a problem without contacts. */
static void faults(void) {
  static const enum sap_fault expected[] = {
      SAP_FAULT_OVERFLOW, SAP_FAULT_DIMENSION, SAP_FAULT_GEOM,  SAP_FAULT_GEOM,
      SAP_FAULT_ROWS,     SAP_FAULT_ROWS,      SAP_FAULT_FORCE, SAP_FAULT_MASS,
      SAP_FAULT_CONTACT,  SAP_FAULT_CONTACT};
  static const int64_t where[] = {1, 1, 1, 1, 1, -1, 2, 1, 1, 1};
  uint64_t seed = 4;
  for (size_t kind = 0; kind < CHECK_COUNT(expected); ++kind) {
    struct model m;
    struct list l;
    struct sap_gather g;
    make_model(&m, &seed);
    make_list(&l);
    add_contact(&l, 0, 1, 3, 3, &seed);
    struct engine_contact *c = add_contact(&l, 1, 2, 3, 3, &seed);
    m.damping[4 * SAP_DAMPING_TERMS] = 1.0;
    REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
    switch (kind) {
      case 0: c->row = -1; break;
      case 1: c->dim = 2; break;
      case 2: c->geom[0] = -1; break;
      case 3: c->geom[1] = GEOMS; break;
      case 4: c->row = 4; break;
      case 5: l.list.n_rows += 2; break;
      case 6: m.qacc_smooth[2] = INFINITY; break;
      case 7: m.M[3] = -5.0; break;
      case 8: c->pos[1] = NAN; break;
      default: c->frame[8] = INFINITY; break;
    }
    REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
    CHECK_EQUAL(g.fault, expected[kind]);
    CHECK_EQUAL(g.fault_index, where[kind]);
    CHECK_EQUAL(g.problem.n_contacts, 0);
    CHECK_EQUAL(g.nJ, 0);
    sap_gather_release(&g);
  }
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
  uint64_t seed = 14;
  struct model m;
  struct list l;
  struct sap_gather g;
  make_model(&m, &seed);
  make_list(&l);
  m.forest.friction_given = given;
  for (size_t i = 0; i < CHECK_COUNT(cases); ++i) {
    const int32_t *geom = cases[i].geom, dim = cases[i].dim;
    memcpy(add_contact(&l, geom[0], geom[1], dim, dim, &seed)->friction, cases[i].engine,
           sizeof cases[i].engine);
  }
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, NULL) == SAP_OK);
  REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
  REQUIRE(g.fault == SAP_FAULT_NONE && g.problem.n_contacts == (int32_t)CHECK_COUNT(cases));
  for (size_t i = 0; i < CHECK_COUNT(cases); ++i) {
    CHECK_CLOSE(g.problem.mu[i], cases[i].mu, 1e-15);
  }

  /* one that is no number is a fault */
  static const double wrong[][2] = {{NAN, NAN}, {-0.5, 0.5}, {INFINITY, INFINITY}};
  for (size_t i = 0; i < CHECK_COUNT(wrong); ++i) {
    memcpy(l.contacts[3].friction, wrong[i], sizeof wrong[i]);
    REQUIRE(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
    CHECK_EQUAL(g.fault, SAP_FAULT_CONTACT);
    CHECK_EQUAL(g.fault_index, 3);
  }
  sap_gather_release(&g);
}

/* every array of a forest with one wrong entry is refused by its name */
static void wrong_forests(void) {
  static const char *const names[] = {
      "tree_dofadr", "tree_dofnum", "tree_dofnum", "dof_parentid",   "dof_parentid",
      "damping",     "M_rowadr",    "M_rownnz",    "M_rownnz",       "M_colind",
      "M_colind",    "body_weldid", "body_rootid", "body_dofadr",    "body_dofnum",
      "body_treeid", "geom_bodyid", "stiffness",   "stiffness",      "dissipation_time",
      "friction",    "barrier",     "delta",       "barrier_lambda", "D_rowadr",
      "D_rowadr",    "D_rownnz",    "D_rownnz",    "D_colind",       "D_colind",
      "pair_key"};
  uint64_t seed = 5;
  for (size_t kind = 0; kind < CHECK_COUNT(names); ++kind) {
    struct model m;
    sap_error error = {0};
    make_model(&m, &seed);
    give_slopes(&m);
    REQUIRE(sap_forest_check(&m.forest, &error) == SAP_OK);
    int64_t keys[2] = {7, 7};
    switch (kind) {
      case 0: m.tree_dofadr[1] = 2; break;
      case 1: m.tree_dofnum[1] = 3; break;
      case 2: m.tree_dofnum[0] = 0; break;
      case 3: m.dof_parentid[4] = 4; break;
      case 4: m.dof_parentid[4] = 2; break;
      case 5: m.damping[7] = NAN; break;
      case 6: m.M_rowadr[0] = -1; break;
      case 7: m.M_rownnz[4] = 3; break;
      case 8: m.M_rownnz[2] = 0; break;
      case 9: m.M_colind[4] = 2; break;
      case 10: m.M_colind[0] = 1; break;
      case 11: m.body_weldid[2] = BODIES; break;
      case 12: m.body_rootid[3] = -1; break;
      case 13: m.body_dofadr[2] = 2; break;
      case 14: m.body_dofnum[1] = -1; break;
      case 15: m.body_treeid[1] = 2; break;
      case 16: m.geom_bodyid[5] = -1; break;
      case 17: m.stiffness[1] = 0; break;
      case 18: m.stiffness[1] = NAN; break;
      case 19: m.dissipation_time[2] = INFINITY; break;
      case 20: m.friction[0] = -1; break;
      case 21: m.barrier[3] = 3; break;
      case 22: m.delta[1] = 0; break;
      case 23: m.barrier_lambda[2] = NAN; break;
      case 24: m.D_rowadr[2] = -1; break;
      case 25: m.D_rowadr[1] = ND + 1; break;
      case 26: m.D_rownnz[3] = -1; break;
      case 27: m.D_rownnz[4] = 3; break;
      case 28: m.D_colind[2] = 3; break;
      case 29: m.D_colind[9] = 2; break;
      default:
        m.forest.n_pairs = 2;
        m.forest.pair_key = keys;
        break;
    }
    CHECK_EQUAL(sap_forest_check(&m.forest, &error), SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, names[kind]);
    CHECK(error.index >= 0);
  }
  struct model m;
  sap_error error = {0};
  make_model(&m, &seed);
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
  uint64_t seed = 9;
  struct model m;
  make_model(&m, &seed);
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
