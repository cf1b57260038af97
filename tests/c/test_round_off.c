/* Tests the bounds on rounding errors of J^T gamma, for every instruction set, against their
 * formulas in long double, from both sides, and against real errors; with torsional and rolling
 * friction only against real errors. */
#include <string.h>

#include "dense.h"

static const long double u = DBL_EPSILON;

/* A patch: its trees, and the bounds on the errors of its velocities. */
struct patch {
  const struct sap_patch *at;
  int32_t n;             /* velocities of its trees; with the world, twice those of its one */
  int is_short;          /* are both of up to 8 velocities? */
  long double roundings; /* roundings of v and v_c, 2 for each step */
  long double terms;     /* terms of the sum for one velocity */
  long double r[NV];     /* |v_0| and the magnitudes of all steps since */
};

static void describe(const struct sap_workspace *w, const struct sap_patch *at, int32_t n_steps,
                     struct patch *patch) {
  const int32_t n_low = sizes_of_trees[w->plan->graph.node_tree[at->low]];
  const int32_t n_high = at->high < 0 ? n_low : sizes_of_trees[w->plan->graph.node_tree[at->high]];
  *patch = (struct patch){.at = at,
                          .n = n_low + n_high,
                          .is_short = n_low <= 8 && n_high <= 8,
                          .roundings = 2.0L * n_steps,
                          .terms = 3 * CONTACTS + 2};
  for (int32_t j = 0; j < NV; ++j) {
    const int32_t scalar = scalar_of(w, j);
    patch->r[j] = scalar < 0 ? 0 : w->reach[scalar];
  }
}

/* Returns |J_r| r of one row. */
static long double reach_of_row(const struct patch *patch, int32_t row) {
  long double sum = 0;
  for (int32_t j = 0; j < NV; ++j) {
    sum += fabsl(scene.dense_J[row][j]) * patch->r[j];
  }
  return sum;
}

/* Adds |J|^T |dgamma| row by row, with |dgamma| from the bound of the law on one contact. */
static void add_entry_by_entry(const struct sap_workspace *w, const struct patch *patch,
                               long double e[NV]) {
  for (int32_t place = patch->at->begin; place < patch->at->end; ++place) {
    const int32_t i = w->plan->graph.triple[place];
    const long double R[3] = {scene.R_t[i], scene.R_t[i], scene.R_n[i]};
    const double v_hat[3] = {scene.v_hat_t[2 * i], scene.v_hat_t[2 * i + 1], scene.v_hat_n[i]};
    long double square = 0;
    for (int r = 0; r < 3; ++r) {
      const long double d = (patch->n + 2 + patch->roundings) * u * reach_of_row(patch, 3 * i + r) +
                            4 * u * (fabsl(w->pool.v_c[r][place]) + fabsl(v_hat[r]));
      square += d * d / R[r];
    }
    for (int r = 0; r < 3; ++r) {
      const long double gamma = fabsl(w->pool.gamma[r][place]);
      const long double error = sqrtl(square / R[r]) + (16 + patch->terms) * u * gamma;
      for (int32_t j = 0; j < NV; ++j) {
        e[j] += fabsl(scene.dense_J[3 * i + r][j]) * error;
      }
    }
  }
}

/* Adds e += p_t sum |dgamma_t| + p_n sum |dgamma_n| (certificate.h). */
static void add_by_peaks(const struct sap_workspace *w, const struct patch *patch,
                         long double e[NV]) {
  long double p[2][NV] = {{0}}, reach[2] = {0}, error[2] = {0};
  for (int32_t place = patch->at->begin; place < patch->at->end; ++place) {
    const double (*J)[NV] = &scene.dense_J[3 * w->plan->graph.triple[place]];
    for (int32_t j = 0; j < NV; ++j) {
      p[0][j] = fmaxl(p[0][j], fabsl(J[0][j]) + fabsl(J[1][j]));
      p[1][j] = fmaxl(p[1][j], fabsl(J[2][j]));
    }
  }
  for (int32_t j = 0; j < NV; ++j) {
    reach[0] += p[0][j] * patch->r[j];
    reach[1] += p[1][j] * patch->r[j];
  }
  const long double row = (patch->n + 6 + patch->roundings) * u, impulse = (16 + patch->terms) * u;
  for (int32_t place = patch->at->begin; place < patch->at->end; ++place) {
    const int32_t i = w->plan->graph.triple[place];
    const long double R_t = scene.R_t[i], R_n = scene.R_n[i], mixed = sqrtl(R_t * R_n);
    const long double slip = fabsl(scene.v_hat_t[2 * i]) + fabsl(scene.v_hat_t[2 * i + 1]);
    const long double d_t = row * reach[0] + 4 * u * slip;
    const long double d_n = row * reach[1] + 4 * u * fabsl(scene.v_hat_n[i]);
    const long double gamma_t = fabsl(w->pool.gamma[0][place]) + fabsl(w->pool.gamma[1][place]);
    error[0] += d_t / R_t + d_n / mixed + impulse * gamma_t;
    error[1] += d_n / R_n + d_t / mixed + impulse * fabsl(w->pool.gamma[2][place]);
  }
  for (int32_t j = 0; j < NV; ++j) {
    e[j] += p[0][j] * error[0] + p[1][j] * error[1];
  }
}

