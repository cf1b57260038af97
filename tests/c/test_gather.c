/* Gathering from a small model whose matrices are known by hand.
 *
 * Tree 0 is a point mass on three slides (body 1, dofs 0 to 2). Tree 1 is a double pendulum about y: body 2
 * turns about q1 (dof 3), body 3 about q2 (dof 4), body 4 is welded to body 3. Body 0 is the world, body 5
 * a static body. Geom g belongs to body g. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model/gather.h"
#include "model/material.h"
#include "model/scatter.h"

enum { NV = 5, BODIES = 6, GEOMS = 6, NM = 6, MOST = 8 };

struct model {
  int32_t tree_dofadr[2], tree_dofnum[2], dof_parentid[NV];
  int32_t M_rownnz[NV], M_rowadr[NV], M_colind[NM];
  int32_t body_weldid[BODIES], body_rootid[BODIES], body_dofadr[BODIES], body_dofnum[BODIES];
  int32_t body_treeid[BODIES], geom_bodyid[GEOMS];
  double damping[NV * SAP_DAMPING_TERMS], stiffness[GEOMS], dissipation_time[GEOMS];
  double friction[GEOMS], pair_friction[1], delta[GEOMS], core_lambda[GEOMS];
  int8_t core[GEOMS];
  int64_t pair_key[1];
  struct sap_forest forest;

  double qvel[NV], M[NM], cdof[6 * NV], subtree_com[3 * BODIES], qfrc_smooth[NV], qacc_smooth[NV];
  double q1[3], q2[3];
  struct sap_model_state state;
};

/* one entry of the engine's list, with fields in an order of their own */
struct engine_contact {
  int32_t exclude, row;
  double frame[9], pos[3], unused, dist, friction[5], surface_velocity[3], adhesion;
  int32_t dim, geom[2];
};

struct list {
  struct engine_contact contacts[MOST];
  struct sap_contact_list list;
};

static void cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static void make_model(struct model *m, uint64_t *seed) {
  *m = (struct model){
      .tree_dofadr = {0, 3},
      .tree_dofnum = {3, 2},
      .dof_parentid = {-1, 0, 1, -1, 3},
      .M_rownnz = {1, 1, 1, 1, 2},
      .M_rowadr = {0, 1, 2, 3, 4},
      .M_colind = {0, 1, 2, 3, 3, 4},
      .body_weldid = {0, 1, 2, 3, 3, 0},
      .body_rootid = {0, 1, 2, 2, 2, 5},
      .body_dofadr = {-1, 0, 3, 4, -1, -1},
      .body_dofnum = {0, 3, 1, 1, 0, 0},
      .body_treeid = {-1, 0, 1, 1, 1, -1},
      .geom_bodyid = {0, 1, 2, 3, 4, 5},
      .stiffness = {INFINITY, 1e4, 2e4, 3e4, INFINITY, 1e5},
      .dissipation_time = {0.5, 0.01, 0.02, 0.0, 0.04, 0.03},
      .friction = {1.0, 0.5, 0.25, 0.9, 0.8, 0.6},
      .core = {0, SAP_CORE_LOG, SAP_CORE_EXP, 0, 0, SAP_CORE_LOG},
      .delta = {0, 1e-3, 2e-3, 0, 0, 5e-3},
      .core_lambda = {0, 1, 4, 0, 0, 2},
      .pair_friction = {0.77},
      .pair_key = {1 * GEOMS + 4},
      .M = {2, 2, 2, 5, 1, 3},
  };
  m->forest = (struct sap_forest){2,
                                  NV,
                                  BODIES,
                                  GEOMS,
                                  NM,
                                  1,
                                  m->tree_dofadr,
                                  m->tree_dofnum,
                                  m->dof_parentid,
                                  m->damping,
                                  m->M_rownnz,
                                  m->M_rowadr,
                                  m->M_colind,
                                  m->body_weldid,
                                  m->body_rootid,
                                  m->body_dofadr,
                                  m->body_dofnum,
                                  m->body_treeid,
                                  m->geom_bodyid,
                                  m->stiffness,
                                  m->dissipation_time,
                                  m->friction,
                                  m->pair_key,
                                  m->pair_friction,
                                  m->core,
                                  m->delta,
                                  m->core_lambda};
  for (int i = 0; i < NV; ++i) {
    m->qvel[i] = check_random(seed, -1, 1);
    m->qfrc_smooth[i] = check_random(seed, -9, 9);
    m->qacc_smooth[i] = check_random(seed, -9, 9);
  }
  for (int i = 0; i < 3 * BODIES; ++i) {
    m->subtree_com[i] = check_random(seed, -1, 1);
  }
  for (int i = 0; i < 3; ++i) {
    m->q1[i] = check_random(seed, -1, 1);
    m->q2[i] = check_random(seed, -1, 1);
    m->cdof[6 * i + 3 + i] = 1.0;
  }
  /* a turn about q moves the centre of mass c of the tree by y x (c - q) */
  const double y[3] = {0, 1, 0};
  for (int dof = 3; dof < NV; ++dof) {
    const double *q = dof == 3 ? m->q1 : m->q2, *c = m->subtree_com + 3 * 2;
    const double arm[3] = {c[0] - q[0], c[1] - q[1], c[2] - q[2]};
    memcpy(m->cdof + 6 * dof, y, sizeof y);
    cross(y, arm, m->cdof + 6 * dof + 3);
  }
  m->state = (struct sap_model_state){m->qvel,        m->M,           m->cdof,
                                      m->subtree_com, m->qfrc_smooth, m->qacc_smooth};
}

