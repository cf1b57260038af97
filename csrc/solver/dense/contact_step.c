#include "solver/dense/contact_step.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "constraints/laws/clamp.h"

static int is_bounded(const struct sap_pool *pool, const struct sap_dense_row *row) {
  return pool->clamp.lower[row->r][row->place] > -INFINITY ||
         pool->clamp.upper[row->r][row->place] < INFINITY;
}

/* Is the row no unknown, with its impulse between its bounds, so that it follows v? */
static int is_free(const struct sap_pool *pool, const struct sap_dense_row *row) {
  return sap_clamp_is_free(pool->y[row->r][row->place], pool->gamma[row->r][row->place],
                           pool->clamp.lower[row->r][row->place],
                           pool->clamp.upper[row->r][row->place]);
}

/* May any row meet a bound or leave it? */
static int may_turn(const struct sap_dense_island *d) {
  for (int32_t i = 0; i < d->n_rows; ++i) {
    if (is_bounded(&d->w->pool, &d->row[i])) {
      return 1;
    }
  }
  return 0;
}

/* In a wide tree W of up to two thirds of n impulses costs less than H and the rounds of activated
 * rows. */
int sap_contact_step_condenses(const struct sap_dense_island *d) {
  const int are_few = d->n_rows <= SAP_DENSE_UNKNOWN_ROWS &&
                      3 * (d->n_impulses + d->n_rows) <= 2 * d->n && d->n > SAP_WIDE_COMPONENT;
  return d->n_contacts == 0 || (d->n_rows > SAP_DENSE_ROWS && !(are_few && may_turn(d)));
}

/* ---- condensed ------------------------------------------------------------------------------- */

/* Writes J (n) of a row. Returns the first entry that may not be 0. */
static int32_t copy_row(const struct sap_dense_island *d, const struct sap_dense_row *row,
                        double *to) {
  memset(to, 0, (size_t)d->n * sizeof *to);
  for (int k = 0; k < row->n_runs; ++k) {
    const struct sap_dense_run *run = &row->run[k];
    memcpy(to + run->scalar, run->J, (size_t)run->n * sizeof *to);
  }
  return row->run->scalar;
}

/* Returns J x of a row, for x (n) of the island. */
static double multiply_row(const struct sap_dense_island *d, const struct sap_dense_row *row,
                           const double *x) {
  double sum = 0;
  for (int k = 0; k < row->n_runs; ++k) {
    const struct sap_dense_run *run = &row->run[k];
    double part = *run->J * x[run->scalar];
    if (run->n > 1) {
      d->w->plan->vectors->multiply_rows(1, run->n, run->J, x + run->scalar, &part);
    }
    sum += part;
  }
  return sum;
}

/* Adds x x^T/R to the lower triangle of H (ld, n). */
static void add_square(double *H, int32_t ld, int32_t n, const double *x, double inverse_R) {
  for (int32_t j = 0; j < n; ++j) {
    if (x[j] != 0) {
      sap_vector_add(n - j, inverse_R * x[j], x + j, H + (int64_t)j * (ld + 1));
    }
  }
}

/* Writes the lower triangle of H = A + sum J^T J/R over the free rows to the panel. */
static void assemble(const struct sap_dense_island *d) {
  const struct sap_workspace *w = d->w;
  const struct sap_pool *pool = &w->pool;
  const int32_t *scalar = w->graph->tree.node_scalar, ld = d->unknowns->ld;
  double *H = d->unknowns->panel, *x = d->unknowns->product;
  for (int32_t node = d->island->node_begin; node < d->island->node_end; ++node) {
    const int32_t s = scalar[node] - d->island->scalar_begin, n = scalar[node + 1] - scalar[node];
    for (int32_t j = 0; j < n; ++j) {
      double *column = H + (int64_t)(s + j) * (ld + 1);
      memcpy(column, w->A[node] + (int64_t)j * (n + 1), (size_t)(n - j) * sizeof *H);
      if (s + n < d->n) {
        memset(column + (n - j), 0, (size_t)(d->n - s - n) * sizeof *H);
      }
    }
  }
  for (int32_t i = 0; i < d->n_rows; ++i) {
    const struct sap_dense_row *row = &d->row[i];
    if (is_free(pool, row)) {
      const double inverse_R = pool->clamp.inverse_R[row->r][row->place];
      const struct sap_dense_run *run = row->run;
      if (row->n_runs == 1) {
        add_square(H + (int64_t)run->scalar * (ld + 1), ld, run->n, run->J, inverse_R);
      } else {
        const int32_t first = copy_row(d, row, x);
        add_square(H + (int64_t)first * (ld + 1), ld, d->n - first, x + first, inverse_R);
      }
    }
  }
}

/* Sets b (n) = J^T gamma of the rows - A (v - v*). */
static void find_right_side(const struct sap_dense_island *d, double *b) {
  const double *momentum = d->w->momentum + d->island->scalar_begin;
  for (int32_t j = 0; j < d->n; ++j) {
    b[j] = -momentum[j];
  }
  for (int32_t i = 0; i < d->n_rows; ++i) {
    const struct sap_dense_row *row = &d->row[i];
    const double gamma = d->w->pool.gamma[row->r][row->place];
    for (int k = 0; gamma != 0 && k < row->n_runs; ++k) {
      const struct sap_dense_run *run = &row->run[k];
      if (run->n == 1) {
        b[run->scalar] += gamma * *run->J;
      } else {
        sap_vector_add(run->n, gamma, run->J, b + run->scalar);
      }
    }
  }
}

