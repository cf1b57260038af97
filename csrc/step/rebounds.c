#include "step/rebounds.h"

#include <math.h>
#include <string.h>

#include "constraints/kinds/kinds.h"
#include "step/step_tuning.h"

/* entries of `work` */
enum { WITH, WITHOUT, SLOPE, SCALE, WORKS };

/* places of the arrays of a solution */
enum { V, GAMMA, V_C, GROUP_GAMMA, GROUP_V_C, SPIN_GAMMA, SPIN_V_C };

/* ---- memory --------------------------------------------------------------------------------- */

/* An array of a solution. */
struct part {
  double *x;
  int64_t n;
};

/* Lists the arrays of the solution in the gather. */
static void list_parts(const struct sap_gather *gather, struct part *parts) {
  const int64_t n = 3 * (int64_t)gather->problem.n_contacts, rows = gather->elements.n_rows;
  const int64_t spins = 3 * (int64_t)gather->spins.spin.n;
  parts[V] = (struct part){gather->v, gather->forest->nv};
  parts[GAMMA] = (struct part){gather->gamma, n};
  parts[V_C] = (struct part){gather->v_c, n};
  parts[GROUP_GAMMA] = (struct part){gather->elements.gamma, rows};
  parts[GROUP_V_C] = (struct part){gather->elements.v_c, rows};
  parts[SPIN_GAMMA] = (struct part){gather->spins.gamma, spins};
  parts[SPIN_V_C] = (struct part){gather->spins.v_c, spins};
}

static void carve(struct sap_rebounds *r, const struct part *parts, int32_t n_trees,
                  struct sap_arena *arena) {
  r->island = sap_arena_take(arena, (size_t)n_trees, sizeof(int32_t));
  r->share = sap_arena_take(arena, (size_t)n_trees, sizeof(double));
  r->is_solved = sap_arena_take(arena, (size_t)n_trees, 1);
  r->work = sap_arena_take(arena, (size_t)n_trees, WORKS * sizeof(double));
  r->before = sap_arena_take(arena, (size_t)parts[GAMMA].n, sizeof(double));
  r->spin_before = sap_arena_take(arena, (size_t)parts[SPIN_GAMMA].n, sizeof(double));
  for (int i = 0; i < SAP_SOLUTION_ARRAYS; ++i) {
    r->kept[i] = sap_arena_take(arena, (size_t)parts[i].n, sizeof(double));
  }
}

static int make_room(struct sap_rebounds *r, const struct part *parts, int32_t n_trees,
                     const sap_allocator *allocator) {
  struct sap_arena arena = {NULL, 0};
  carve(r, parts, n_trees, &arena);
  if (!sap_block_reserve(&r->block, arena.used, allocator)) {
    return 0;
  }
  arena = (struct sap_arena){r->block.base, 0};
  carve(r, parts, n_trees, &arena);
  return 1;
}

void sap_rebounds_release(struct sap_rebounds *rebounds, const sap_allocator *allocator) {
  sap_block_release(&rebounds->block, allocator);
}

/* ---- islands -------------------------------------------------------------------------------- */

static int32_t island_of(int32_t *island, int32_t tree) {
  while (island[tree] != tree) {
    tree = island[tree] = island[island[tree]];
  }
  return tree;
}

static void join(int32_t *island, int32_t a, int32_t b) {
  if (b >= 0) {
    const int32_t one = island_of(island, a), two = island_of(island, b);
    island[one > two ? one : two] = one > two ? two : one;
  }
}

static void find_islands(struct sap_rebounds *r, const struct sap_gather *gather,
                         const sap_solution *solution) {
  for (int32_t t = 0; t < gather->forest->n_trees; ++t) {
    r->island[t] = t;
  }
  for (int32_t c = 0; c < gather->problem.n_contacts; ++c) {
    join(r->island, gather->tree_a[c], gather->tree_b[c]);
  }
  for (int32_t g = 0; g < gather->elements.n_groups; ++g) {
    const sap_constraints *group = gather->elements.groups + g;
    for (int32_t c = 0; c < group->n; ++c) {
      join(r->island, group->tree_a[c], group->tree_b[c]);
    }
  }
  memset(r->is_solved, 1, (size_t)gather->forest->n_trees);
  for (int32_t i = 0; i < solution->n_islands; ++i) {
    const sap_island_report *report = &solution->islands[i];
    r->is_solved[island_of(r->island, report->tree)] &= report->outcome <= SAP_STALLED;
  }
}

/* ---- work ----------------------------------------------------------------------------------- */