#define FIELD(member) {(const char *)&l->contacts[0].member, sizeof(struct engine_contact)}

static void make_list(struct list *l) {
  memset(l, 0, sizeof *l);
  l->list = (struct sap_contact_list){.dist = FIELD(dist),
                                      .pos = FIELD(pos),
                                      .frame = FIELD(frame),
                                      .friction = FIELD(friction),
                                      .surface_velocity = FIELD(surface_velocity),
                                      .adhesion = FIELD(adhesion),
                                      .dim = FIELD(dim),
                                      .geom = FIELD(geom),
                                      .exclude = FIELD(exclude),
                                      .row = FIELD(row)};
}

/* adds a contact with `rows` rows at a random place, with a random frame */
static struct engine_contact *add_contact(struct list *l, int32_t geom1, int32_t geom2, int32_t dim,
                                          int32_t rows, uint64_t *seed) {
  struct engine_contact *c = &l->contacts[l->list.count++];
  double *n = c->frame, *t1 = c->frame + 3, *t2 = c->frame + 6, other[3], length = 0;
  for (int i = 0; i < 3; ++i) {
    n[i] = check_random(seed, -1, 1);
    other[i] = check_random(seed, -1, 1);
    c->pos[i] = check_random(seed, -1, 1);
  }
  cross(n, other, t1);
  cross(n, t1, t2);
  for (int axis = 0; axis < 3; ++axis) {
    double *a = c->frame + 3 * axis;
    length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    for (int i = 0; i < 3; ++i) {
      a[i] /= length;
    }
  }
  c->dist = check_random(seed, -0.01, 0.01);
  c->friction[0] = 0.5;
  c->friction[1] = 0.25;
  c->surface_velocity[0] = check_random(seed, -1, 1);
  c->surface_velocity[1] = check_random(seed, -1, 1);
  c->geom[0] = geom1;
  c->geom[1] = geom2;
  c->dim = dim;
  c->row = l->list.n_rows;
  l->list.n_rows += rows;
  return c;
}

/* velocity of the point p of a body, by hand */
static void velocity(const struct model *m, int32_t body, const double *p, double *v) {
  const double y[3] = {0, 1, 0};
  v[0] = v[1] = v[2] = 0;
  if (body == 1) {
    memcpy(v, m->qvel, 3 * sizeof *v);
  }
  for (int dof = 3; dof < NV; ++dof) {
    if ((dof == 3 && body >= 2 && body <= 4) || (dof == 4 && (body == 3 || body == 4))) {
      const double *q = dof == 3 ? m->q1 : m->q2;
      const double arm[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
      double turn[3];
      cross(y, arm, turn);
      for (int i = 0; i < 3; ++i) {
        v[i] += turn[i] * m->qvel[dof];
      }
    }
  }
}

static const sap_step_parameters parameters = {
    .dt = 0.01, .sigma = 1e-3, .beta = 1.0, .delassus = SAP_DELASSUS_BLOCK};

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

  /* slope of (c0 + c1 |v| + c2 v^2) v */
  const double v = m.qvel[4], slope = c[0] + 2 * c[1] * fabs(v) + 3 * c[2] * v * v;
  const double A[13] = {2, 0, 0, 0, 2, 0, 0, 0, 2, 5, 1, 1, 3 + 0.01 * slope};
  CHECK_ALL_CLOSE(g.problem.A, A, 13, 1e-15);
  CHECK_ALL_CLOSE(g.a_star, m.qacc_smooth, 3, 0.0);
  CHECK_CLOSE(5 * g.a_star[3] + g.a_star[4], m.qfrc_smooth[3], 1e-13);
  CHECK_CLOSE(g.a_star[3] + A[12] * g.a_star[4], m.qfrc_smooth[4], 1e-13);
  for (int i = 0; i < NV; ++i) {
    CHECK_CLOSE(g.problem.v_star[i], m.qvel[i] + 0.01 * g.a_star[i], 1e-16);
    CHECK_CLOSE(g.v_0[i], m.qvel[i], 0.0);
  }
  sap_gather_release(&g);
}

