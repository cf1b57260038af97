#include "solver/dense/dense_contacts.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "constraints/laws/contact_law.h"
#include "constraints/laws/disk.h"
#include "linalg/junction_tree.h"
#include "problem/graph/branches.h"
#include "problem/products/round_off.h"
#include "solver/dense/dense_torsion.h"

/* ---- contacts -------------------------------------------------------------------------------- */

/* Do the numbers of a contact keep their rules? J is not checked, since its faults show in
 * results. */
static int is_valid(const struct sap_contact *law) {
  return law->mu >= 0 && law->inverse_share < INFINITY && law->R_t > 0 && law->R_n > 0 &&
         law->inverse_R_t < INFINITY && law->inverse_R_n < INFINITY &&
         isfinite(law->v_hat[0] + law->v_hat[1] + law->v_hat[2]);
}

void sap_dense_contacts_list(const sap_problem *problem, struct sap_joined_trees *joined,
                             struct sap_dense_contact *contact) {
  const struct sap_components *components = joined->components;
  const sap_spin *spin = problem->spin;
  int32_t *end = components->contact_begin; /* end of the listed ones; finally the next begin */
  const double *J = problem->J, *J_spin = spin ? spin->J : NULL;
  int32_t n_spins = 0;
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    const double *v_hat_t = problem->v_hat_t ? problem->v_hat_t + 2 * (int64_t)i : NULL;
    const int32_t a = problem->tree_a[i], b = problem->tree_b[i], first = components->first[a];
    const int has_spin = spin && n_spins < spin->n && spin->contact[n_spins] == i;
    if (!components->is_dense[first]) {
      const int64_t n = 3 * ((int64_t)problem->tree_nv[a] + (b < 0 ? 0 : problem->tree_nv[b]));
      J += n;
      if (has_spin) {
        J_spin += n;
        ++n_spins;
      }
      continue;
    }
    struct sap_dense_contact *c = &contact[end[first]++];
    c->law =
        sap_contact_make(problem->mu[i], problem->R_t[i], problem->R_n[i], 0,
                         v_hat_t ? v_hat_t[0] : 0, v_hat_t ? v_hat_t[1] : 0, problem->v_hat_n[i]);
    c->J = sap_joined_trees_rows(joined, problem->tree_nv, a, b, 3, &J);
    c->index = i;
    c->spin.J = NULL;
    int valid = is_valid(&c->law);
    if (has_spin) {
      const double *J_i = sap_joined_trees_rows(joined, problem->tree_nv, a, b, 3, &J_spin);
      valid &= sap_dense_torsion_take(c, spin, n_spins++, J_i);
    }
    components->is_unfit[first] |= !valid;
  }
  memmove(end + 1, end, (size_t)problem->n_trees * sizeof *end);
  end[0] = 0;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* columns of Y that one product finds */
enum { STRIP = 8 };

/* Returns the rows of the panel, in whole vectors. Columns at multiples of 512 bytes would share
 * too few sets of the cache. */
static int32_t panel_stride(int32_t n, int32_t m) {
  const int32_t rows = (n + m + 8) & ~7;
  return rows % 64 == 0 ? rows + 8 : rows;
}

void sap_dense_unknowns_carve(struct sap_dense_unknowns *unknowns, struct sap_arena *arena,
                              int32_t widest, int any) {
  const size_t impulses = any ? SAP_DENSE_IMPULSES : 0, rows = SAP_DENSE_UNKNOWN_ROWS;
  const size_t m = impulses + rows, n = (size_t)widest;
  sap_impulses_carve(&unknowns->impulses, arena, impulses / 3, m, rows);
  unknowns->panel =
      sap_arena_take(arena, n * (size_t)panel_stride(widest, (int32_t)m), sizeof(double));
  unknowns->Y = sap_arena_take(arena, (m + 1) * n, sizeof(double));
  unknowns->product = sap_arena_take(arena, n, sizeof(double));
}

int32_t sap_dense_contact_impulses(const struct sap_dense_contact *contact, double gamma[6]) {
  int32_t n = 0;
  gamma[n++] = contact->gamma[0];
  gamma[n++] = contact->gamma[1];
  for (int r = 0; contact->spin.J && r < 3; ++r) {
    if (contact->spin.scale[r] > 0) {
      gamma[n++] = contact->spin.gamma[r] / contact->spin.scale[r];
    }
  }
  gamma[n++] = contact->gamma[2];
  return n;
}

