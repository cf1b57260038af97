#include "model/gather.h"

#include <math.h>
#include <string.h>

#include "model/jacobian.h"
#include "model/material.h"

static const double *doubles_at(struct sap_field field, int32_t i) {
  return (const double *)(const void *)(field.base + field.stride * i);
}

static const int32_t *int32s_at(struct sap_field field, int32_t i) {
  return (const int32_t *)(const void *)(field.base + field.stride * i);
}

static void set_fault(struct sap_gather *gather, enum sap_fault fault, int64_t index) {
  gather->fault = fault;
  gather->fault_index = index;
  gather->problem.n_contacts = 0;
  gather->nJ = 0;
}

/* ---- workspace ------------------------------------------------------------------------------ */

static int64_t tree_columns(const struct sap_forest *f, int32_t tree) {
  return tree < 0 ? 0 : f->tree_dofnum[tree];
}

static void carve_fixed(struct sap_gather *gather, struct sap_arena *arena) {
  const struct sap_forest *f = gather->forest;
  size_t widest = 0;
  gather->nA = 0;
  for (int32_t t = 0; t < f->n_trees; ++t) {
    const size_t n = (size_t)f->tree_dofnum[t];
    gather->nA += (int64_t)(n * n);
    widest = n > widest ? n : widest;
  }
  gather->A = sap_arena_take(arena, (size_t)gather->nA, sizeof(double));
  gather->panel = sap_arena_take(arena, widest * (widest + 1), sizeof(double));
  gather->v_0 = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  gather->v_star = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  gather->a_star = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  gather->v = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  gather->touched = sap_arena_take(arena, (size_t)f->n_trees, 1);
  gather->damped = sap_arena_take(arena, (size_t)f->n_trees, 1);
}

static void carve_listed(struct sap_gather *gather, struct sap_arena *arena, size_t count) {
  gather->contacts = sap_arena_take(arena, count, sizeof(struct sap_listed_contact));
  gather->tree_a = sap_arena_take(arena, count, sizeof(int32_t));
  gather->tree_b = sap_arena_take(arena, count, sizeof(int32_t));
  gather->mu = sap_arena_take(arena, count, sizeof(double));
  gather->phi0 = sap_arena_take(arena, count, sizeof(double));
  gather->k = sap_arena_take(arena, count, sizeof(double));
  gather->tau_d = sap_arena_take(arena, count, sizeof(double));
  gather->R_t = sap_arena_take(arena, count, sizeof(double));
  gather->R_n = sap_arena_take(arena, count, sizeof(double));
  gather->v_hat_n = sap_arena_take(arena, count, sizeof(double));
  gather->v_hat_t = sap_arena_take(arena, count, 2 * sizeof(double));
  gather->edge_friction = sap_arena_take(arena, count, 2 * sizeof(double));
  gather->gamma = sap_arena_take(arena, count, 3 * sizeof(double));
  gather->v_c = sap_arena_take(arena, count, 3 * sizeof(double));
  gather->regions = sap_arena_take(arena, count, sizeof(int8_t));
}

