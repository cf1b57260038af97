#include "step/dynamics/free_motion.h"

#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "problem/graph/branches.h"

/* ---- workspace ------------------------------------------------------------------------------ */

void sap_free_motion_create(struct sap_free_motion *motion, const struct sap_forest *forest) {
  memset(motion, 0, sizeof *motion);
  motion->forest = motion->slopes.forest = forest;
  motion->loops = sap_vector_loops_of(sap_kernels_best_set());
}

void sap_free_motion_carve(struct sap_free_motion *motion, struct sap_arena *arena) {
  const struct sap_forest *f = motion->forest;
  size_t n_entries = 0;
  motion->nA = 0;
  for (int32_t i = 0; i < f->nv; ++i) {
    n_entries += (size_t)f->M_rownnz[i];
  }
  for (int32_t t = 0; t < f->n_trees; ++t) {
    const size_t n = (size_t)f->tree_dofnum[t];
    motion->nA += (int64_t)(n * n);
  }
  motion->A = sap_arena_take(arena, (size_t)motion->nA, sizeof(double));
  motion->inverse = sap_arena_take(arena, (size_t)motion->nA, sizeof(double));
  motion->before = sap_arena_take(arena, (size_t)motion->nA, sizeof(double));
  motion->S = sap_arena_take(arena, (size_t)f->n_trees, sizeof *motion->S);
  motion->image = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  motion->v_0 = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  motion->v_star = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  motion->change = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  motion->a_star = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  motion->mass_entries = sap_arena_take(arena, n_entries, sizeof(struct sap_mass_entry));
  motion->mass_begin = sap_arena_take(arena, (size_t)f->n_trees + 1, sizeof(int64_t));
  motion->parent = sap_arena_take(arena, (size_t)f->nv, sizeof(int32_t));
  motion->strips = sap_arena_take(arena, (size_t)f->nv, sizeof(uint64_t));
  motion->damped = sap_arena_take(arena, (size_t)f->n_trees, 1);
  motion->is_of_before = sap_arena_take(arena, (size_t)f->n_trees, 1);
  sap_slopes_carve(&motion->slopes, arena);
}

/* Lists the places of the entries of M in the blocks of A. */
static void list_mass_entries(struct sap_free_motion *motion) {
  const struct sap_forest *f = motion->forest;
  struct sap_mass_entry *entry = motion->mass_entries;
  for (int32_t t = 0; t < f->n_trees; ++t) {
    const int32_t first = f->tree_dofadr[t];
    const int64_t n = f->tree_dofnum[t];
    for (int32_t row = 0; row < n; ++row) {
      const int32_t start = f->M_rowadr[first + row], end = start + f->M_rownnz[first + row];
      for (int32_t p = start; p < end; ++p) {
        const int64_t column = f->M_colind[p] - first;
        *entry++ = (struct sap_mass_entry){row * n + column, column * n + row, p};
      }
    }
    motion->mass_begin[t + 1] = entry - motion->mass_entries;
  }
}

/* Finds the branches of each tree, from all entries that M and D may give A. */
static void find_branches(struct sap_free_motion *motion) {
  const struct sap_forest *f = motion->forest;
  double *A = motion->A;
  for (int32_t t = 0; t < f->n_trees; ++t) {
    const int32_t first = f->tree_dofadr[t], n = f->tree_dofnum[t];
    for (int64_t e = motion->mass_begin[t]; e < motion->mass_begin[t + 1]; ++e) {
      A[motion->mass_entries[e].lower] = 1;
    }
    for (int32_t i = 0; i < n && f->nD > 0; ++i) {
      const int32_t start = f->D_rowadr[first + i];
      for (int32_t p = start; p < start + f->D_rownnz[first + i]; ++p) {
        const int32_t j = f->D_colind[p] - first;
        A[i > j ? i * (int64_t)n + j : j * (int64_t)n + i] = 1;
      }
    }
    sap_branches_find(n, A, motion->parent + first);
    sap_branches_strips(n, motion->parent + first, motion->strips + first);
    A += (int64_t)n * n;
  }
  memset(motion->A, 0, sizeof(double) * (size_t)motion->nA);
}

