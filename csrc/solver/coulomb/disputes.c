#include "solver/coulomb/disputes.h"

#include <math.h>
#include <string.h>

#include "solver/solver_tuning.h"

/* ---- iterates and laws ----------------------------------------------------------------------- */

static void copy_triples(double *to, const double *from, const struct sap_island *island) {
  memcpy(to + island->triple_begin, from + island->triple_begin,
         (size_t)(island->triple_end - island->triple_begin) * sizeof(double));
}

void sap_iterate_save(const struct sap_workspace *w, const struct sap_island *island,
                      struct sap_iterate *to) {
  sap_copy(to->v, w->v, island);
  sap_copy(to->dw, w->dw, island);
  sap_copy(to->momentum, w->momentum, island);
  sap_copy(to->reach, w->reach, island);
  for (int r = 0; r < 3; ++r) {
    copy_triples(to->v_c[r], w->pool.v_c[r], island);
  }
  to->n_steps = w->n_steps;
}

void sap_iterate_restore(struct sap_workspace *w, const struct sap_island *island,
                         const struct sap_iterate *from) {
  sap_copy(w->v, from->v, island);
  sap_copy(w->dw, from->dw, island);
  sap_copy(w->momentum, from->momentum, island);
  sap_copy(w->reach, from->reach, island);
  for (int r = 0; r < 3; ++r) {
    copy_triples(w->pool.v_c[r], from->v_c[r], island);
  }
  w->n_steps = from->n_steps;
}

/* Returns the places of contacts that may be in dispute. */
static const int32_t *disputable(const struct sap_island *island) {
  return &island->law_begin[SAP_LAW_DISK];
}

void sap_keep_slope(struct sap_workspace *w, const struct sap_island *island, int coupled) {
  const int32_t begin = disputable(island)[0];
  const size_t bytes = (size_t)(disputable(island)[1] - begin) * sizeof(double);
  for (int e = 0; e < SAP_G_ENTRIES; ++e) {
    memcpy(w->coulomb.law.G[e] + begin, w->pool.G[e] + begin, bytes);
  }
  for (int r = 0; r < 3 && !coupled; ++r) {
    memset(w->coulomb.law.u[r] + begin, 0, bytes);
  }
}

void sap_keep_origin(struct sap_workspace *w, const struct sap_island *island) {
  const int32_t *range = disputable(island);
  w->plan->linear->set_origin(&w->coulomb.law, &w->pool, range[0], range[1]);
}

/* Finds the impulse of the linear law at the present v_c. */
static void linear_impulse(const struct sap_workspace *w, int32_t i, double lambda[3]) {
  const double v_c[3] = {w->pool.v_c[0][i], w->pool.v_c[1][i], w->pool.v_c[2][i]};
  double change[3];
  sap_linear_multiply(&w->coulomb.law, i, v_c, change);
  for (int r = 0; r < 3; ++r) {
    lambda[r] = w->coulomb.law.origin[r][i] - change[r];
  }
}

/* ---- choice of contacts ---------------------------------------------------------------------- */

void sap_find_weights(struct sap_workspace *w, const struct sap_island *island) {
  const int32_t *scalar = w->graph->tree.node_scalar;
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &w->graph->patch[p];
    for (int32_t i = patch->begin; patch->law == SAP_LAW_DISK && i < patch->end; ++i) {
      double sum = 0;
      for (int high = 0; high < (patch->high < 0 ? 1 : 2); ++high) {
        const struct sap_packed_row row = sap_packed_row(&w->J, patch, high, i, 2);
        const double *scale = w->scale + scalar[high ? patch->high : patch->low];
        for (int32_t k = 0; k < row.n; ++k) {
          sum += (scale[k] * row.J[k]) * (scale[k] * row.J[k]);
        }
      }
      w->coulomb.weight[i] = sum;
    }
  }
}

