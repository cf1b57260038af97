/* Evaluates all tetrahedra of a mesh and adds up their forces, stiffness and masses. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "fem/element.h"
#include "fem/mesh.h"

/* ---- materials ---- */

sap_status fem_check_material(const fem_material *m, sap_error *error) {
  const struct sap_scalar_rule rules[] = {
      {"model", m->model, m->model >= FEM_LINEAR && m->model < FEM_N_MODELS, "must be a fem_model"},
      {"young", m->young, m->young > 0 && m->young < INFINITY, "must be finite and > 0"},
      {"poisson", m->poisson, m->poisson > -1 && m->poisson < 0.5, "must be > -1 and < 0.5"},
  };
  return sap_check_rules(rules, sizeof rules / sizeof *rules, error);
}

/* ---- one tetrahedron ---- */

static void read_corners(const fem_arrays *a, int32_t i, const double *x, const double *corner[4]) {
  for (int k = 0; k < 4; ++k) {
    corner[k] = x + 3 * (int64_t)a->tetrahedra[4 * (int64_t)i + k];
  }
}

/* Adds the forces -V P b_a of tetrahedron i. */
static void add_forces(const fem_arrays *a, int32_t i, const double P[9], double *force) {
  const int32_t *corner = a->tetrahedra + 4 * (int64_t)i;
  const double *b = a->gradients + 9 * (int64_t)i, V = a->volume[i];
  double sum[3] = {0, 0, 0};
  for (int k = 0; k < 3; ++k) {
    for (int j = 0; j < 3; ++j) {
      const double f =
          V * (P[3 * j] * b[3 * k] + P[3 * j + 1] * b[3 * k + 1] + P[3 * j + 2] * b[3 * k + 2]);
      force[3 * (int64_t)corner[k + 1] + j] -= f;
      sum[j] += f;
    }
  }
  for (int j = 0; j < 3; ++j) {
    force[3 * (int64_t)corner[0] + j] += sum[j];
  }
}

/* Adds the stiffness of tetrahedron i. */
static void add_stiffness(const fem_arrays *a, int32_t i, const struct fem_constants *constants,
                          const double *R0, const struct fem_state *state, fem_result *result) {
  static const int ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  const int32_t *corner = a->tetrahedra + 4 * (int64_t)i;
  const int32_t *pair = a->tetra_pairs + 6 * (int64_t)i;
  const double V = a->volume[i];
  double c[4][3];
  fem_turn_gradients(constants, R0, a->gradients + 9 * (int64_t)i, state, c);
  for (int p = 0; p < 4; ++p) {
    fem_add_stiffness(constants, state, V, c[p], c[p], result->K + 9 * (int64_t)corner[p]);
  }
  for (int e = 0; e < 6; ++e) {
    const int p = ends[e][0], q = ends[e][1], swaps = corner[p] > corner[q];
    fem_add_stiffness(constants, state, V, c[swaps ? q : p], c[swaps ? p : q],
                      result->K_pairs + 9 * (int64_t)pair[e]);
  }
}

static void write_state(const struct fem_state *state, double V, int32_t i, fem_result *result) {
  result->energy += V * state->density;
  result->turned_over += state->J <= 0;
  if (result->energies) {
    result->energies[i] = V * state->density;
  }
  if (result->deformation) {
    memcpy(result->deformation + 9 * (int64_t)i, state->F, sizeof state->F);
  }
  if (result->stress) {
    double *stress = result->stress + 9 * (int64_t)i;
    fem_multiply_transposed(state->P, state->F, stress);
    for (int k = 0; k < 9; ++k) {
      stress[k] /= state->J;
    }
  }
}

/* ---- all tetrahedra ---- */

void fem_find_rotations(const fem_mesh *mesh, const double *x, double *rotations) {
  const fem_arrays *a = &mesh->arrays;
  for (int32_t i = 0; i < a->n_tetrahedra; ++i) {
    const double *corner[4];
    double F[9];
    read_corners(a, i, x, corner);
    fem_deform(corner, a->gradients + 9 * (int64_t)i, F);
    fem_polar(F, rotations + 9 * (int64_t)i);
  }
}

static void clear(const fem_arrays *a, fem_result *result) {
  result->energy = 0;
  result->turned_over = 0;
  if (result->force) {
    memset(result->force, 0, 3 * (size_t)a->n_vertices * sizeof(double));
  }
  if (result->K) {
    memset(result->K, 0, 9 * (size_t)a->n_vertices * sizeof(double));
    memset(result->K_pairs, 0, 9 * (size_t)a->n_pairs * sizeof(double));
  }
}

sap_status fem_evaluate(const fem_mesh *mesh, const fem_material *material, const double *x,
                        const double *rotations, fem_stiffness stiffness, fem_result *result,
                        sap_error *error) {
  const sap_status status = fem_check_material(material, error);
  if (status != SAP_OK) {
    return status;
  }
  if (material->model == FEM_LINEAR_COROTATED && !rotations) {
    return sap_invalid(error, "rotations", -1, NAN, "must be given for this model");
  }
  if ((result->K == NULL) != (result->K_pairs == NULL)) {
    return sap_invalid(error, "K_pairs", -1, NAN, "must be given together with K");
  }
  const fem_arrays *a = &mesh->arrays;
  const struct fem_constants constants = fem_constants_of(material);
  clear(a, result);
  for (int32_t i = 0; i < a->n_tetrahedra; ++i) {
    const double *gradients = a->gradients + 9 * (int64_t)i;
    const double *R0 = material->model == FEM_LINEAR_COROTATED ? rotations + 9 * (int64_t)i : NULL;
    const double *corner[4];
    struct fem_state state;
    read_corners(a, i, x, corner);
    fem_deform(corner, gradients, state.F);
    fem_find_stress(&constants, R0, result->K != NULL, stiffness, &state);
    write_state(&state, a->volume[i], i, result);
    if (result->force) {
      add_forces(a, i, state.P, result->force);
    }
    if (result->K) {
      add_stiffness(a, i, &constants, R0, &state, result);
    }
  }
  return SAP_OK;
}

/* ---- masses ---- */

sap_status fem_mass_matrix(const fem_mesh *mesh, double density, fem_mass kind, double *diagonal,
                           double *pairs, sap_error *error) {
  static const double on_diagonal[FEM_N_MASSES] = {1. / 4, 1. / 10, 1. / 16};
  static const double off_diagonal[FEM_N_MASSES] = {0, 1. / 20, 1. / 16};
  if (!(density > 0 && density < INFINITY)) {
    return sap_invalid(error, "density", -1, density, "must be finite and > 0");
  }
  if (kind < FEM_LUMPED || kind >= FEM_N_MASSES) {
    return sap_invalid(error, "kind", -1, (double)kind, "must be a fem_mass");
  }
  const fem_arrays *a = &mesh->arrays;
  memset(diagonal, 0, (size_t)a->n_vertices * sizeof *diagonal);
  memset(pairs, 0, (size_t)a->n_pairs * sizeof *pairs);
  for (int32_t i = 0; i < a->n_tetrahedra; ++i) {
    const double m = density * a->volume[i];
    for (int k = 0; k < 4; ++k) {
      diagonal[a->tetrahedra[4 * (int64_t)i + k]] += on_diagonal[kind] * m;
    }
    for (int k = 0; k < 6; ++k) {
      pairs[a->tetra_pairs[6 * (int64_t)i + k]] += off_diagonal[kind] * m;
    }
  }
  return SAP_OK;
}
