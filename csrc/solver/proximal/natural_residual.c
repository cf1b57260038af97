#include "solver/proximal/natural_residual.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "problem/problem_check.h"
#include "problem/products/round_off.h"

/* Fills the three rows of contact i. */
static void read_contact(struct sap_natural *natural, int32_t i) {
  const sap_problem *problem = natural->blocks->problem;
  const int64_t k = 3 * (int64_t)i;
  for (int r = 0; r < 3; ++r) {
    natural->R[k + r] = r < 2 ? problem->R_t[i] : problem->R_n[i];
    natural->v_hat[k + r] = r == 2             ? problem->v_hat_n[i]
                            : problem->v_hat_t ? problem->v_hat_t[2 * (int64_t)i + r]
                                               : 0;
    natural->lower[k + r] = 0;
    natural->upper[k + r] =
        natural->friction == SAP_FRICTION_LAGGED ? problem->friction_bound[i] : INFINITY;
  }
}

void sap_natural_read(struct sap_natural *natural, const double *w) {
  const sap_problem *problem = natural->blocks->problem;
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    read_contact(natural, i);
  }
  int64_t k = 3 * (int64_t)problem->n_contacts;
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    int64_t row = 0;
    for (int32_t i = 0; i < group->n; ++i) {
      for (const int64_t end = row + (group->size ? group->size[i] : 1); row < end; ++row, ++k) {
        natural->R[k] = group->R[row];
        natural->v_hat[k] = group->v_hat[row];
        natural->lower[k] = group->lower[row];
        natural->upper[k] = group->upper[row];
      }
    }
  }
  for (k = 0; k < natural->blocks->n_rows; ++k) {
    natural->s[k] = w[k] + natural->R[k];
  }
  for (k = 0; k < 3 * (int64_t)problem->n_contacts; k += 3) {
    /* one weight per contact: the projection onto a cone is Euclidean */
    const double s = fmax(natural->s[k], natural->s[k + 2]);
    natural->s[k] = natural->s[k + 1] = natural->s[k + 2] = s;
  }
}

/* Projects z onto the cone |z_t| <= mu z_n. Returns the region. */
static int8_t project_to_cone(double mu, const double z[3], double p[3]) {
  const double radial = hypot(z[0], z[1]), n = z[2];
  if (n >= 0 && radial <= mu * n) {
    memcpy(p, z, 3 * sizeof *p);
    return SAP_STICTION;
  }
  const double surface = (mu * radial + n) / (mu * mu + 1);
  if (!(surface > 0)) {
    p[0] = p[1] = p[2] = 0;
    return SAP_NO_CONTACT;
  }
  const double share = radial > 0 ? mu * surface / radial : 0;
  p[0] = share * z[0];
  p[1] = share * z[1];
  p[2] = surface;
  return SAP_SLIDING;
}

/* Projects z onto z_n >= 0 and then z_t onto the disk of radius b, or mu z_n where b is infinite.
 * Returns the region. */
static int8_t project_to_disk(double mu, double b, const double z[3], double p[3]) {
  const double radial = hypot(z[0], z[1]);
  p[2] = fmax(z[2], 0);
  const double bound = isinf(b) ? mu * p[2] : b;
  const double share = radial > bound ? bound / radial : 1;
  p[0] = share * z[0];
  p[1] = share * z[1];
  if (p[2] == 0 && bound == 0) {
    return SAP_NO_CONTACT;
  }
  return radial > bound ? SAP_SLIDING : SAP_STICTION;
}

/* Finds F of contact i. */
static void project_contact(struct sap_natural *natural, int32_t i, const double *gamma) {
  const int64_t k = 3 * (int64_t)i;
  const double mu = natural->blocks->problem->mu[i], s = natural->s[k];
  double z[3], p[3];
  for (int r = 0; r < 3; ++r) {
    z[r] = gamma[k + r] - natural->u[k + r] / s;
  }
  natural->regions[i] = natural->friction == SAP_FRICTION_CONVEX
                            ? project_to_cone(mu, z, p)
                            : project_to_disk(mu, natural->upper[k], z, p);
  for (int r = 0; r < 3; ++r) {
    natural->F[k + r] = p[r] - gamma[k + r];
  }
}

/* Returns a bound on the rounding errors of row k of u. */
static double error_of_row(const struct sap_natural *natural, int64_t k, const double *gamma,
                           double terms) {
  return sap_u * (terms * natural->magnitude[k] +
                  4 * (fabs(natural->v_hat[k]) + natural->R[k] * fabs(gamma[k])));
}

/* Returns the terms of the sums in J v and A^-1 J^T gamma: the velocities of two of the largest
 * trees, and a few. */
static double count_terms(const struct sap_row_blocks *blocks) {
  int32_t most = 0;
  for (int32_t t = 0; t < blocks->problem->n_trees; ++t) {
    most = blocks->problem->tree_nv[t] > most ? blocks->problem->tree_nv[t] : most;
  }
  return 2 * most + 4;
}