/* A contact and how much its impulse by the law differs from that of the equations, J. */
struct candidate {
  int32_t place;
  double size;
};

/* Lists up to `most` contacts with the largest differences, largest first. Returns their number. */
static int32_t find_candidates(const struct sap_workspace *w, const struct sap_island *island,
                               int32_t most, struct candidate *list) {
  const int32_t *range = disputable(island);
  const struct sap_disputes *d = &w->coulomb.disputes;
  double *gap = w->coulomb.gap;
  int32_t n = 0;
  w->plan->linear->measure(&w->coulomb.law, &w->pool, w->coulomb.weight, range[0], range[1], gap);
  for (int32_t k = 0; k < d->n; ++k) {
    gap[d->place[k]] = 0;
  }
  double smallest = 0;
  for (int32_t i = range[0]; i < range[1] && most > 0; ++i) {
    if (!(gap[i] > smallest)) {
      continue;
    }
    int32_t k = n < most ? n++ : n - 1;
    for (; k > 0 && list[k - 1].size < gap[i]; --k) {
      list[k] = list[k - 1];
    }
    list[k] = (struct candidate){i, gap[i]};
    smallest = n == most ? list[n - 1].size : 0;
  }
  while (n > 0 && !(list[n - 1].size > sap_least_dispute * list[0].size)) {
    --n;
  }
  return n;
}