/* Sums by the formula of each patch, and entry by entry everywhere. */
static void sum_patches(const struct sap_workspace *w, int32_t n_steps, long double e[NV],
                        long double least[NV]) {
  static struct patch patch;
  int n_short = 0;
  memset(e, 0, NV * sizeof *e);
  memset(least, 0, NV * sizeof *least);
  for (int32_t p = 0; p < w->plan->graph.n_patches; ++p) {
    describe(w, &w->plan->graph.patch[p], n_steps, &patch);
    (patch.is_short ? add_by_peaks : add_entry_by_entry)(w, &patch, e);
    add_entry_by_entry(w, &patch, least);
    n_short += patch.is_short;
  }
  CHECK(n_short > 3 && n_short < w->plan->graph.n_patches - 3);
}

static void check_formula(struct sap_workspace *w, const struct sap_island *island) {
  double bound[NV];
  long double expected[NV], least[NV];
  sap_refresh(w, island);
  sap_evaluate(w, island, w->plan->friction);
  for (int32_t n_steps = 0; n_steps <= 50; n_steps += 25) {
    w->plan->jacobian_loops->bound_impulse(&w->J, island, &w->pool, w->reach, n_steps, bound);
    sum_patches(w, n_steps, expected, least);
    for (int32_t j = 0; j < NV; ++j) {
      const int32_t scalar = scalar_of(w, j);
      if (scalar >= 0) {
        CHECK(fabsl(bound[scalar] - expected[j]) <= 1e-12L * expected[j]);
        /* by peaks it is no smaller, and not much larger */
        CHECK(bound[scalar] >= (1 - 1e-12L) * least[j] && bound[scalar] <= 8 * least[j]);
      }
    }
  }
}

static void bound_is_its_formula(void) { for_all_sets(1, check_formula); }

/* Errors of v_c that are as large as round-off may be, times `scale`, move J^T gamma by less than
 * the bound. */
static void check_errors(struct sap_workspace *w, const struct sap_island *island) {
  const double scale = 0x1p30;
  static struct patch patch;
  uint64_t seed = 9;
  double impulse[NV], bound[NV];
  sap_refresh(w, island);
  sap_evaluate(w, island, w->plan->friction);
  w->plan->jacobian_loops->bound_impulse(&w->J, island, &w->pool, w->reach, 0, bound);
  memcpy(impulse, w->impulse, (size_t)w->plan->graph.tree.n_scalars * sizeof *impulse);
  for (int32_t p = 0; p < w->plan->graph.n_patches; ++p) {
    describe(w, &w->plan->graph.patch[p], 0, &patch);
    for (int32_t k = 3 * patch.at->begin; k < 3 * patch.at->end; ++k) {
      const double sign = check_random_bits(&seed) & 1 ? 1 : -1;
      const long double reach = reach_of_row(&patch, 3 * w->plan->graph.triple[k / 3] + k % 3);
      w->pool.v_c[k % 3][k / 3] += sign * scale * (double)(patch.n * u * reach);
    }
  }
  sap_evaluate(w, island, w->plan->friction);
  for (int32_t j = 0; j < w->plan->graph.tree.n_scalars; ++j) {
    CHECK(fabs(w->impulse[j] - impulse[j]) <= scale * bound[j]);
  }
}

static void bound_holds_for_errors_of_velocities(void) {
  for_all_sets(1, check_errors);
  for_all_sets_with_spin(1, check_errors);
}

/* Steps far away and back have summed up v_c. Its J^T gamma differs from that of J v by less than
 * the bound of the sums, and by more than that of J v. */
static void check_bound_of_sums(struct sap_workspace *w, const struct sap_island *island) {
  enum { STEPS = 100 };
  uint64_t seed = 11;
  double impulse[NV], bound[NV], fresh[NV], most = 0;
  sap_refresh(w, island);
  sap_evaluate(w, island, w->plan->friction);
  for (int32_t k = 0; k < STEPS; ++k) {
    for (int32_t j = 0; k % 2 == 0 && j < w->plan->graph.tree.n_scalars; ++j) {
      w->dv[j] = check_random(&seed, -1, 1);
    }
    const struct sap_line line = sap_line_make(w, island, w->plan->friction);
    sap_line_advance(&line, k % 2 == 0 ? 1e5 : -1e5);
  }
  CHECK(w->n_steps == STEPS);
  sap_evaluate(w, island, w->plan->friction);
  memcpy(impulse, w->impulse, (size_t)w->plan->graph.tree.n_scalars * sizeof *impulse);
  w->plan->jacobian_loops->bound_impulse(&w->J, island, &w->pool, w->reach, w->n_steps, bound);
  sap_verify(w, island, w->plan->friction);
  CHECK(w->n_steps == 0);
  w->plan->jacobian_loops->bound_impulse(&w->J, island, &w->pool, w->reach, w->n_steps, fresh);
  for (int32_t j = 0; j < w->plan->graph.tree.n_scalars; ++j) {
    const double change = fabs(w->impulse[j] - impulse[j]);
    CHECK(change <= bound[j] + fresh[j]);
    CHECK(fresh[j] <= bound[j] && w->reach[j] == fabs(w->v[j]));
    most = fmax(most, change / fresh[j]);
  }
  CHECK(most > 2);
}

static void bound_holds_for_sums_of_steps(void) {
  for_all_sets(2, check_bound_of_sums);
  for_all_sets_with_spin(2, check_bound_of_sums);
}

static const check_test tests[] = {
    CHECK_TEST(bound_is_its_formula),
    CHECK_TEST(bound_holds_for_errors_of_velocities),
    CHECK_TEST(bound_holds_for_sums_of_steps),
};
CHECK_FILE(test_round_off, tests);