/* Writes row k of the unknowns, with its R and v_hat - v_c. */
static void put_row(const struct sap_dense_unknowns *unknowns, int32_t n, int32_t k, double scale,
                    const double *J, double R, double lack) {
  const struct sap_impulses *p = &unknowns->impulses;
  p->W[(size_t)k * (size_t)(p->ld + 1)] = R;
  p->u[k] = lack;
  for (int32_t j = 0; j < n; ++j) {
    unknowns->J[(size_t)j * (size_t)unknowns->ld + (size_t)k] = scale * J[j];
  }
}

void sap_dense_unknowns_begin(struct sap_dense_unknowns *unknowns,
                              const struct sap_unknowns_sizes *sizes,
                              const struct sap_dense_contact *contact) {
  struct sap_impulses *p = &unknowns->impulses;
  const int32_t n = sizes->n, m = sizes->n_impulses + sizes->n_rows;
  p->n_contacts = sizes->n_contacts;
  p->n_rows = sizes->n_rows;
  p->ld = sap_impulses_stride(m);
  memset(p->W, 0, (size_t)p->ld * (size_t)m * sizeof *p->W);
  memset(p->u, 0, (size_t)p->ld * sizeof *p->u);
  memset(p->gamma, 0, (size_t)m * sizeof *p->gamma);
  unknowns->J = unknowns->panel + (sizes->is_condensed ? n : 0);
  unknowns->ld = sizes->is_condensed ? panel_stride(n, m) : m;
  int32_t k = p->first[0] = 0;
  for (int32_t i = 0; i < sizes->n_contacts; ++i, ++contact) {
    const struct sap_contact *law = &contact->law;
    const struct sap_dense_torsion *spin = &contact->spin;
    const double *v_c = contact->v_c;
    p->mu[i] = law->mu;
    put_row(unknowns, n, k++, 1, contact->J, law->R_t, law->v_hat[0] - v_c[0]);
    put_row(unknowns, n, k++, 1, contact->J + n, law->R_t, law->v_hat[1] - v_c[1]);
    for (int r = 0; spin->J && r < 3; ++r) {
      if (spin->scale[r] > 0) {
        put_row(unknowns, n, k++, spin->scale[r], spin->J + r * n, law->R_t,
                -spin->scale[r] * spin->v_c[r]);
      }
    }
    put_row(unknowns, n, k++, 1, contact->J + 2 * n, law->R_n, law->v_hat[2] - v_c[2]);
    p->first[i + 1] = k;
  }
}

void sap_dense_unknowns_add(const struct sap_dense_unknowns *unknowns, int32_t n, int32_t i,
                            const struct sap_dense_row *row) {
  const struct sap_impulses *p = &unknowns->impulses;
  const int32_t k = p->first[p->n_contacts] + i;
  p->lower[i] = row->lower;
  p->upper[i] = row->upper;
  if (!row->entry) {
    put_row(unknowns, n, k, 1, row->J, row->R, row->v_hat - row->v_c);
    return;
  }
  p->W[(size_t)k * (size_t)(p->ld + 1)] = row->R;
  p->u[k] = row->v_hat - row->v_c;
  for (int32_t j = 0; j < n; ++j) {
    unknowns->J[(size_t)j * (size_t)unknowns->ld + (size_t)k] = 0;
  }
  for (int32_t e = 0; e < row->n_entries; ++e) {
    unknowns->J[(size_t)row->entry[e] * (size_t)unknowns->ld + (size_t)k] = row->J[e];
  }
}

/* Returns the end of the nonzero columns of J (m, n), in whole strips. Columns behind it belong to
 * branches that nothing touches. */
static int32_t end_of_moved(int32_t n, int32_t m, const double *J,
                            const struct sap_vector_loops *loops) {
  int32_t end = n;
  while (end > 0) {
    const int32_t begin = (end - 1) / STRIP * STRIP;
    if (loops->find_entries(1, m * (end - begin), J + (size_t)begin * (size_t)m, 0, NULL) != 0) {
      break;
    }
    end = begin;
  }
  return end;
}

/* Returns the end of the entries of S in the strip of rows from `first` on, at most `end`. Entries
 * of other branches and trees are zeros. */
static int32_t end_of_row(const uint64_t *strips, int32_t n, int32_t first, int32_t end) {
  const int32_t shift = sap_strip_shift(n);
  int32_t k = (end - 1) >> shift;
  while (k > first >> shift && !(strips[k] >> (first >> shift) & 1)) {
    --k;
  }
  const int32_t last = (k + 1) << shift;
  return last < end ? last : end;
}

