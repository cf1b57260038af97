#include "made.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

enum {
  MOST_TREES = 9,
  MOST_CONTACTS = 14,
  MOST_CONSTRAINTS = 4,
  MOST_ENTRIES = 20000,
  /* a pile, which is too large for dense storage: free bodies, each with contacts */
  PILE_TREES = 8,
  PILE_CONTACTS = 18,
  PILE_MORE = 14
};

/* ---- arrays --------------------------------------------------------------------------------- */

static void *add_array(struct made *m, int64_t n, size_t size, const double **member) {
  void *data = malloc((size_t)n * size);
  if (!data || m->n_arrays == MADE_MOST_ARRAYS) {
    abort();
  }
  m->arrays[m->n_arrays++] = (struct made_array){data, n, member};
  return data;
}

static int32_t *add_indices(struct made *m, int32_t n, int32_t low, int32_t high) {
  int32_t *x = add_array(m, n, sizeof *x, NULL);
  for (int32_t i = 0; i < n; ++i) {
    x[i] = low + (int32_t)(check_random_bits(&m->random) % (uint64_t)(high - low + 1));
  }
  return x;
}

/* n numbers between low and high, to which *member points */
static double *add_numbers(struct made *m, int64_t n, double low, double high,
                           const double **member) {
  double *x = add_array(m, n, sizeof *x, member);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = check_random(&m->random, low, high);
  }
  *member = x;
  return x;
}

void made_release(struct made *m) {
  for (int i = 0; i < m->n_arrays; ++i) {
    free(m->arrays[i].data);
  }
}

/* ---- indices -------------------------------------------------------------------------------- */

/* two different trees, or one and the world */
static void add_pairs(struct made *m, int32_t n, const int32_t **tree_a, const int32_t **tree_b) {
  const int32_t n_trees = m->problem.n_trees;
  const int32_t *a = *tree_a = add_indices(m, n, 0, n_trees - 1);
  int32_t *b = add_indices(m, n, -1, n_trees - 1);
  for (int32_t i = 0; i < n; ++i) {
    b[i] = b[i] == a[i] ? -1 : b[i];
  }
  *tree_b = b;
}

/* of about every other contact; numbers follow */
static void add_spin(struct made *m) {
  int32_t chosen[PILE_CONTACTS + PILE_MORE];
  for (int32_t i = 0; i < m->problem.n_contacts; ++i) {
    if (check_random_bits(&m->random) % 2) {
      chosen[m->spin.n++] = i;
    }
  }
  int32_t *contact = add_array(m, m->spin.n, sizeof *contact, NULL);
  for (int32_t k = 0; k < m->spin.n; ++k) {
    contact[k] = chosen[k];
  }
  m->spin.contact = contact;
  m->problem.spin = &m->spin;
}

/* of rows of one tree alone, about every other has one entry */
static void add_dofs(struct made *m, sap_constraints *group) {
  int32_t *dof = add_indices(m, group->n, -1, -1);
  for (int32_t i = 0; i < group->n; ++i) {
    if ((!group->size || group->size[i] == 1) && group->tree_b[i] < 0) {
      const uint64_t nv = (uint64_t)m->problem.tree_nv[group->tree_a[i]];
      dof[i] = (int32_t)(check_random_bits(&m->random) % (2 * nv)) - (int32_t)nv;
      dof[i] = dof[i] < 0 ? -1 : dof[i];
    }
  }
  group->dof = dof;
}

static void take_trees(struct made *m, struct input *in) {
  sap_problem *p = &m->problem;
  p->n_trees = take_up_to(in, MOST_TREES);
  p->n_contacts = p->n_trees > 0 ? take_up_to(in, MOST_CONTACTS) : 0;
  p->n_groups = take_up_to(in, MADE_MOST_GROUPS);
  p->tree_nv = add_indices(m, p->n_trees, 1, take_byte(in) % 16 == 0 ? 40 : 7);
}

static void take_pile(struct made *m, struct input *in) {
  sap_problem *p = &m->problem;
  p->n_trees = PILE_TREES + take_up_to(in, PILE_MORE);
  p->n_contacts = PILE_CONTACTS + take_up_to(in, PILE_MORE);
  p->n_groups = take_up_to(in, MADE_MOST_GROUPS);
  p->tree_nv = add_indices(m, p->n_trees, 6, 6);
}

