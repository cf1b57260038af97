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

/* J y = sum_j J_j^2/M_jj and y^T M y of n velocities from `begin` on, added to sum[0] and sum[1] */
static void add_motion(const struct sap_release *release, int32_t begin, int32_t n, const double *J,
                       double sum[2]) {
  const struct sap_forest *f = release->forest;
  for (int32_t i = 0; i < n; ++i) {
    const int32_t dof = begin + i, last = f->M_rownnz[dof] - 1;
    const double *M = release->M + f->M_rowadr[dof];
    const double y = J[i] / M[last];
    sum[0] += J[i] * y;
    sum[1] += J[i] * y;
    for (int32_t k = 0; k < last && y != 0.0; ++k) {
      const int32_t other = f->M_colind[f->M_rowadr[dof] + k];
      const int32_t end = f->M_rowadr[other] + f->M_rownnz[other];
      sum[1] += 2.0 * y * M[k] * (J[other - begin] / release->M[end - 1]);
    }
  }
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

/* w_1 of a constraint; `dof` is the velocity of the first tree that is all that it moves, or -1 */
static double least_inverse_mass(const struct sap_release *release, const int32_t trees[2],
                                 int32_t dof, int32_t size, const double *J) {
  const struct sap_forest *f = release->forest;
  if (dof >= 0) {
    const int32_t at = f->tree_dofadr[trees[0]] + dof;
    return J[0] * J[0] / release->M[f->M_rowadr[at] + f->M_rownnz[at] - 1];
  }
  double squares = 0.0;
  for (int32_t r = 0; r < size; ++r) {
    const double *row = J;
    double sum[2] = {0.0, 0.0};
    for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
      const int32_t n = f->tree_dofnum[trees[side]];
      add_motion(release, f->tree_dofadr[trees[side]], n, row + r * (int64_t)n, sum);
      row += size * (int64_t)n;
    }
    const double w = sum[1] > 0.0 ? sum[0] * sum[0] / sum[1] : 0.0;
    squares += w * w;
  }
  return sqrt(squares) / size;
}

/* the engine's numbers of its row, or NULL */
static const double *constants_of(const struct sap_release *release, int32_t row) {
  return release->KBIP && row >= 0 ? release->KBIP + 4 * (int64_t)row : NULL;
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
  row.KBIP = constants_of(release, contact->row);
  return sap_release_of(&row, release->speed);
}

static int is_driven(const struct sap_element_gather *g, int64_t at) {
  const int32_t *driven = g->elements->equality_driven;
  return driven && g->label[at].element == SAP_ELEMENT_EQUALITY && driven[g->label[at].index];
}

/* bounds the pull of a driven row by F, which it returns: INFINITY where the engine is not known */
static double bound_pull(const struct sap_release *release, const struct sap_element_gather *g,
                         int64_t at) {
  const double *KBIP = constants_of(release, g->label[at].row);
  if (KBIP && release->D) {
    const double D = release->D[g->label[at].row] / (g->scale[at] * g->scale[at]);
    g->value[4][at] = sap_driven_force(release->dt, release->speed, D, KBIP[2]);
    g->value[3][at] = -g->value[4][at];
    return g->value[4][at];
  }
  return INFINITY;
}

/* rows of constraint c of a group, whose J begins at J and whose first row is `at` */
static void release_rows(const struct sap_release *release, struct sap_element_gather *g,
                         const sap_constraints *group, int32_t c, const double *J, int64_t at) {
  const struct sap_forest *f = release->forest;
  const int32_t size = sap_rows_of(group, c), dof = sap_dof_of(group, c);
  const int32_t trees[2] = {group->tree_a[c], group->tree_b[c]};
  double w_1 = -1.0;
  for (int32_t r = 0; r < size; ++r, ++at) {
    if (!isinf(g->value[1][at])) {
      continue;
    }
    const double g_0 = g->value[0][at];
    const double depth = group->kind == SAP_LIMIT ? -g_0 : fabs(g_0);
    struct sap_violation row = {.depth = depth,
                                .full = depth / (release->dt + g->value[2][at]),
                                .driven = is_driven(g, at)};
    const double F = row.driven ? bound_pull(release, g, at) : INFINITY;
    if (row.full > release->speed) {
      const double rate = dof >= 0 ? J[0] * release->v[f->tree_dofadr[trees[0]] + dof]
                                   : row_velocity(f, trees, size, r, J, release->v);
      row.growth = g_0 < 0.0 ? -rate : rate;
      if (group->kind == SAP_LIMIT && misses(release, &row)) {
        continue;
      }
      row.KBIP = constants_of(release, g->label[at].row);
      g->release[at] = sap_release_of(&row, release->speed);
      if (!isinf(g->release[at])) {
        w_1 = w_1 < 0.0 ? least_inverse_mass(release, trees, dof, size, J) : w_1;
        /* R = v_hat/(F dt): it pulls with F at rest, and no further than v_hat */
        const double pull = sap_four_pi_squared * fmin(row.full, SAP_RELEASE_LOAD);
        ++g->n_released;
        g->release_w[at] = fmax(w_1, pull / (F * release->dt));
      }
    }
  }
}

void sap_release_elements(const struct sap_release *release, struct sap_element_gather *elements) {
  elements->n_released = 0;
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
