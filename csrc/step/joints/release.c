#include "step/joints/release.h"

#include <math.h>

#include "base/arithmetic.h"
#include "constraints/kinds/kinds.h"
#include "step/joints/element_rows.h"
#include "problem/regularization/regularization.h"

/* largest correction speed of a violation that has just begun, over the speed of its growth */
static const double recent = 2.0;

static double free_speed(int driven, double speed) { return driven ? SAP_DRIVEN * speed : speed; }

double sap_release_of(const struct sap_violation *row, double speed) {
  const double u = row->driven ? fabs(row->growth) : row->growth;
  const double V = free_speed(row->driven, speed);
  if (row->full > fmax(V, recent * u)) {
    return fmax(V / recent, row->rate * row->depth);
  }
  return row->full <= fmax(V, u) || !row->one_sided || row->driven ? INFINITY : fmax(V, u);
}

double sap_driven_force(double dt, double speed, double D, double I) {
  return sap_four_pi_squared * speed * D * (1.0 - I) / (I * dt);
}

/* Sums over the motion y = diag(M)^-1 J^T. */
struct motion {
  double Jy, yMy, yAy, yAdv;
};

/* Adds the sums over n velocities from `begin` on; their block of A begins at A. */
static void add_motion(const struct sap_release *release, int32_t begin, int32_t n, const double *A,
                       const double *J, struct motion *sum) {
  const struct sap_forest *f = release->forest;
  const double *change = release->change + begin;
  double *y = release->motion;
  for (int32_t i = 0; i < n; ++i) {
    y[i] = J[i] / release->M[f->M_rowadr[begin + i] + f->M_rownnz[begin + i] - 1];
    sum->Jy += J[i] * y[i];
  }
  for (int32_t i = 0; i < n; ++i) {
    const double Ay = sap_vector_dot(n, A + i * (int64_t)n, y);
    sum->yAy += y[i] * Ay;
    sum->yAdv += change[i] * Ay;
    if (y[i] == 0.0) {
      continue;
    }
    const int32_t row = f->M_rowadr[begin + i], last = row + f->M_rownnz[begin + i] - 1;
    double others = 0.0;
    for (int32_t k = row; k < last; ++k) {
      others += release->M[k] * y[f->M_colind[k] - begin];
    }
    sum->yMy += y[i] * (J[i] + 2.0 * others);
  }
}

static const double *block_of(const struct sap_release *release, int32_t tree) {
  const double *A = release->A;
  for (int32_t t = 0; t < tree; ++t) {
    const int32_t n = release->forest->tree_dofnum[t];
    A += (int64_t)n * n;
  }
  return A;
}

/* Returns the motion of row r of a constraint of `size` rows. `dof` is the only velocity of the
 * first tree that the row moves, or -1. */
static struct motion motion_of(const struct sap_release *release, const int32_t trees[2],
                               int32_t dof, int32_t size, int32_t r, const double *J) {
  const struct sap_forest *f = release->forest;
  struct motion sum = {0};
  if (dof >= 0) {
    const int32_t begin = f->tree_dofadr[trees[0]], n = f->tree_dofnum[trees[0]], at = begin + dof;
    const double M = release->M[f->M_rowadr[at] + f->M_rownnz[at] - 1], y = J[0] / M;
    const double *A = block_of(release, trees[0]) + dof * (int64_t)n;
    sum = (struct motion){J[0] * y, J[0] * y, y * y * A[dof], 0.0};
    for (int32_t j = 0; j < n; ++j) {
      sum.yAdv += y * A[j] * release->change[begin + j];
    }
    return sum;
  }
  for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
    const int32_t n = f->tree_dofnum[trees[side]];
    add_motion(release, f->tree_dofadr[trees[side]], n, block_of(release, trees[side]),
               J + r * (int64_t)n, &sum);
    J += size * (int64_t)n;
  }
  return sum;
}

double sap_row_velocity(const struct sap_forest *forest, const int32_t trees[2], int32_t size,
                        int32_t r, const double *J, const double *v) {
  double sum = 0.0;
  for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
    const int32_t n = forest->tree_dofnum[trees[side]];
    sum += sap_vector_dot(n, J + r * (int64_t)n, v + forest->tree_dofadr[trees[side]]);
    J += size * (int64_t)n;
  }
  return sum;
}

/* Finds the motions of the rows of a constraint, and returns their w_1. */
static double undamped_mass(const struct sap_release *release, const int32_t trees[2], int32_t dof,
                            int32_t size, const double *J, struct motion motion[SAP_MOST_ROWS]) {
  double squares = 0.0;
  for (int32_t r = 0; r < size; ++r) {
    const struct motion m = motion[r] = motion_of(release, trees, dof, size, r, J);
    const double w = m.yMy > 0.0 ? m.Jy * m.Jy / m.yMy : 0.0;
    squares += w * w;
  }
  return sqrt(squares) / size;
}