void sap_free_motion_prepare(struct sap_free_motion *motion) {
  /* if there is no D, entries of A outside the pattern of M stay zero from here on */
  const struct sap_forest *f = motion->forest;
  list_mass_entries(motion);
  find_branches(motion);
  for (int32_t t = 0; t < f->n_trees; ++t) {
    const int64_t first = (int64_t)f->tree_dofadr[t] * SAP_DAMPING_TERMS;
    const int64_t last = first + (int64_t)f->tree_dofnum[t] * SAP_DAMPING_TERMS;
    for (int64_t i = first; i < last; ++i) {
      motion->damped[t] |= f->damping[i] != 0.0;
    }
  }
}

/* ---- one tree ------------------------------------------------------------------------------- */

/* Adds dt times the slopes of the damping forces to the diagonal of a block of A. */
static void add_damping(const struct sap_forest *f, int32_t tree, double dt, const double *qvel,
                        double *A) {
  const int32_t first = f->tree_dofadr[tree], n = f->tree_dofnum[tree];
  for (int32_t row = 0; row < n; ++row) {
    const double *c = f->damping + (int64_t)(first + row) * SAP_DAMPING_TERMS;
    const double speed = fabs(qvel[first + row]);
    A[(int64_t)row * (n + 1)] += dt * (c[0] + speed * (2.0 * c[1] + speed * 3.0 * c[2]));
  }
}

const double *sap_free_motion_inverse(struct sap_free_motion *motion, int32_t tree, int64_t first) {
  const int32_t n = motion->forest->tree_dofnum[tree];
  const double *A = motion->A + first;
  double *S = motion->inverse + first;
  const size_t bytes = sizeof(double) * (size_t)n * (size_t)n;
  if (motion->S[tree]) {
    return motion->S[tree];
  }
  if (!motion->is_of_before[tree] || memcmp(A, motion->before + first, bytes) != 0) {
    motion->is_of_before[tree] = 0;
    if (!motion->loops->invert(n, motion->strips + motion->forest->tree_dofadr[tree], A, S)) {
      return NULL;
    }
  }
  motion->S[tree] = S;
  return S;
}

double sap_free_motion_multiply(const struct sap_free_motion *motion, int32_t tree, const double *S,
                                double *x) {
  const struct sap_forest *f = motion->forest;
  return motion->loops->multiply_inverse(
      f->tree_dofnum[tree], motion->strips + f->tree_dofadr[tree], S, x, motion->image);
}

/* Finds a* = A^-1 f of a damped tree; returns 0 if A is not positive definite. */
static int solve(struct sap_free_motion *motion, int32_t tree, const double *A, const double *force,
                 double *a_star) {
  const int32_t n = motion->forest->tree_dofnum[tree];
  const double *S = sap_free_motion_inverse(motion, tree, A - motion->A);
  if (!S) {
    return 0;
  }
  memcpy(a_star, force, sizeof(double) * (size_t)n);
  sap_free_motion_multiply(motion, tree, S, a_star);
  return 1;
}

/* Sets A = M for a tree. */
static void set_mass(const struct sap_free_motion *motion, int32_t tree, const double *M,
                     double *A) {
  if (motion->forest->nD > 0) {
    /* D has entries outside the pattern of M */
    const size_t n = (size_t)motion->forest->tree_dofnum[tree];
    memset(A, 0, sizeof(double) * n * n);
  }
  const struct sap_mass_entry *end = motion->mass_entries + motion->mass_begin[tree + 1];
  for (const struct sap_mass_entry *e = motion->mass_entries + motion->mass_begin[tree]; e < end;
       ++e) {
    A[e->lower] = A[e->upper] = M[e->from];
  }
}

/* Adds the slopes of all smooth forces to A and finds a*. Returns 0, with the mass matrix alone in
 * A, if the sum is not positive definite. */