/* Sets `before` (3) to J v* of three rows in the trees of contact c; returns the end of J. */
static const double *find_before(const struct sap_gather *gather, int32_t c, const double *J,
                                 double *before) {
  const int32_t trees[2] = {gather->tree_a[c], gather->tree_b[c]};
  before[0] = before[1] = before[2] = 0.0;
  for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
    const int32_t n = gather->forest->tree_dofnum[trees[side]];
    const double *v = gather->free_motion.v_star + gather->forest->tree_dofadr[trees[side]];
    for (int r = 0; r < 3; ++r, J += n) {
      for (int32_t j = 0; j < n; ++j) {
        before[r] += J[j] * v[j];
      }
    }
  }
  return J;
}

/* Finds the velocities of all contacts in the free motion. Twice the velocity of a surface that
 * moves is subtracted, so that (before + after)/2 is relative to it, and g dt along the normal. */
static void find_velocities(struct sap_rebounds *r, const struct sap_gather *gather, double fall) {
  const double *J = gather->J;
  for (int32_t c = 0; c < gather->problem.n_contacts; ++c) {
    double *before = r->before + 3 * (int64_t)c;
    J = find_before(gather, c, J, before);
    before[0] -= 2.0 * gather->v_hat_t[2 * (int64_t)c];
    before[1] -= 2.0 * gather->v_hat_t[2 * (int64_t)c + 1];
    before[2] -= fall;
  }
  J = gather->spins.J;
  for (int32_t s = 0; s < gather->spins.spin.n; ++s) {
    J = find_before(gather, gather->spins.contact[s], J, r->spin_before + 3 * (int64_t)s);
  }
}

static double dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Adds 2 (W - W_g) of three rows to the entry `of` of their island. */
static void add_work(struct sap_rebounds *r, const struct sap_gather *gather, int32_t c,
                     const double *before, const double *gamma, const double *v_c, int of) {
  double *work = r->work + WORKS * (int64_t)island_of(r->island, gather->tree_a[c]);
  work[of] += dot(gamma, before) + dot(gamma, v_c);
  work[SCALE] += of == WITH ? fabs(dot(gamma, before)) : 0.0;
}

/* Finds 2 (W - W_g) of all islands by these impulses and velocities. */
static void find_work(struct sap_rebounds *r, const struct sap_gather *gather, const double *gamma,
                      const double *v_c, const double *spin_gamma, const double *spin_v_c, int of) {
  for (int32_t c = 0; c < gather->problem.n_contacts; ++c) {
    const int64_t i = 3 * (int64_t)c;
    add_work(r, gather, c, r->before + i, gamma + i, v_c + i, of);
  }
  for (int32_t s = 0; s < gather->spins.spin.n; ++s) {
    const int64_t i = 3 * (int64_t)s;
    add_work(r, gather, gather->spins.contact[s], r->spin_before + i, spin_gamma + i, spin_v_c + i,
             of);
  }
}

int sap_rebounds_keep(struct sap_rebounds *rebounds, const struct sap_gather *gather,
                      const sap_solution *solution, double fall, int *gains) {
  struct part parts[SAP_SOLUTION_ARRAYS];
  const int32_t n_trees = gather->forest->n_trees;
  list_parts(gather, parts);
  if (!make_room(rebounds, parts, n_trees, &gather->allocator)) {
    return 0;
  }
  for (int i = 0; i < SAP_SOLUTION_ARRAYS; ++i) {
    if (parts[i].n > 0) {
      memcpy(rebounds->kept[i], parts[i].x, sizeof(double) * (size_t)parts[i].n);
    }
  }
  find_islands(rebounds, gather, solution);
  find_velocities(rebounds, gather, fall);
  memset(rebounds->work, 0, sizeof(double) * WORKS * (size_t)n_trees);
  find_work(rebounds, gather, gather->gamma, gather->v_c, gather->spins.gamma, gather->spins.v_c,
            WITH);
  *gains = 0;
  for (int32_t c = 0; c < gather->problem.n_contacts; ++c) {
    const int32_t first = island_of(rebounds->island, gather->tree_a[c]);
    const double *work = rebounds->work + WORKS * (int64_t)first;
    const int is_kept =
        rebounds->is_solved[first] && work[WITH] <= sap_rebound_round_off * work[SCALE];
    *gains |= gather->rebound[c] > 0.0 && !is_kept;
  }
  return 1;
}

/* ---- combination ---------------------------------------------------------------------------- */

/* Adds the slope at s = 0 of 2 (W - W_g) of three rows: impulses `to` and velocities `v_to` with
 * rebounds, `gamma` and `v_c` without. */