/* Returns the patch of a place, among those of the island. */
static int32_t patch_of(const struct sap_graph *graph, const struct sap_island *island,
                        int32_t place) {
  int32_t low = island->patch_begin, high = island->patch_end - 1;
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (graph->patch[middle].begin <= place) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/* ---- the equations of the contacts in dispute ----------------------------------------------- */

/* contacts of a set of columns */
enum { PER_SET = SAP_PATH_COLUMNS / 3 };

/* Is there room for a round of `share` contacts? */
static int has_room(const struct sap_workspace *w, int32_t share) {
  const int32_t sets = (share + PER_SET - 1) / PER_SET;
  return w->coulomb.disputes.n + share <= SAP_SMALL_MOST &&
         w->coulomb.path.n_sets + sets <= SAP_PATH_SETS;
}

/* Adds contacts to those in dispute, and solves for their columns. */
static void add_contacts(struct sap_workspace *w, const struct sap_island *island,
                         const struct candidate *list, int32_t n) {
  struct sap_disputes *d = &w->coulomb.disputes;
  struct sap_path_columns *path = &w->coulomb.path;
  const int32_t *scalar = w->graph->tree.node_scalar;
  for (int32_t first = 0; first < n; first += PER_SET) {
    const int32_t end = first + PER_SET < n ? first + PER_SET : n;
    sap_path_open(path);
    d->first[path->n_sets] = d->n + first;
    for (int32_t k = first; k < end; ++k) {
      const int32_t p = patch_of(w->graph, island, list[k].place);
      const struct sap_patch *patch = &w->graph->patch[p];
      d->place[d->n + k] = list[k].place;
      d->patch[d->n + k] = p;
      sap_path_add_node(path, patch->low);
      if (patch->high >= 0) {
        sap_path_add_node(path, patch->high);
      }
    }
    for (int32_t k = first; k < end; ++k) {
      const struct sap_patch *patch = &w->graph->patch[d->patch[d->n + k]];
      for (int high = 0; high < (patch->high < 0 ? 1 : 2); ++high) {
        for (int r = 0; r < 3; ++r) {
          const struct sap_packed_row row = sap_packed_row(&w->J, patch, high, list[k].place, r);
          sap_path_write(path, 3 * (k - first) + r, scalar[high ? patch->high : patch->low], row.n,
                         row.J);
        }
      }
    }
    sap_path_close(path);
  }
  d->n += n;
}

/* Extends S by the sets from `first` on. */
static void extend_S(struct sap_workspace *w, int32_t first) {
  const struct sap_disputes *d = &w->coulomb.disputes;
  const struct sap_path_columns *path = &w->coulomb.path;
  for (int32_t a = 0; a < path->n_sets; ++a) {
    for (int32_t b = a < first ? first : 0; b < path->n_sets; ++b) {
      double S[SAP_PATH_COLUMNS * SAP_PATH_COLUMNS];
      double *to =
          w->coulomb.S + 3 * ((size_t)d->first[b] * SAP_SMALL_UNKNOWNS + (size_t)d->first[a]);
      sap_path_product(path, a, b, S);
      for (int32_t k = 0; k < path->n_columns[b]; ++k) {
        for (int32_t i = 0; i < path->n_columns[a]; ++i) {
          to[k * SAP_SMALL_UNKNOWNS + i] = S[i * SAP_PATH_COLUMNS + k];
        }
      }
    }
  }
}

/* Finds W = (1 - S K)^-1 S in the small problem's M. Returns 0 if it does not exist. */
static int find_W(struct sap_workspace *w) {
  const struct sap_disputes *d = &w->coulomb.disputes;
  double K[9 * SAP_SMALL_MOST];
  for (int32_t k = 0; k < d->n; ++k) {
    for (int c = 0; c < 3; ++c) {
      const double unit[3] = {c == 0, c == 1, c == 2};
      sap_linear_multiply(&w->coulomb.law, d->place[k], unit, K + 9 * (size_t)k + 3 * (size_t)c);
    }
  }
  return w->plan->small_problems->find_operator(&w->coulomb.small, d->n, w->coulomb.S, K);
}

/* Solves the contacts in dispute from their impulses gamma_0 (3 n) in the equations at the present
 * iterate. The first ones were solved in the last round, and their gamma_0 is a guess. Writes their
 * forces q on the equations, for which u' = u + H^-1 J_D^T q. Returns 0 if there is no solution. */
static int solve_contacts(struct sap_workspace *w, const double *gamma_0, int32_t n_before,
                          double *q) {
  const struct sap_disputes *d = &w->coulomb.disputes;
  const struct sap_pool *pool = &w->pool;
  struct sap_small_problem *p = &w->coulomb.small;
  const int32_t n = 3 * d->n;
  double x[SAP_SMALL_STRIDE];
  if (!find_W(w)) {
    return 0;
  }
  w->plan->small_problems->multiply(p, gamma_0, x);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t at = d->place[i / 3], r = i % 3;
    p->q[i] = pool->v_c[r][at] - pool->v_hat[r][at] - x[i];
    p->mu[i / 3] = pool->contact.mu[at];
    p->gamma[i] = i < 3 * n_before ? gamma_0[i] : pool->gamma[r][at];
  }
  memset(p->q + n, 0, (size_t)(p->ld - n) * sizeof *p->q);
  for (int sign = 1; sign >= -1; sign -= 2) {
    for (int32_t i = 0; i < n; ++i) {
      const int32_t at = d->place[i / 3];
      const double R = i % 3 < 2 ? pool->contact.R_t[at] : pool->contact.R_n[at];
      p->M[(size_t)i * (size_t)(p->ld + 1)] += sign * R;
    }
    if (sign > 0) {
      w->plan->small_problems->solve(p);
    }
  }
  /* q = gamma - gamma_0 + K W (gamma - gamma_0) */
  double change[SAP_SMALL_UNKNOWNS];
  for (int32_t i = 0; i < n; ++i) {
    change[i] = p->gamma[i] - gamma_0[i];
  }
  w->plan->small_problems->multiply(p, change, x);
  for (int32_t k = 0; k < d->n; ++k) {
    double y[3];
    sap_linear_multiply(&w->coulomb.law, d->place[k], x + 3 * (size_t)k, y);
    for (int r = 0; r < 3; ++r) {
      q[3 * k + r] = change[3 * k + r] + y[r];
    }
  }
  return 1;
}