static int take_slopes(struct sap_free_motion *motion, int32_t tree, double dt, const double *M,
                       const double *force, double *A, double *a_star) {
  sap_slopes_add(&motion->slopes, tree, dt, A);
  const int solved = solve(motion, tree, A, force, a_star);
  if (!solved) {
    set_mass(motion, tree, M, A);
  }
  return solved;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int has_controllers(const struct sap_element_gather *elements) {
  return elements->elements != NULL && elements->elements->n_controllers > 0;
}

/* Begins a step: A and S of the last one are those before. */
static void turn_over(struct sap_free_motion *motion) {
  double *before = motion->A;
  motion->A = motion->before;
  motion->before = before;
  for (int32_t t = 0; t < motion->forest->n_trees; ++t) {
    motion->is_of_before[t] = motion->S[t] != NULL;
    motion->S[t] = NULL;
  }
}

/* Is a* of a tree found by A? */
static int is_solved(const struct sap_free_motion *motion,
                     const struct sap_element_gather *elements, int32_t tree) {
  return motion->damped[tree] || (has_controllers(elements) && elements->controlled[tree]);
}

int sap_free_motion_solves_all(const struct sap_free_motion *motion,
                               const struct sap_element_gather *elements) {
  int32_t t = 0;
  while (t < motion->forest->n_trees && is_solved(motion, elements, t)) {
    ++t;
  }
  return t == motion->forest->n_trees;
}

enum sap_fault sap_free_motion_find(struct sap_free_motion *motion, double dt,
                                    const struct sap_model_state *state,
                                    const struct sap_element_gather *elements, int64_t *index) {
  const struct sap_forest *f = motion->forest;
  const size_t bytes = sizeof(double) * (size_t)f->nv;
  memcpy(motion->v_0, state->qvel, bytes);
  memcpy(motion->a_star, state->qacc_smooth, bytes);
  const double *force = has_controllers(elements) ? elements->smooth : state->qfrc_smooth;
  motion->force = force;
  if (f->nD > 0) {
    sap_slopes_find(&motion->slopes, state->qDeriv, elements);
  }
  turn_over(motion);
  double *A = motion->A;
  for (int32_t t = 0; t < f->n_trees; A += (int64_t)f->tree_dofnum[t] * f->tree_dofnum[t], ++t) {
    const int32_t first = f->tree_dofadr[t];
    double *a_star = motion->a_star + first;
    set_mass(motion, t, state->M, A);
    if (f->nD > 0 && motion->slopes.act[t] &&
        take_slopes(motion, t, dt, state->M, force + first, A, a_star)) {
      continue;
    }
    if (motion->damped[t]) {
      add_damping(f, t, dt, state->qvel, A);
    }
    if (!motion->keeps_v_star && is_solved(motion, elements, t) &&
        !solve(motion, t, A, force + first, a_star)) {
      *index = t;
      return SAP_FAULT_MASS;
    }
  }
  if (motion->keeps_v_star) {
    return SAP_FAULT_NONE;
  }
  const double *restrict a_star = motion->a_star, *restrict v_0 = motion->v_0;
  double *restrict v_star = motion->v_star;
  for (int32_t i = 0; i < f->nv; ++i) {
    v_star[i] = v_0[i] + dt * a_star[i];
  }
  *index = sap_first_non_finite(f->nv, v_star);
  return *index >= 0 ? SAP_FAULT_FORCE : SAP_FAULT_NONE;
}

/* Adds the velocity change dt A^-1 f by the forces f of controllers that act on a tree. */
static void add_controllers(struct sap_free_motion *motion, int32_t tree, double dt,
                            const double *to_others) {
  const int32_t first = motion->forest->tree_dofadr[tree], n = motion->forest->tree_dofnum[tree];
  double *change = motion->change + first;
  for (int32_t i = 0; i < n; ++i) {
    change[i] = -dt * to_others[first + i];
  }
  sap_free_motion_multiply(motion, tree, motion->S[tree], change);
}

void sap_free_motion_find_change(struct sap_free_motion *motion, double dt,
                                 const struct sap_element_gather *elements) {
  const struct sap_forest *f = motion->forest;
  memset(motion->change, 0, sizeof(double) * (size_t)f->nv);
  for (int32_t t = 0; t < f->n_trees && has_controllers(elements); ++t) {
    if (elements->controlled[t]) {
      add_controllers(motion, t, dt, elements->change);
    }
  }
  for (int32_t i = 0; i < f->nv; ++i) {
    motion->change[i] += motion->v_star[i] - motion->v_0[i];
  }
}