void sap_dense_unknowns_solve(struct sap_dense_unknowns *unknowns, int32_t n,
                              const struct sap_tree_inverse *inverse,
                              const struct sap_kernels *kernels,
                              const struct sap_vector_loops *loops, sap_impulses_function *find,
                              double *v) {
  struct sap_impulses *p = &unknowns->impulses;
  const int32_t m = sap_impulses_size(p), end = end_of_moved(n, m, unknowns->J, loops);
  memset(unknowns->Y, 0, (size_t)m * (size_t)end * sizeof *unknowns->Y);
  for (int32_t i = 0; i < end; i += STRIP) {
    /* S is zero below the diagonal */
    const int32_t last = end_of_row(inverse->strips, n, i, end);
    kernels->multiply(
        m, end - i < STRIP ? end - i : STRIP, last - i, 1, unknowns->J + (size_t)i * (size_t)m, m,
        inverse->S + (size_t)i * (size_t)(n + 1), n, unknowns->Y + (size_t)i * (size_t)m, m, 0);
  }
  kernels->multiply(m, m, end, 1, unknowns->Y, m, unknowns->Y, m, p->W, p->ld, 0);
  find(p);
  double *dv = unknowns->Y; /* Y is not needed any more */
  memset(unknowns->product + end, 0, (size_t)(n - end) * sizeof *unknowns->product);
  loops->multiply_rows(end, m, unknowns->Y, p->gamma, unknowns->product);
  loops->pull_inverse(n, inverse->strips, inverse->S, unknowns->product, dv);
  sap_vector_add(n, 1, dv, v);
}

/* ---- at a velocity --------------------------------------------------------------------------- */

double sap_dense_contact_evaluate(struct sap_dense_contact *contact,
                                  const struct sap_vector_loops *loops, int32_t n, const double *v,
                                  double *impulse) {
  const struct sap_contact *c = &contact->law;
  double y[3];
  loops->multiply_rows(3, n, contact->J, v, contact->v_c);
  for (int r = 0; r < 3; ++r) {
    y[r] = (c->v_hat[r] - contact->v_c[r]) * (r < 2 ? c->inverse_R_t : c->inverse_R_n);
  }
  contact->bound = y[2] > 0 ? c->mu * y[2] : 0;
  if (contact->spin.J) {
    return sap_dense_torsion_evaluate(contact, loops, n, v, y, impulse);
  }
  contact->at = sap_disk_at_impulse(c, contact->bound, y[0], y[1], y[2]);
  sap_disk_impulse(&contact->at, contact->bound, contact->gamma);
  if (y[2] > 0) {
    loops->add_rows(3, n, contact->J, contact->gamma, impulse);
  }
  return sap_disk_cost(c, &contact->at, contact->bound);
}

double sap_dense_contact_certify(const struct sap_dense_contact *contact,
                                 const struct sap_vector_loops *loops, int32_t n, const double *v,
                                 double terms, double *e) {
  if (contact->spin.J) {
    return sap_dense_torsion_certify(contact, loops, n, v, terms, e);
  }
  double dv_c[3], most[3];
  loops->multiply_absolute(3, n, contact->J, v, dv_c);
  for (int r = 0; r < 3; ++r) {
    dv_c[r] *= (n + 2) * sap_u;
  }
  sap_contact_impulse_error(&contact->law, contact->v_c, contact->gamma, dv_c, most);
  for (int r = 0; r < 3; ++r) {
    most[r] += terms * sap_u * fabs(contact->gamma[r]);
  }
  loops->add_absolute_rows(3, n, contact->J, most, e);
  return sap_disk_complementarity(&contact->law, contact->bound, contact->v_c, contact->gamma);
}

void sap_dense_contact_write(const struct sap_dense_contact *contact,
                             const sap_solution *solution) {
  const int64_t i = contact->index;
  memcpy(solution->gamma + 3 * i, contact->gamma, sizeof contact->gamma);
  if (solution->v_c) {
    memcpy(solution->v_c + 3 * i, contact->v_c, sizeof contact->v_c);
  }
  if (contact->spin.J) {
    sap_dense_torsion_write(&contact->spin, solution);
  }
  if (solution->regions) {
    solution->regions[i] = sap_contact_region(&contact->at);
  }
  if (solution->barrier_scale) {
    solution->barrier_scale[i] = 1;
  }
}