/* trees, Jacobians and materials of contacts of every kind */
static void contacts_of_every_kind(void) {
  uint64_t seed = 2;
  struct model m;
  struct list l;
  struct sap_gather g;
  sap_error error;
  make_model(&m, &seed);
  make_list(&l);
  add_contact(&l, 0, 1, 3, 3, &seed);              /* world, mass */
  add_contact(&l, 2, 5, 3, 3, &seed);              /* pendulum, static body */
  add_contact(&l, 0, 1, 3, 0, &seed)->exclude = 1; /* in the gap */
  add_contact(&l, 1, 4, 3, 3, &seed);              /* two trees, an explicit pair */
  add_contact(&l, 3, 1, 1, 1, &seed);              /* two trees, frictionless */
  add_contact(&l, 2, 4, 3, 3, &seed);              /* inside one tree */
  add_contact(&l, 0, 5, 3, 3, &seed);              /* nothing moves */
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
  const int8_t core[5] = {SAP_CORE_LOG, SAP_CORE_EXP, SAP_CORE_LOG, SAP_CORE_LOG, SAP_CORE_EXP};
  const double delta[5] = {1e-3, 2e-3 * 1.2, 1e-3, 1e-3 / 0.75, 2e-3};
  REQUIRE(g.problem.n_contacts == 5 && g.problem.core == g.core);
  const double *J = g.problem.J;
  for (int32_t i = 0; i < 5; ++i) {
    const struct engine_contact *c = &l.contacts[index[i]];
    CHECK_EQUAL(g.contacts[i].index, index[i]);
    CHECK_EQUAL(g.problem.tree_a[i], tree_a[i]);
    CHECK_EQUAL(g.problem.tree_b[i], tree_b[i]);
    CHECK_CLOSE(g.k[i], k[i], 1e-11 * k[i]);
    CHECK_CLOSE(g.tau_d[i], tau_d[i], 1e-16);
    CHECK_CLOSE(g.problem.mu[i], mu[i], 1e-15);
    CHECK_EQUAL(g.core[i], core[i]);
    CHECK_CLOSE(g.delta[i], delta[i], 1e-17);
    CHECK_CLOSE(g.core_lambda[i], core[i] == SAP_CORE_EXP ? 4 : 1, 0);
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

/* forces written by either cone are those of the solution, and J^T f */
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
      CHECK_CLOSE(e[0] + e[1], e[2] + e[3], 1e-12);
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

/* every fault is found, named, and leaves a problem without contacts */
static void faults(void) {
  static const enum sap_fault expected[] = {SAP_FAULT_OVERFLOW, SAP_FAULT_DIMENSION, SAP_FAULT_GEOM,
                                            SAP_FAULT_GEOM,     SAP_FAULT_ADHESION,  SAP_FAULT_ROWS,
                                            SAP_FAULT_ROWS,     SAP_FAULT_FORCE,     SAP_FAULT_MASS,
                                            SAP_FAULT_CONTACT,  SAP_FAULT_CONTACT};
  static const int64_t where[] = {1, 1, 1, 1, 1, 1, -1, 2, 1, 1, 1};
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
      case 1: c->dim = 4; break;
      case 2: c->geom[0] = -1; break;
      case 3: c->geom[1] = GEOMS; break;
      case 4: c->adhesion = 1.0; break;
      case 5: c->row = 4; break;
      case 6: l.list.n_rows += 2; break;
      case 7: m.qacc_smooth[2] = INFINITY; break;
      case 8: m.M[3] = -5.0; break;
      case 9: c->pos[1] = NAN; break;
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

/* every array of a forest with one wrong entry is refused by its name */
static void wrong_forests(void) {
  static const char *const names[] = {
      "tree_dofadr", "tree_dofnum",   "tree_dofnum", "dof_parentid", "dof_parentid",
      "damping",     "M_rowadr",      "M_rownnz",    "M_rownnz",     "M_colind",
      "M_colind",    "body_weldid",   "body_rootid", "body_dofadr",  "body_dofnum",
      "body_treeid", "geom_bodyid",   "stiffness",   "stiffness",    "dissipation_time",
      "friction",    "pair_friction", "core",        "delta",        "core_lambda",
      "pair_key"};
  uint64_t seed = 5;
  for (size_t kind = 0; kind < CHECK_COUNT(names); ++kind) {
    struct model m;
    sap_error error = {0};
    make_model(&m, &seed);
    REQUIRE(sap_forest_check(&m.forest, &error) == SAP_OK);
    int64_t keys[2] = {7, 7};
    double frictions[2] = {0.5, 0.5};
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
      case 21: m.pair_friction[0] = NAN; break;
      case 22: m.core[3] = 3; break;
      case 23: m.delta[1] = 0; break;
      case 24: m.core_lambda[2] = NAN; break;
      default:
        m.forest.n_pairs = 2;
        m.forest.pair_key = keys;
        m.forest.pair_friction = frictions;
        break;
    }
    CHECK_EQUAL(sap_forest_check(&m.forest, &error), SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, names[kind]);
    CHECK(error.index >= 0);
  }
}

/* ---- memory ------------------------------------------------------------------------------------ */

struct counter {
  long calls, live, fail_at; /* fail_at 0: never */
};

static void *counted_allocate(size_t bytes, void *context) {
  struct counter *counter = context;
  if (++counter->calls == counter->fail_at) {
    return NULL;
  }
  ++counter->live;
  return malloc(bytes);
}

static void counted_release(void *memory, void *context) {
  struct counter *counter = context;
  counter->live -= memory != NULL;
  free(memory);
}

/* a step allocates nothing of its own once the largest list has been seen */
static void memory_is_kept(void) {
  uint64_t seed = 6;
  struct counter counter = {0};
  const sap_allocator allocator = {counted_allocate, counted_release, &counter};
  struct model m;
  struct list few, many;
  struct sap_gather g;
  make_model(&m, &seed);
  make_list(&few);
  make_list(&many);
  add_contact(&few, 0, 1, 3, 3, &seed);
  for (int i = 0; i < MOST; ++i) {
    add_contact(&many, 1, 2, 3, 3, &seed);
  }
  REQUIRE(sap_gather_create(&g, &m.forest, NULL, &allocator) == SAP_OK);
  REQUIRE(sap_gather_run(&g, &m.state, &many.list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);

  for (int i = 0; i < 10; ++i) {
    const long before = counter.calls;
    const struct list *l = i % 2 ? &few : &many;
    REQUIRE(sap_gather_run(&g, &m.state, &l->list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
    CHECK_EQUAL(counter.calls - before, 0);
  }
  sap_gather_release(&g);
  CHECK_EQUAL(counter.live, 0);
}

static void failing_allocations_are_clean_errors(void) {
  uint64_t seed = 7;
  int succeeded = 0;
  for (long fail_at = 1; !succeeded && fail_at < 100; ++fail_at) {
    struct counter counter = {0, 0, fail_at};
    const sap_allocator allocator = {counted_allocate, counted_release, &counter};
    struct model m;
    struct list l;
    struct sap_gather g;
    make_model(&m, &seed);
    make_list(&l);
    add_contact(&l, 0, 1, 3, 3, &seed);
    sap_status status = sap_gather_create(&g, &m.forest, NULL, &allocator);
    if (status == SAP_OK) {
      status = sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters);
      if (status != SAP_OK) {
        /* and the next call works again */
        CHECK_EQUAL(sap_gather_run(&g, &m.state, &l.list, NULL, SAP_CONE_ELLIPTIC, &parameters),
                    SAP_OK);
        CHECK_EQUAL(g.problem.n_contacts, 1);
      }
    }
    CHECK(status == SAP_OK || status == SAP_OUT_OF_MEMORY);
    succeeded = status == SAP_OK;
    CHECK_EQUAL(succeeded, counter.calls < fail_at);
    sap_gather_release(&g);
    CHECK_EQUAL(counter.live, 0);
  }
  CHECK(succeeded);
}

int main(int argc, char **argv) {
  const check_test tests[] = {
      CHECK_TEST(mass_and_free_motion),
      CHECK_TEST(contacts_of_every_kind),
      CHECK_TEST(forces_of_either_cone),
      CHECK_TEST(faults),
      CHECK_TEST(wrong_forests),
      CHECK_TEST(memory_is_kept),
      CHECK_TEST(failing_allocations_are_clean_errors),
  };
  return check_run(tests, CHECK_COUNT(tests), argc, argv);
}
