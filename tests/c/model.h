/* A small model whose matrices are known by hand, and a list of contacts as an engine keeps it.
 *
 * Tree 0 is a point mass on three slides (body 1, dofs 0 to 2). Tree 1 is a double pendulum about
 * y: body 2 turns about q1 (dof 3), body 3 about q2 (dof 4), body 4 is welded to body 3. Body 0 is
 * the world, body 5 a static body. Geom g belongs to body g. */
#ifndef SAPWOOD_TESTS_MODEL_H
#define SAPWOOD_TESTS_MODEL_H

#include <string.h>

#include "check.h"
#include "step/gather.h"

enum { NV = 5, BODIES = 6, GEOMS = 6, NM = 6, ND = 13, MOST = 8 };

struct model {
  int32_t tree_dofadr[2], tree_dofnum[2], dof_parentid[NV];
  int32_t M_rownnz[NV], M_rowadr[NV], M_colind[NM];
  int32_t D_rownnz[NV], D_rowadr[NV], D_colind[ND];
  int32_t body_weldid[BODIES], body_rootid[BODIES], body_dofadr[BODIES], body_dofnum[BODIES];
  int32_t body_treeid[BODIES], geom_bodyid[GEOMS];
  double damping[NV * SAP_DAMPING_TERMS], stiffness[GEOMS], dissipation_time[GEOMS];
  double friction[GEOMS], delta[GEOMS], barrier_lambda[GEOMS];
  int8_t barrier[GEOMS];
  int64_t pair_key[1];
  struct sap_forest forest;

  double qvel[NV], M[NM], cdof[6 * NV], subtree_com[3 * BODIES], qfrc_smooth[NV], qacc_smooth[NV];
  double qDeriv[ND];
  double q1[3], q2[3];
  struct sap_model_state state;
};

/* Gives the forest the pattern of D, which has all of both trees. */
static inline void give_slopes(struct model *m) {
  m->forest.nD = ND;
  m->forest.D_rownnz = m->D_rownnz;
  m->forest.D_rowadr = m->D_rowadr;
  m->forest.D_colind = m->D_colind;
}

/* This is one entry of the engine's list, with fields in an order of their own. */
struct engine_contact {
  double solref[2], solimp[5];
  int32_t exclude, row;
  double frame[9], pos[3], unused, dist, friction[5], surface_velocity[3];
  int32_t dim, geom[2];
};

struct list {
  struct engine_contact contacts[MOST];
  struct sap_contact_list list;
};

static inline void cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static inline void make_model(struct model *m, uint64_t *seed) {
  *m = (struct model){
      .tree_dofadr = {0, 3},
      .tree_dofnum = {3, 2},
      .dof_parentid = {-1, 0, 1, -1, 3},
      .M_rownnz = {1, 1, 1, 1, 2},
      .M_rowadr = {0, 1, 2, 3, 4},
      .M_colind = {0, 1, 2, 3, 3, 4},
      .D_rownnz = {3, 3, 3, 2, 2},
      .D_rowadr = {0, 3, 6, 9, 11},
      .D_colind = {0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 3, 4},
      .body_weldid = {0, 1, 2, 3, 3, 0},
      .body_rootid = {0, 1, 2, 2, 2, 5},
      .body_dofadr = {-1, 0, 3, 4, -1, -1},
      .body_dofnum = {0, 3, 1, 1, 0, 0},
      .body_treeid = {-1, 0, 1, 1, 1, -1},
      .geom_bodyid = {0, 1, 2, 3, 4, 5},
      .stiffness = {INFINITY, 1e4, 2e4, 3e4, INFINITY, 1e5},
      .dissipation_time = {0.5, 0.01, 0.02, 0.0, 0.04, 0.03},
      .friction = {1.0, 0.5, 0.25, 0.9, 0.8, 0.6},
      .barrier = {0, SAP_BARRIER_LOG, SAP_BARRIER_EXP, 0, 0, SAP_BARRIER_LOG},
      .delta = {0, 1e-3, 2e-3, 0, 0, 5e-3},
      .barrier_lambda = {0, 1, 4, 0, 0, 2},
      .pair_key = {1 * GEOMS + 4},
      .M = {2, 2, 2, 5, 1, 3},
  };
  m->forest = (struct sap_forest){.n_trees = 2,
                                  .nv = NV,
                                  .n_bodies = BODIES,
                                  .n_geoms = GEOMS,
                                  .nM = NM,
                                  .n_pairs = 1,
                                  .tree_dofadr = m->tree_dofadr,
                                  .tree_dofnum = m->tree_dofnum,
                                  .dof_parentid = m->dof_parentid,
                                  .damping = m->damping,
                                  .M_rownnz = m->M_rownnz,
                                  .M_rowadr = m->M_rowadr,
                                  .M_colind = m->M_colind,
                                  .body_weldid = m->body_weldid,
                                  .body_rootid = m->body_rootid,
                                  .body_dofadr = m->body_dofadr,
                                  .body_dofnum = m->body_dofnum,
                                  .body_treeid = m->body_treeid,
                                  .geom_bodyid = m->geom_bodyid,
                                  .stiffness = m->stiffness,
                                  .dissipation_time = m->dissipation_time,
                                  .friction = m->friction,
                                  .pair_key = m->pair_key,
                                  .barrier = m->barrier,
                                  .delta = m->delta,
                                  .barrier_lambda = m->barrier_lambda};
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
  m->state = (struct sap_model_state){.qvel = m->qvel,
                                      .M = m->M,
                                      .cdof = m->cdof,
                                      .subtree_com = m->subtree_com,
                                      .qfrc_smooth = m->qfrc_smooth,
                                      .qacc_smooth = m->qacc_smooth,
                                      .qDeriv = m->qDeriv};
}

#define FIELD(member) {(const char *)&l->contacts[0].member, sizeof(struct engine_contact)}

static inline void make_list(struct list *l) {
  memset(l, 0, sizeof *l);
  l->list = (struct sap_contact_list){.dist = FIELD(dist),
                                      .pos = FIELD(pos),
                                      .frame = FIELD(frame),
                                      .friction = FIELD(friction),
                                      .surface_velocity = FIELD(surface_velocity),
                                      .dim = FIELD(dim),
                                      .geom = FIELD(geom),
                                      .exclude = FIELD(exclude),
                                      .row = FIELD(row)};
}

/* Adds a contact with `rows` rows at a random place, with a random frame. */
static inline struct engine_contact *add_contact(struct list *l, int32_t geom1, int32_t geom2,
                                                 int32_t dim, int32_t rows, uint64_t *seed) {
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

/* Finds the velocity of the point p of a body by hand. */
static inline void velocity(const struct model *m, int32_t body, const double *p, double *v) {
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

#endif