/* Moves the iterate by H^-1 J_D^T q. */
static struct sap_evaluation move(struct sap_workspace *w, const struct sap_island *island,
                                  enum sap_factor_kind kind, const double *q) {
  const struct sap_disputes *d = &w->coulomb.disputes;
  const int32_t *scalar = w->graph->tree.node_scalar;
  memset(w->dv + island->scalar_begin, 0,
         (size_t)(island->scalar_end - island->scalar_begin) * sizeof(double));
  for (int32_t k = 0; k < d->n; ++k) {
    const struct sap_patch *patch = &w->graph->patch[d->patch[k]];
    for (int high = 0; high < (patch->high < 0 ? 1 : 2); ++high) {
      double *to = w->dv + scalar[high ? patch->high : patch->low];
      for (int r = 0; r < 3; ++r) {
        const struct sap_packed_row row = sap_packed_row(&w->J, patch, high, d->place[k], r);
        for (int32_t j = 0; j < row.n; ++j) {
          to[j] += q[3 * k + r] * row.J[j];
        }
      }
    }
  }
  sap_direction_solve(w, island, kind, w->dv);
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->v[i] += w->dv[i];
  }
  sap_refresh(w, island); /* as much work as a step, without the round-off of sums */
  return sap_evaluate(w, island, SAP_FRICTION_COULOMB);
}

/* Takes one round from the iterate, with the impulses of the contacts in dispute in `gamma`, and
 * writes the new ones there. Returns 0 if nothing is in dispute any more. */
static int take_round(struct sap_workspace *w, const struct sap_island *island,
                      enum sap_factor_kind kind, int32_t share, double *gamma,
                      struct sap_evaluation *now) {
  struct candidate list[SAP_DISPUTED_AFTER_REFUSAL];
  struct sap_disputes *d = &w->coulomb.disputes;
  double q[SAP_SMALL_UNKNOWNS];
  const int32_t n_before = d->n, n_sets = w->coulomb.path.n_sets;
  const int32_t n = find_candidates(w, island, share, list);
  if (n == 0) {
    return 0;
  }
  add_contacts(w, island, list, n);
  for (int32_t k = n_before; k < d->n; ++k) {
    linear_impulse(w, d->place[k], gamma + (size_t)3 * (size_t)k);
  }
  extend_S(w, n_sets);
  if (!solve_contacts(w, gamma, n_before, q)) {
    return 0;
  }
  memcpy(gamma, w->coulomb.small.gamma, 3 * (size_t)d->n * sizeof *gamma);
  *now = move(w, island, kind, q);
  return 1;
}

int32_t sap_settle_disputes(struct sap_workspace *w, const struct sap_island *island,
                            const sap_settings *settings, enum sap_factor_kind kind,
                            const struct sap_dispute_effort *effort, struct sap_evaluation *now) {
  struct sap_disputes *d = &w->coulomb.disputes;
  struct sap_evaluation best = *now;
  double gamma[SAP_SMALL_UNKNOWNS];
  int is_best = 1;
  int32_t trials = 0;
  d->n = 0;
  w->coulomb.small.thorough = effort->thorough;
  sap_path_begin(&w->coulomb.path, island->index, kind == SAP_FACTOR_CHOLESKY);
  for (int round = 0;
       has_room(w, effort->share) && now->gradient > sap_tolerance(w, settings, now) &&
       (round < effort->rounds || best.gradient > effort->enough);
       ++round) {
    if (is_best) {
      sap_iterate_save(w, island, &w->coulomb.best);
    }
    if (!take_round(w, island, kind, effort->share, gamma, now)) {
      break;
    }
    ++trials;
    is_best = now->gradient < best.gradient;
    best = is_best ? *now : best;
  }
  if (!is_best && !effort->leaps) {
    sap_iterate_restore(w, island, &w->coulomb.best);
    *now = sap_evaluate(w, island, SAP_FRICTION_COULOMB);
    ++trials;
  }
  return trials;
}