void sap_natural_evaluate(struct sap_natural *natural, const double *gamma) {
  const struct sap_row_blocks *blocks = natural->blocks;
  const sap_problem *problem = blocks->problem;
  sap_rows_transpose(blocks, 0, gamma, natural->v);
  sap_rows_solve_mass(blocks, natural->v, natural->scratch);
  for (int64_t j = 0; j < blocks->nv; ++j) {
    natural->v[j] += problem->v_star[j];
  }
  sap_rows_multiply(blocks, 0, natural->v, natural->v_c);
  sap_rows_multiply(blocks, 1, natural->v, natural->magnitude);
  for (int64_t k = 0; k < blocks->n_rows; ++k) {
    natural->u[k] = natural->v_c[k] - natural->v_hat[k] + natural->R[k] * gamma[k];
  }
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    project_contact(natural, i, gamma);
  }
  for (int64_t k = 3 * (int64_t)problem->n_contacts; k < blocks->n_rows; ++k) {
    const double z = gamma[k] - natural->u[k] / natural->s[k];
    natural->F[k] = fmin(fmax(z, natural->lower[k]), natural->upper[k]) - gamma[k];
  }
  const double terms = count_terms(blocks);
  double size = 0, error = 0, round_off = 0;
  for (int64_t k = 0; k < blocks->n_rows; ++k) {
    const double s = natural->s[k], e = error_of_row(natural, k, gamma, terms);
    size += s * gamma[k] * gamma[k];
    error += s * natural->F[k] * natural->F[k];
    round_off += e * e / s;
  }
  natural->size = sqrt(size);
  natural->error = sqrt(error);
  natural->round_off = sqrt(round_off);
}

double sap_natural_residual(const struct sap_natural *natural) {
  return natural->error > 0 ? natural->error / natural->size : natural->error;
}

/* Returns a bound on |A (v - v*) - J^T gamma|_{A^-1}: the round-off of v. Writes J^T gamma to
 * `impulse` and a bound on rounding errors to `error` (nv) each. */
static double bound_balance(const struct sap_natural *natural, const double *gamma, double *impulse,
                            double *error) {
  const struct sap_row_blocks *blocks = natural->blocks;
  const sap_problem *problem = blocks->problem;
  const struct sap_masses *masses = &blocks->masses;
  const double terms = count_terms(blocks);
  struct sap_norms norms = {0, 0};
  for (int64_t k = 0; k < blocks->n_rows; ++k) {
    natural->magnitude[k] = fabs(gamma[k]);
  }
  sap_rows_transpose(blocks, 1, natural->magnitude, error);
  sap_rows_transpose(blocks, 0, gamma, impulse);
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    const int32_t n = problem->tree_nv[t];
    const int64_t first = masses->tree_v[t];
    const double *A = problem->A + masses->tree_A[t];
    double *dw = natural->scratch + first;
    for (int32_t j = 0; j < n; ++j) {
      dw[j] = natural->v[first + j] - problem->v_star[first + j];
    }
    for (int32_t i = 0; i < n; ++i) {
      double sum = 0;
      for (int32_t j = 0; j < n; ++j) {
        sum += A[(int64_t)i * n + j] * dw[j];
      }
      impulse[first + i] = sum - impulse[first + i];
      error[first + i] *= terms * sap_u;
    }
    masses->loops->add_absolute(n, A, terms * sap_u + sap_asymmetry, dw, error + first);
    masses->loops->add_norms(n, masses->strips + first, masses->S + masses->tree_A[t],
                             impulse + first, error + first, &norms);
  }
  return sqrt(norms.value) + sqrt(norms.bound);
}

/* Does row k keep its impulse for every change of u up to delta? Then the error of its u does not
 * move it: an open contact, or a row at a bound. */
static int is_fixed(const struct sap_natural *natural, int64_t k, const double *gamma,
                    double delta) {
  const sap_problem *problem = natural->blocks->problem;
  if (k < 3 * (int64_t)problem->n_contacts) {
    const int64_t first = k - k % 3;
    const double mu = problem->mu[k / 3], *z = natural->u + first;
    const double tilt = natural->friction == SAP_FRICTION_CONVEX ? mu : 0;
    return natural->regions[k / 3] == SAP_NO_CONTACT && gamma[first] == 0 &&
           gamma[first + 1] == 0 && gamma[first + 2] == 0 &&
           z[2] - tilt * hypot(z[0], z[1]) > (1 + tilt) * delta;
  }
  const double u = natural->u[k];
  return (gamma[k] == natural->lower[k] && u > delta) ||
         (gamma[k] == natural->upper[k] && -u > delta);
}

double sap_natural_bound(const struct sap_natural *natural, const double *gamma,
                         double *row_scratch, double *scratch, double *error) {
  const struct sap_row_blocks *blocks = natural->blocks;
  const double terms = count_terms(blocks);
  for (int64_t k = 0; k < blocks->n_rows; ++k) {
    row_scratch[k] = error_of_row(natural, k, gamma, terms);
  }
  const double balance = bound_balance(natural, gamma, scratch, error);
  /* delta = (J A^-1 J^T + R - s) F, and the errors of u */
  sap_rows_transpose(blocks, 0, natural->F, scratch);
  const double moved = sqrt(sap_rows_solve_mass(blocks, scratch, error));
  sap_rows_multiply(blocks, 0, scratch, natural->magnitude);
  double sum = 0;
  for (int64_t k = 0; k < blocks->n_rows; ++k) {
    const double s = natural->s[k], R = natural->R[k];
    const double delta = fabs(natural->magnitude[k] + (R - s) * natural->F[k]) + row_scratch[k] +
                         sqrt(s) * balance + 8 * sap_u * s * fabs(gamma[k]);
    sum += is_fixed(natural, k, gamma, delta) ? 0 : delta * delta / R;
  }
  const double bound = moved + balance + 0.5 * sqrt(sum);
  return bound < INFINITY ? bound : INFINITY;
}