static void add_slope(struct sap_rebounds *r, const struct sap_gather *gather, int32_t c,
                      const double *before, const double *gamma, const double *v_c,
                      const double *to, const double *v_to) {
  double *work = r->work + WORKS * (int64_t)island_of(r->island, gather->tree_a[c]);
  for (int i = 0; i < 3; ++i) {
    work[SLOPE] += (to[i] - gamma[i]) * (before[i] + v_c[i]) + gamma[i] * (v_to[i] - v_c[i]);
  }
}

static void find_slopes(struct sap_rebounds *r, const struct sap_gather *gather) {
  for (int32_t c = 0; c < gather->problem.n_contacts; ++c) {
    const int64_t i = 3 * (int64_t)c;
    add_slope(r, gather, c, r->before + i, gather->gamma + i, gather->v_c + i, r->kept[GAMMA] + i,
              r->kept[V_C] + i);
  }
  for (int32_t s = 0; s < gather->spins.spin.n; ++s) {
    const int64_t i = 3 * (int64_t)s;
    add_slope(r, gather, gather->spins.contact[s], r->spin_before + i, gather->spins.gamma + i,
              gather->spins.v_c + i, r->kept[SPIN_GAMMA] + i, r->kept[SPIN_V_C] + i);
  }
}

/* Returns the largest s <= 1 with W - W_g <= max(W^0 - W_g, 0), of an island whose first tree is
 * this one. */
static double find_share(const struct sap_rebounds *r, int32_t tree) {
  const double *work = r->work + WORKS * (int64_t)tree;
  if (!r->is_solved[tree]) {
    return 0.0;
  }
  const double limit = fmax(work[WITHOUT], 0.0), end = work[WITH] - limit;
  if (end <= sap_rebound_round_off * work[SCALE]) {
    return 1.0;
  }
  /* a s^2 + b s + c = 0 crosses zero once, upwards, between c <= 0 and a + b + c > 0 */
  const double b = work[SLOPE], c = work[WITHOUT] - limit, a = end - b - c;
  const double root = sqrt(fmax(b * b - 4.0 * a * c, 0.0));
  if (b < 0.0) {
    return fmin((root - b) / (2.0 * a), 1.0);
  }
  return b + root > 0.0 ? fmin(-2.0 * c / (b + root), 1.0) : 0.0;
}

/* Sets x, without rebounds, to x + s (kept - x). */
static void combine(double s, int64_t n, double *x, const double *kept) {
  for (int64_t i = 0; i < n; ++i) {
    x[i] = s == 1.0 ? kept[i] : x[i] + s * (kept[i] - x[i]);
  }
}

/* Combines entries [begin, begin + n) of two arrays of impulses and velocities of a tree. */
static void combine_rows(const struct sap_rebounds *r, const struct part *parts, int array,
                         double s, int64_t begin, int64_t n) {
  for (int i = array; i < array + 2; ++i) {
    combine(s, n, parts[i].x + begin, r->kept[i] + begin);
  }
}

void sap_rebounds_combine(struct sap_rebounds *rebounds, struct sap_gather *gather) {
  struct sap_rebounds *r = rebounds;
  struct part parts[SAP_SOLUTION_ARRAYS];
  list_parts(gather, parts);
  find_work(r, gather, gather->gamma, gather->v_c, gather->spins.gamma, gather->spins.v_c, WITHOUT);
  find_slopes(r, gather);
  for (int32_t t = 0; t < gather->forest->n_trees; ++t) {
    /* the first tree of an island has the least number */
    const int32_t first = island_of(r->island, t), begin = gather->forest->tree_dofadr[t];
    r->share[t] = first == t ? find_share(r, t) : r->share[first];
    combine(r->share[t], gather->forest->tree_dofnum[t], gather->v + begin, r->kept[V] + begin);
  }
  for (int32_t c = 0; c < gather->problem.n_contacts; ++c) {
    combine_rows(r, parts, GAMMA, r->share[gather->tree_a[c]], 3 * (int64_t)c, 3);
  }
  for (int32_t s = 0; s < gather->spins.spin.n; ++s) {
    const int32_t tree = gather->tree_a[gather->spins.contact[s]];
    combine_rows(r, parts, SPIN_GAMMA, r->share[tree], 3 * (int64_t)s, 3);
  }
  for (int32_t g = 0; g < gather->elements.n_groups; ++g) {
    const sap_constraints *group = gather->elements.groups + g;
    int64_t row = gather->elements.first_row[g];
    for (int32_t c = 0; c < group->n; ++c) {
      const int32_t n = sap_rows_of(group, c);
      combine_rows(r, parts, GROUP_GAMMA, r->share[group->tree_a[c]], row, n);
      row += n;
    }
  }
}
