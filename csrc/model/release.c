#include "model/release.h"

#include <math.h>

#include "constraints/kinds.h"
#include "model/element_rows.h"
#include "problem/regularization.h"

/* what a violation of its own may be corrected with, in terms of how fast it grows */
static const double own = 2.0;

static double free_speed(int driven, double speed) {
  return driven ? fmax(speed, SAP_DRIVEN_SPEED) : speed;
}

static int is_free(const struct sap_violation *row, double speed) {
  const double u = row->driven ? fabs(row->growth) : row->growth;
  return row->full <= fmax(free_speed(row->driven, speed), own * u);
}

double sap_release_of(const struct sap_violation *row, double speed) {
  if (is_free(row, speed)) {
    return INFINITY;
  }
  const double *K = row->KBIP;
  const double rate = K && K[0] > 0.0 ? K[0] / (K[1] + sqrt(K[0])) : 0.0;
  return fmax(free_speed(row->driven, speed) / own, rate * row->depth);
}

/* notes where the constants of a row are read, and returns 1 where it was left out */
static int misses(const struct sap_release *release, const struct sap_violation *row) {
  const int reads = !is_free(row, release->speed);
  *release->reads_rows |= reads;
  return reads && release->left_out;
}

double sap_driven_force(double dt, double speed, double D, double I) {
  return sap_four_pi_squared * speed * D * (1.0 - I) / (I * dt);
}

/* velocity of row r of a constraint of `size` rows in one or two trees */
static double row_velocity(const struct sap_forest *forest, const int32_t trees[2], int32_t size,
                           int32_t r, const double *J, const double *v) {
  double sum = 0.0;
  for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
    const int32_t n = forest->tree_dofnum[trees[side]];
    const double *row = J + r * (int64_t)n, *v_t = v + forest->tree_dofadr[trees[side]];
    for (int32_t j = 0; j < n; ++j) {
      sum += row[j] * v_t[j];
    }
    J += size * (int64_t)n;
  }
  return sum;
}

double sap_release_contact(const struct sap_release *release,
                           const struct sap_listed_contact *contact, const int32_t trees[2],
                           const double *J, double depth, double tau_d) {
  const struct sap_forest *f = release->forest;
  struct sap_violation row = {.depth = depth, .full = depth / (release->dt + tau_d)};
  if (!(row.full > release->speed)) {
    return INFINITY;
  }
  row.growth = -row_velocity(f, trees, 3, 2, J, release->v);
  row.driven =
      f->geom_driven && (f->geom_driven[contact->geom[0]] || f->geom_driven[contact->geom[1]]);
  if (misses(release, &row)) {
    return INFINITY;
  }
  row.KBIP = release->KBIP ? release->KBIP + 4 * (int64_t)contact->row : NULL;
  return sap_release_of(&row, release->speed);
}

/* the engine's numbers of row `at`, or NULL */
static const double *constants_of(const struct sap_release *release,
                                  const struct sap_element_gather *g, int64_t at) {
  const int32_t row = g->label[at].row;
  return release->KBIP && row >= 0 ? release->KBIP + 4 * (int64_t)row : NULL;
}

static int is_driven(const struct sap_element_gather *g, int64_t at) {
  const int32_t *driven = g->elements->equality_driven;
  return driven && g->label[at].element == SAP_ELEMENT_EQUALITY && driven[g->label[at].index];
}

static void bound_pull(const struct sap_release *release, const struct sap_element_gather *g,
                       int64_t at) {
  const double *KBIP = constants_of(release, g, at);
  if (KBIP && release->D) {
    const double D = release->D[g->label[at].row] / (g->scale[at] * g->scale[at]);
    g->value[4][at] = sap_driven_force(release->dt, release->speed, D, KBIP[2]);
    g->value[3][at] = -g->value[4][at];
  }
}

/* rows of constraint c of a group, whose J begins at J and whose first row is `at` */
static void release_rows(const struct sap_release *release, const struct sap_element_gather *g,
                         const sap_constraints *group, int32_t c, const double *J, int64_t at) {
  const struct sap_forest *f = release->forest;
  const int32_t size = sap_rows_of(group, c), dof = sap_dof_of(group, c);
  const int32_t trees[2] = {group->tree_a[c], group->tree_b[c]};
  for (int32_t r = 0; r < size; ++r, ++at) {
    if (!isinf(g->value[1][at])) {
      continue;
    }
    const double g_0 = g->value[0][at];
    const double depth = group->kind == SAP_LIMIT ? -g_0 : fabs(g_0);
    struct sap_violation row = {.depth = depth,
                                .full = depth / (release->dt + g->value[2][at]),
                                .driven = is_driven(g, at)};
    if (row.driven) {
      bound_pull(release, g, at);
    }
    if (row.full > release->speed) {
      const double rate = dof >= 0 ? J[0] * release->v[f->tree_dofadr[trees[0]] + dof]
                                   : row_velocity(f, trees, size, r, J, release->v);
      row.growth = g_0 < 0.0 ? -rate : rate;
      if (group->kind == SAP_LIMIT && misses(release, &row)) {
        continue;
      }
      row.KBIP = constants_of(release, g, at);
      g->release[at] = sap_release_of(&row, release->speed);
    }
  }
}

void sap_release_elements(const struct sap_release *release,
                          const struct sap_element_gather *elements) {
  for (int32_t i = 0; i < elements->n_groups && !isinf(release->speed); ++i) {
    const sap_constraints *group = &elements->groups[i];
    const double *J = group->J;
    int64_t row = elements->first_row[i];
    for (int32_t c = 0; c < group->n && sap_kinds[group->kind]->released; ++c) {
      const int32_t size = sap_rows_of(group, c);
      const int32_t trees[2] = {group->tree_a[c], group->tree_b[c]};
      release_rows(release, elements, group, c, J, row);
      row += size;
      J += sap_dof_of(group, c) >= 0 ? 1 : size * sap_width_of(release->forest, trees);
    }
  }
}