static void take_indices(struct made *m, struct input *in, int has_spin, int has_dofs) {
  sap_problem *p = &m->problem;
  p->groups = m->groups;
  add_pairs(m, p->n_contacts, &p->tree_a, &p->tree_b);
  for (int32_t g = 0; g < p->n_groups; ++g) {
    sap_constraints *group = &m->groups[g];
    group->kind = (sap_kind)take_up_to(in, SAP_N_KINDS);
    group->n = p->n_trees > 0 ? take_up_to(in, MOST_CONSTRAINTS) : 0;
    group->size = take_byte(in) % 2 ? add_indices(m, group->n, 1, 6) : NULL;
    add_pairs(m, group->n, &group->tree_a, &group->tree_b);
    if (has_dofs) {
      add_dofs(m, group);
    }
  }
  if (has_spin) {
    add_spin(m);
  }
  for (int left = take_up_to(in, 8) - 5; left > 0; --left) {
    const struct made_array *array = &m->arrays[take_up_to(in, m->n_arrays - 1)];
    const int32_t at = take_byte(in), value = take_int32(in);
    if (array->n > 0) {
      ((int32_t *)array->data)[at % array->n] = value;
    }
  }
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* diagonally dominant blocks, or diagonal ones */
static void add_masses(struct made *m, int diagonal) {
  const sap_problem *p = &m->problem;
  double *A = add_numbers(m, m->sizes.nA, diagonal ? 0 : -1, diagonal ? 0 : 1, &m->problem.A);
  for (int32_t t = 0; t < p->n_trees; ++t) {
    const int32_t n = p->tree_nv[t];
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < i; ++j) {
        A[i * n + j] = A[j * n + i];
      }
      A[i * n + i] = check_random(&m->random, n, 2 * n);
    }
    A += n * n;
  }
}

/* b'' grows from 1 at s = 0 to 3 at s = 1 */
static const double table_s[2] = {0, 1}, table_curvature[2] = {1, 3}, table_slope[2] = {0, 2},
                    table_value[2] = {0, 5.0 / 6};
static const sap_barrier_table barrier_table = {2, table_s, table_curvature, table_slope,
                                                table_value};

static void add_barriers(struct made *m, struct input *in) {
  const int32_t n = m->problem.n_contacts;
  int8_t *barrier = add_array(m, n, sizeof *barrier, NULL);
  for (int32_t i = 0; i < n; ++i) {
    barrier[i] = (int8_t)(check_random_bits(&m->random) % 4);
  }
  if (n > 0 && take_byte(in) % 8 == 1) {
    barrier[take_byte(in) % n] = (int8_t)take_byte(in);
  }
  /* what is replaced later are numbers */
  m->arrays[m->n_arrays - 1].n = 0;
  m->problem.barrier = barrier;
  m->problem.barrier_table = &barrier_table;
  add_numbers(m, n, 0.01, 10, &m->problem.kappa);
  add_numbers(m, n, 0.5, 8, &m->problem.barrier_lambda);
  add_numbers(m, n, 1e-4, 1e-2, &m->parameters.delta);
}

static int64_t entries_of(const sap_problem *p, const sap_constraints *group, int64_t *n_rows) {
  int64_t entries = 0;
  *n_rows = 0;
  for (int32_t i = 0; i < group->n; ++i) {
    const int32_t size = group->size ? group->size[i] : 1;
    *n_rows += size;
    if (group->dof && group->dof[i] >= 0) {
      entries += 1;
      continue;
    }
    entries += size * p->tree_nv[group->tree_a[i]];
    entries += group->tree_b[i] < 0 ? 0 : size * p->tree_nv[group->tree_b[i]];
  }
  return entries;
}