/* Returns the upper limit, by implicit damping, of the impulse at rest of a row that is corrected
 * towards `sign`. */
static double most_impulse(const struct motion *m, double w_1, double sign, double full,
                           double speed) {
  if (!(m->yAy > 2.0 * m->yMy)) {
    return INFINITY;
  }
  const double holding = -sign * m->yAdv / m->Jy;
  return fmax(sap_four_pi_squared * fmin(full, SAP_HELD * speed) / w_1, 2.0 * holding);
}

/* Returns the rate at which the engine corrects a violation, 0 if it is not known. */
static double rate_of(const struct sap_release *release, sap_engine_row kind, int32_t index) {
  return release->rate_of && index >= 0 ? release->rate_of(release->engine, kind, index) : 0.0;
}

double sap_release_contact(const struct sap_release *release,
                           const struct sap_listed_contact *contact, const int32_t trees[2],
                           const double *J, double depth, double tau_d) {
  const struct sap_forest *f = release->forest;
  struct sap_violation row = {
      .depth = depth, .full = depth / (release->dt + tau_d), .one_sided = 1};
  if (!(row.full > release->speed)) {
    return INFINITY;
  }
  row.growth = -sap_row_velocity(f, trees, 3, 2, J, release->v);
  row.driven =
      f->geom_driven && (f->geom_driven[contact->geom[0]] || f->geom_driven[contact->geom[1]]);
  row.rate = rate_of(release, SAP_ROW_CONTACT, contact->index);
  return sap_release_of(&row, release->speed);
}

/* Returns the kind of the engine's rows of an element. */
static sap_engine_row kind_of(int32_t element) {
  return element == SAP_ELEMENT_EQUALITY ? SAP_ROW_EQUALITY
         : element == SAP_ELEMENT_JOINT  ? SAP_ROW_JOINT_LIMIT
                                         : SAP_ROW_TENDON_LIMIT;
}

static int is_driven(const struct sap_element_gather *g, int64_t at) {
  const int32_t *driven = g->elements->equality_driven;
  return driven && g->label[at].element == SAP_ELEMENT_EQUALITY && driven[g->label[at].index];
}

/* Bounds the pull of a driven row by F, and returns F; INFINITY if the engine's constants are not
 * known. */
static double bound_pull(const struct sap_release *release, const struct sap_element_gather *g,
                         int64_t at, double speed) {
  const int64_t row = g->label[at].row;
  if (release->KBIP && release->D) {
    const double D = release->D[row] / (g->scale[at] * g->scale[at]);
    g->value[4][at] = sap_driven_force(release->dt, speed, D, release->KBIP[4 * row + 2]);
    g->value[3][at] = -g->value[4][at];
    return g->value[4][at];
  }
  return INFINITY;
}

/* Finds the release of the rows of constraint c of a group; its J begins at J and its first row is
 * `at`. */
static void release_rows(const struct sap_release *release, struct sap_element_gather *g,
                         const sap_constraints *group, int32_t c, const double *J, int64_t at) {
  const struct sap_forest *f = release->forest;
  const int32_t size = sap_rows_of(group, c), dof = sap_dof_of(group, c);
  const int32_t trees[2] = {group->tree_a[c], group->tree_b[c]};
  struct motion motion[SAP_MOST_ROWS] = {{0}};
  double w_1 = -1.0;
  for (int32_t r = 0; r < size; ++r, ++at) {
    if (!isinf(g->value[1][at])) {
      continue;
    }
    const double speed = g->is_angle[at] ? release->rate : release->speed;
    const double g_0 = g->value[0][at];
    const double depth = group->kind == SAP_LIMIT ? -g_0 : fabs(g_0);
    struct sap_violation row = {.depth = depth,
                                .full = depth / (release->dt + g->value[2][at]),
                                .one_sided = group->kind == SAP_LIMIT,
                                .driven = is_driven(g, at)};
    const double F = row.driven ? bound_pull(release, g, at, speed) : INFINITY;
    if (row.full > speed) {
      const double rate = dof >= 0 ? J[0] * release->v[f->tree_dofadr[trees[0]] + dof]
                                   : sap_row_velocity(f, trees, size, r, J, release->v);
      row.growth = g_0 < 0.0 ? -rate : rate;
      row.rate = rate_of(release, kind_of(g->label[at].element), g->label[at].index);
      g->release[at] = sap_release_of(&row, speed);
      if (!isinf(g->release[at])) {
        w_1 = w_1 < 0.0 ? undamped_mass(release, trees, dof, size, J, motion) : w_1;
        const double sign = g_0 < 0.0 ? 1.0 : -1.0;
        ++g->n_released;
        g->release_impulse[at] =
            fmin(F * release->dt, most_impulse(&motion[r], w_1, sign, row.full, speed));
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