/* Activates a row, with an estimate of its impulse. Returns 0 if it cannot be activated. */
static int activate(const struct sap_dense_island *d, struct sap_dense_row *row, double gamma) {
  const struct sap_pool *pool = &d->w->pool;
  const int32_t i = row->place, r = row->r;
  double *J = d->unknowns->product;
  const int32_t first = copy_row(d, row, J);
  const struct sap_condensed_row added = {.J = J,
                                          .first = first,
                                          .was_free = is_free(pool, row),
                                          .R = pool->clamp.R[r][i],
                                          .gamma = pool->gamma[r][i],
                                          .velocity_error = pool->v_hat[r][i] - pool->v_c[r][i],
                                          .lower = pool->clamp.lower[r][i],
                                          .upper = pool->clamp.upper[r][i]};
  return row->is_unknown = (int8_t)sap_condensed_add(d->condensed, d->unknowns, &added, gamma,
                                                     d->w->plan->kernels, d->w->plan->vectors);
}

/* Activates the rows that change their state in the step dv. Returns their number, or -1 if one
 * cannot be activated. */
static int32_t add_activated(const struct sap_dense_island *d, const double *dv) {
  const struct sap_pool *pool = &d->w->pool;
  int32_t n_activated = 0;
  for (int32_t k = 0; k < d->n_rows; ++k) {
    struct sap_dense_row *row = &d->row[k];
    if (row->is_unknown || !is_bounded(pool, row)) {
      continue;
    }
    const int32_t i = row->place, r = row->r;
    const double y = pool->y[r][i] - multiply_row(d, row, dv) * pool->clamp.inverse_R[r][i];
    const double gamma = sap_clamp_impulse(y, pool->clamp.lower[r][i], pool->clamp.upper[r][i]);
    if (gamma == (is_free(pool, row) ? y : pool->gamma[r][i])) {
      continue;
    }
    if (!activate(d, row, gamma)) {
      return -1;
    }
    ++n_activated;
  }
  return n_activated;
}

/* Returns the estimate J diag(A)^-1 J^T of the inverse mass of a row. */
static double inverse_mass_of(const struct sap_dense_island *d, const struct sap_dense_row *row) {
  const double *diagonal = d->w->diagonal + d->island->scalar_begin;
  double sum = 0;
  for (int k = 0; k < row->n_runs; ++k) {
    const struct sap_dense_run *run = &row->run[k];
    for (int32_t j = 0; j < run->n; ++j) {
      sum += run->J[j] * run->J[j] / diagonal[run->scalar + j];
    }
  }
  return sum;
}

/* Frees rows at a bound that ask for a velocity, if each alone on v* would reach it between its
 * bounds: a rigid row is at a bound as long as it lacks the velocity. */
static void free_rows(const struct sap_dense_island *d) {
  const struct sap_pool *pool = &d->w->pool;
  const double *v_star = d->w->v_star + d->island->scalar_begin;
  for (int32_t k = 0; k < d->n_rows; ++k) {
    const struct sap_dense_row *row = &d->row[k];
    const int32_t i = row->place, r = row->r;
    if (pool->v_hat[r][i] == 0 || is_free(pool, row)) {
      continue;
    }
    const double lower = pool->clamp.lower[r][i], upper = pool->clamp.upper[r][i];
    const double alone = (pool->v_hat[r][i] - multiply_row(d, row, v_star)) /
                         (inverse_mass_of(d, row) + pool->clamp.R[r][i]);
    if (alone > lower && alone < upper) {
      pool->gamma[r][i] = pool->y[r][i];
    }
  }
}

static enum sap_contact_step solve_condensed(const struct sap_dense_island *d, int is_first) {
  struct sap_workspace *w = d->w;
  const struct sap_plan *plan = w->plan;
  double *dv = w->dv + d->island->scalar_begin;
  for (int32_t i = 0; i < d->n_rows; ++i) {
    d->row[i].is_unknown = 0;
  }
  sap_dense_unknowns_list(d, 1, !is_first);
  if (is_first) {
    free_rows(d);
  }
  find_right_side(d, dv);
  assemble(d);
  if (!sap_condensed_begin(d->condensed, d->unknowns, d->n, dv, plan->kernels)) {
    return SAP_CONTACT_STEP_FAILS;
  }
  int32_t n_activated;
  do {
    sap_condensed_find(d->condensed, d->unknowns, plan->kernels, plan->find_impulses, dv);
    n_activated = add_activated(d, dv);
  } while (n_activated > 0);
  sap_vector_add(d->n, 1, dv, w->v + d->island->scalar_begin);
  return n_activated == 0 ? SAP_CONTACT_STEP_SETTLES : SAP_CONTACT_STEP_LEAVES_ROWS;
}

enum sap_contact_step sap_contact_step_take(const struct sap_dense_island *d, int is_first) {
  if (sap_contact_step_condenses(d)) {
    return solve_condensed(d, is_first);
  }
  sap_dense_unknowns_list(d, 0, 0);
  sap_dense_unknowns_solve(d);
  return SAP_CONTACT_STEP_SETTLES;
}