static void add_group(struct made *m, int32_t g) {
  sap_constraints *group = &m->groups[g];
  const int64_t nJ = entries_of(&m->problem, group, &m->n_rows[g]), n = m->n_rows[g];
  add_numbers(m, nJ, -1, 1, &group->J);
  add_numbers(m, n, 1e-4, 1e-1, &group->R);
  add_numbers(m, n, -1, 1, &group->v_hat);
  add_numbers(m, n, -2, -0.5, &group->lower);
  add_numbers(m, n, 0.5, 2, &group->upper);
  m->physical[g] =
      (sap_group_parameters){0.01, 1e-3, 0.1, SAP_DELASSUS_BLOCK, m->values[g], NULL, NULL, NULL};
  for (int32_t v = 0; v < sap_kind_parameters(group->kind); ++v) {
    const char *name = sap_kind_parameter(group->kind, v);
    const double sign = strcmp(name, "force_lower") == 0 ? -1 : 1;
    add_numbers(m, n, fmin(sign, 2 * sign), fmax(sign, 2 * sign), &m->values[g][v]);
  }
}

static void add_contacts(struct made *m, struct input *in) {
  sap_problem *p = &m->problem;
  const int32_t n = p->n_contacts;
  add_numbers(m, m->sizes.nJ, -1, 1, &p->J);
  add_numbers(m, n, 0, 1, &p->mu);
  add_numbers(m, n, 1e-4, 1e-3, &p->R_t);
  add_numbers(m, n, 1e-3, 1e-1, &p->R_n);
  add_numbers(m, n, -0.1, 0.5, &p->v_hat_n);
  if (take_byte(in) % 2) {
    add_numbers(m, 2 * (int64_t)n, -0.1, 0.1, &p->v_hat_t);
  }
  m->parameters = (sap_parameters){
      .dt = 0.01, .sigma = 1e-3, .beta = 1, .delassus = (sap_delassus)take_up_to(in, 2)};
  add_numbers(m, n, -1e-3, 1e-3, &m->parameters.phi0);
  add_numbers(m, n, 1e3, 1e6, &m->parameters.k);
  add_numbers(m, n, 0, 0.1, &m->parameters.tau_d);
  if (take_byte(in) % 3 == 1) {
    add_barriers(m, in);
  }
}

/* What a step knows of its contacts: slip, loads, deep violations and impacts. About every other
 * contact is rigid, as these act on rigid ones alone. */
static void add_step_parameters(struct made *m) {
  static const double load_speeds[] = {0.1, 1e-3, INFINITY, 0};
  const int32_t n = m->problem.n_contacts;
  sap_parameters *p = &m->parameters;
  double *k = (double *)p->k;
  for (int32_t i = 0; i < n; ++i) {
    k[i] = check_random_bits(&m->random) % 2 ? k[i] : INFINITY;
  }
  add_numbers(m, n, 0, 2, &p->slip_ratio);
  add_numbers(m, n, 1e-3, 0.2, &p->release);
  add_numbers(m, 2 * (int64_t)n, 0, 1, &p->body_w);
  add_numbers(m, m->sizes.nv, -1, 1, &p->free_change);
  p->load_speed = load_speeds[check_random_bits(&m->random) % 4];
  double *rebound = add_numbers(m, n, -1, 1, &p->rebound);
  for (int32_t i = 0; i < n; ++i) {
    rebound[i] = fmax(rebound[i], 0);
  }
}

/* bounds of friction, some of them unknown */
static void add_bounds(struct made *m) {
  const int32_t n = m->problem.n_contacts;
  double *bound = add_numbers(m, n, 0, 1, &m->problem.friction_bound);
  for (int32_t i = 0; i < n; ++i) {
    bound[i] = check_random_bits(&m->random) % 3 ? bound[i] : NAN;
  }
}

/* entries, whole arrays, and arrays that are not there */
static void replace_numbers(struct made *m, struct input *in, int first) {
  for (int left = take_up_to(in, 12) - 4; left > 0; --left) {
    const struct made_array *array = &m->arrays[first + take_up_to(in, m->n_arrays - 1 - first)];
    const int how = take_byte(in) % 32, at = take_up_to(in, 1000);
    const double value = take_double(in);
    double *x = array->data;
    for (int64_t i = 0; i < array->n; ++i) {
      if (how == 1) {
        x[i] *= value;
      } else if (how == 2 || i == at % array->n) {
        x[i] = value;
      }
    }
    if (how == 3 && array->member) {
      *array->member = NULL;
    }
  }
  double *const scalars[] = {&m->parameters.dt, &m->parameters.sigma, &m->parameters.beta};
  for (int left = take_up_to(in, 4) - 2; left > 0; --left) {
    *scalars[take_up_to(in, 2)] = take_double(in);
  }
}