sap_status sap_gather_create(struct sap_gather *gather, const struct sap_forest *forest,
                             const sap_allocator *allocator) {
  memset(gather, 0, sizeof *gather);
  gather->forest = forest;
  gather->kernels = sap_kernels_best();
  gather->allocator = sap_allocator_or_default(allocator);

  struct sap_arena arena = {NULL, 0};
  carve_fixed(gather, &arena);
  if (!sap_block_reserve(&gather->fixed, arena.used, &gather->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  arena = (struct sap_arena){gather->fixed.base, 0};
  carve_fixed(gather, &arena);

  /* entries outside the pattern of M stay zero from here on */
  memset(gather->fixed.base, 0, arena.used);
  for (int32_t t = 0; t < forest->n_trees; ++t) {
    const int64_t first = (int64_t)forest->tree_dofadr[t] * SAP_DAMPING_TERMS;
    const int64_t last = first + (int64_t)forest->tree_dofnum[t] * SAP_DAMPING_TERMS;
    for (int64_t i = first; i < last; ++i) {
      gather->damped[t] |= forest->damping[i] != 0.0;
    }
  }
  return SAP_OK;
}

void sap_gather_release(struct sap_gather *gather) {
  sap_block_release(&gather->fixed, &gather->allocator);
  sap_block_release(&gather->listed, &gather->allocator);
  sap_block_release(&gather->jacobian, &gather->allocator);
}

/* ---- free motion ---------------------------------------------------------------------------- */

/* block of A of one tree: M, and dt times the slope of the damping force on the diagonal */
static void gather_mass(const struct sap_forest *f, int32_t tree, double dt, const double *M,
                        const double *qvel, double *A) {
  const int32_t first = f->tree_dofadr[tree];
  const int64_t n = f->tree_dofnum[tree];
  for (int32_t row = 0; row < n; ++row) {
    const int32_t i = first + row, start = f->M_rowadr[i], last = start + f->M_rownnz[i] - 1;
    for (int32_t p = start; p < last; ++p) {
      const int32_t column = f->M_colind[p] - first;
      A[row * n + column] = M[p];
      A[column * n + row] = M[p];
    }
    const double *c = f->damping + (int64_t)i * SAP_DAMPING_TERMS, speed = fabs(qvel[i]);
    A[row * n + row] = M[last] + dt * (c[0] + speed * (2.0 * c[1] + speed * 3.0 * c[2]));
  }
}

/* a* = A^-1 f of a damped tree; 0 when A is not positive definite */
static int solve_free_motion(const struct sap_gather *gather, int32_t n, const double *A,
                             const double *force, double *a_star) {
  double *L = gather->panel, *none = gather->panel + (int64_t)n * n;
  memcpy(L, A, sizeof(double) * (size_t)n * (size_t)n);
  if (gather->kernels->factor(n, n, L, n) != n) {
    return 0;
  }
  memcpy(a_star, force, sizeof(double) * (size_t)n);
  gather->kernels->solve_forward(n, n, L, n, a_star, none);
  gather->kernels->solve_backward(n, n, L, n, a_star, none);
  return 1;
}

static void gather_free_motion(struct sap_gather *gather, const struct sap_model_state *state) {
  const struct sap_forest *f = gather->forest;
  double *A = gather->A;
  for (int32_t t = 0; t < f->n_trees; ++t) {
    const int32_t first = f->tree_dofadr[t], n = f->tree_dofnum[t];
    gather_mass(f, t, gather->dt, state->M, state->qvel, A);
    if (!gather->damped[t]) {
      memcpy(gather->a_star + first, state->qacc_smooth + first, sizeof(double) * (size_t)n);
    } else if (!solve_free_motion(gather, n, A, state->qfrc_smooth + first,
                                  gather->a_star + first)) {
      set_fault(gather, SAP_FAULT_MASS, t);
      return;
    }
    A += (int64_t)n * n;
  }
  for (int32_t i = 0; i < f->nv; ++i) {
    gather->v_0[i] = state->qvel[i];
    gather->v_star[i] = state->qvel[i] + gather->dt * gather->a_star[i];
    if (!isfinite(gather->v_star[i])) {
      set_fault(gather, SAP_FAULT_FORCE, i);
      return;
    }
  }
}

/* ---- contacts ------------------------------------------------------------------------------- */

static int32_t rows_of(int32_t dim, enum sap_cone cone) {
  return dim == 1 ? 1 : cone == SAP_CONE_ELLIPTIC ? 3 : 4;
}

/* Lists the contacts that act, with their bodies and trees, and adds up the length of J. */
static void list_contacts(struct sap_gather *gather, const struct sap_contact_list *list,
                          enum sap_cone cone) {
  const struct sap_forest *f = gather->forest;
  int64_t n_rows = 0;
  int32_t n = 0;
  gather->nJ = 0;
  memset(gather->touched, 0, (size_t)f->n_trees);
  for (int32_t i = 0; i < list->count; ++i) {
    if (*int32s_at(list->exclude, i) != 0) {
      continue;
    }
    const int32_t *geom = int32s_at(list->geom, i);
    struct sap_listed_contact contact = {.index = i,
                                         .row = *int32s_at(list->row, i),
                                         .dim = *int32s_at(list->dim, i),
                                         .geom = {geom[0], geom[1]}};
    enum sap_fault fault = SAP_FAULT_NONE;
    if (contact.geom[0] < 0 || contact.geom[0] >= f->n_geoms || contact.geom[1] < 0 ||
        contact.geom[1] >= f->n_geoms) {
      fault = SAP_FAULT_GEOM;
    } else if (contact.dim != 1 && contact.dim != 3) {
      fault = SAP_FAULT_DIMENSION;
    } else if (contact.row < 0) {
      fault = SAP_FAULT_OVERFLOW;
    } else if (contact.row > list->n_rows - rows_of(contact.dim, cone)) {
      fault = SAP_FAULT_ROWS;
    } else if (list->adhesion.base && *doubles_at(list->adhesion, i) != 0.0) {
      fault = SAP_FAULT_ADHESION;
    }
    if (fault != SAP_FAULT_NONE) {
      set_fault(gather, fault, i);
      return;
    }
    n_rows += rows_of(contact.dim, cone);

    /* the trees of both sides; two static bodies have no contact to solve */
    int32_t tree[2];
    for (int side = 0; side < 2; ++side) {
      contact.body[side] = sap_moving_body(f, f->geom_bodyid[contact.geom[side]]);
      tree[side] = sap_moving_tree(f, contact.body[side]);
      if (tree[side] >= 0) {
        gather->touched[tree[side]] = 1;
      }
    }
    if (tree[0] < 0 && tree[1] < 0) {
      continue;
    }
    gather->tree_a[n] = tree[0] < 0 ? tree[1] : tree[0];
    gather->tree_b[n] = tree[0] < 0 || tree[1] == tree[0] ? -1 : tree[1];
    gather->nJ += 3 * (tree_columns(f, gather->tree_a[n]) + tree_columns(f, gather->tree_b[n]));
    gather->contacts[n++] = contact;
  }
  gather->problem.n_contacts = n;
  if (n_rows != list->n_rows) {
    set_fault(gather, SAP_FAULT_ROWS, -1);
  }
}

/* J, distance, material and surface motion of contact c; 0 when its geometry is not finite */
static int gather_contact(struct sap_gather *gather, const struct sap_model_state *state,
                          const struct sap_contact_list *list, int32_t c, double *J) {
  const struct sap_forest *f = gather->forest;
  const struct sap_listed_contact *contact = gather->contacts + c;
  const double *frame = doubles_at(list->frame, contact->index);
  const double *p = doubles_at(list->pos, contact->index);

  /* directions (t1, t2, n) */
  double axes[9];
  memcpy(axes, frame + 3, 6 * sizeof(double));
  memcpy(axes + 6, frame, 3 * sizeof(double));

  /* J_b2 - J_b1, each side in the block of its tree */
  for (int side = 0; side < 2; ++side) {
    const int32_t tree = sap_moving_tree(f, contact->body[side]);
    if (tree >= 0) {
      double *block = tree == gather->tree_a[c] ? J : J + 3 * tree_columns(f, gather->tree_a[c]);
      sap_jacobian_add(f, contact->body[side], side == 0 ? -1.0 : 1.0, axes, p, state->cdof,
                       state->subtree_com, block);
    }
  }

  const struct sap_material pair = sap_material_of_pair(f, contact->geom[0], contact->geom[1]);
  gather->phi0[c] = *doubles_at(list->dist, contact->index);
  gather->k[c] = pair.k;
  gather->tau_d[c] = pair.tau_d;
  gather->mu[c] = contact->dim == 1 ? 0.0 : pair.mu;

  /* a surface that moves: friction drives v_c,t to minus its velocity */
  double *v_hat_t = gather->v_hat_t + 2 * (int64_t)c;
  v_hat_t[0] = v_hat_t[1] = 0.0;
  if (list->surface_velocity.base) {
    const double *velocity = doubles_at(list->surface_velocity, contact->index);
    v_hat_t[0] = -velocity[0];
    v_hat_t[1] = -velocity[1];
  }
  memcpy(gather->edge_friction + 2 * (int64_t)c, doubles_at(list->friction, contact->index),
         2 * sizeof(double));

  double sum = gather->phi0[c];
  for (int j = 0; j < 9; ++j) {
    sum += axes[j] + p[j % 3];
  }
  return isfinite(sum);
}

/* 1 when any of the n entries is not zero */
static int any_nonzero(const double *x, int64_t n) {
  int64_t i = 0;
  while (i < n && x[i] == 0.0) {
    ++i;
  }
  return i < n;
}

/* Contacts that move no dof (at a point on the axis of the only joint) have no say and are left out. */
static sap_status gather_contacts(struct sap_gather *gather, const struct sap_model_state *state,
                                  const struct sap_contact_list *list) {
  const struct sap_forest *f = gather->forest;
  const size_t bytes = sizeof(double) * (size_t)gather->nJ;
  if (!sap_block_reserve(&gather->jacobian, bytes, &gather->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  gather->J = (double *)(void *)gather->jacobian.base;
  if (bytes > 0) {
    memset(gather->J, 0, bytes);
  }
  double *J = gather->J;
  int32_t kept = 0;
  for (int32_t c = 0; c < gather->problem.n_contacts; ++c) {
    gather->contacts[kept] = gather->contacts[c];
    gather->tree_a[kept] = gather->tree_a[c];
    gather->tree_b[kept] = gather->tree_b[c];
    if (!gather_contact(gather, state, list, kept, J)) {
      set_fault(gather, SAP_FAULT_CONTACT, gather->contacts[kept].index);
      return SAP_OK;
    }
    const int64_t length =
        3 * (tree_columns(f, gather->tree_a[c]) + tree_columns(f, gather->tree_b[c]));
    if (any_nonzero(J, length)) {
      J += length;
      ++kept;
    }
  }
  gather->problem.n_contacts = kept;
  gather->nJ = kept > 0 ? J - gather->J : 0;
  return SAP_OK;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* points the problem at the workspace */
static void set_problem(struct sap_gather *gather, const sap_step_parameters *parameters) {
  gather->parameters = *parameters;
  gather->parameters.phi0 = gather->phi0;
  gather->parameters.k = gather->k;
  gather->parameters.tau_d = gather->tau_d;
  sap_problem *problem = &gather->problem;
  problem->n_trees = gather->forest->n_trees;
  problem->tree_nv = gather->forest->tree_dofnum;
  problem->A = gather->A;
  problem->v_star = gather->v_star;
  problem->tree_a = gather->tree_a;
  problem->tree_b = gather->tree_b;
  problem->J = gather->J;
  problem->mu = gather->mu;
  problem->R_t = gather->R_t;
  problem->R_n = gather->R_n;
  problem->v_hat_n = gather->v_hat_n;
  problem->v_hat_t = gather->v_hat_t;
}

sap_status sap_gather_run(struct sap_gather *gather, const struct sap_model_state *state,
                          const struct sap_contact_list *list, enum sap_cone cone,
                          const sap_step_parameters *parameters) {
  set_fault(gather, SAP_FAULT_NONE, -1);
  gather->dt = parameters->dt;
  gather->n_rows = list->n_rows;

  struct sap_arena arena = {NULL, 0};
  carve_listed(gather, &arena, (size_t)list->count);
  if (!sap_block_reserve(&gather->listed, arena.used, &gather->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  arena = (struct sap_arena){gather->listed.base, 0};
  carve_listed(gather, &arena, (size_t)list->count);

  list_contacts(gather, list, cone);
  if (gather->fault == SAP_FAULT_NONE) {
    gather_free_motion(gather, state);
  }
  if (gather->fault != SAP_FAULT_NONE) {
    return SAP_OK;
  }
  const sap_status status = gather_contacts(gather, state, list);
  if (status != SAP_OK || gather->fault != SAP_FAULT_NONE) {
    return status;
  }
  set_problem(gather, parameters);
  return SAP_OK;
}