/* R of some constraints becomes tiny or 0. Takes no bytes of the input, whose meaning stays. */
static void make_rigid(struct made *m) {
  double *const R[] = {(double *)m->problem.R_t, (double *)m->problem.R_n};
  for (int a = 0; a < 2; ++a) {
    for (int32_t i = 0; i < m->problem.n_contacts; ++i) {
      R[a][i] *= (double)(check_random_bits(&m->random) % 3) * 1e-6;
    }
  }
  for (int32_t g = 0; g < m->problem.n_groups; ++g) {
    for (int64_t i = 0; i < m->n_rows[g]; ++i) {
      ((double *)m->groups[g].R)[i] *= (double)(check_random_bits(&m->random) % 3) * 1e-6;
    }
  }
}

sap_status made_take(struct made *m, struct input *in) {
  const int is_pile = take_mark(in, 'P');
  const int has_spin = take_mark(in, 'S'), has_dofs = take_mark(in, 'D');
  const int is_step = take_mark(in, 'R');
  *m = (struct made){.random = take_byte(in)};
  const int has_bounds = m->random % 2;
  if (is_pile) {
    take_pile(m, in);
  } else {
    take_trees(m, in);
  }
  take_indices(m, in, has_spin, has_dofs);
  const sap_status status = sap_problem_sizes(&m->problem, &m->sizes, NULL);
  if (status != SAP_OK) {
    return status;
  }
  const int64_t entries = m->sizes.nA + m->sizes.nJ + m->sizes.nJ_spin;
  if (entries > MOST_ENTRIES || m->sizes.nv > MOST_ENTRIES || m->sizes.n_rows > MOST_ENTRIES) {
    return SAP_OUT_OF_MEMORY;
  }
  const int first = m->n_arrays;
  add_masses(m, take_byte(in) % 4 == 0);
  add_numbers(m, m->sizes.nv, -1, 1, &m->problem.v_star);
  add_contacts(m, in);
  for (int32_t g = 0; g < m->problem.n_groups; ++g) {
    add_group(m, g);
  }
  if (has_spin) {
    add_numbers(m, m->sizes.nJ_spin, -1, 1, &m->spin.J);
    add_numbers(m, 3 * (int64_t)m->spin.n, 0, 0.1, &m->spin.mu);
  }
  if (take_byte(in) % 2) {
    add_numbers(m, m->sizes.nv, -1, 1, &m->guess);
  }
  const double *ignored;
  m->dv = add_numbers(m, m->sizes.nv, -1, 1, &ignored);
  m->arrays[m->n_arrays - 1].member = NULL;
  if (has_bounds) {
    add_bounds(m);
  }
  if (is_step) {
    add_step_parameters(m);
  }
  if (check_random_bits(&m->random) % 8 == 0) {
    make_rigid(m);
  }
  replace_numbers(m, in, first);
  return SAP_OK;
}

/* ---- settings ------------------------------------------------------------------------------- */

sap_settings made_settings(struct input *in) {
  sap_settings s = sap_settings_default();
  double *const numbers[] = {&s.relative_tolerance, &s.absolute_tolerance, &s.line_search_tolerance,
                             &s.max_step,           &s.armijo_rho,         &s.armijo_c,
                             &s.start_threshold,    &s.soft_norm,          &s.natural_tolerance};
  int32_t *const integers[] = {&s.line_search_max_trials, &s.turning,
                               &s.mixed_precision,        &s.islands,
                               &s.record_history,         &s.threads};
  enum { N = sizeof numbers / sizeof *numbers, M = sizeof integers / sizeof *integers };
  s.line_search = (sap_line_search)(take_byte(in) % 5 / 2);
  s.start = (sap_start)(take_byte(in) % 5 / 2);
  s.max_iterations = take_byte(in);
  for (int left = take_up_to(in, 5); left > 0; --left) {
    const int field = take_up_to(in, N + M - 1);
    if (field < N) {
      *numbers[field] = take_double(in);
    } else {
      *integers[field - N] = take_int32(in);
    }
  }
  s.friction = (sap_friction)(take_byte(in) % 7 / 2);
  /* more threads than cores find no more, and cost time to start */
  s.threads = s.threads > 3 && s.threads <= 256 ? 3 : s.threads;
  return s;
}
