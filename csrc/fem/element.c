#include "fem/element.h"

#include <math.h>
#include <string.h>

struct fem_constants fem_constants_of(const fem_material *material) {
  const double Y = material->young, nu = material->poisson;
  return (struct fem_constants){.model = material->model,
                                .mu = Y / (2 * (1 + nu)),
                                .lam = Y * nu / ((1 + nu) * (1 - 2 * nu))};
}

void fem_deform(const double *const x[4], const double gradients[9], double F[9]) {
  double edges[9];
  for (int i = 0; i < 3; ++i) {
    for (int a = 0; a < 3; ++a) {
      edges[3 * i + a] = x[a + 1][i] - x[0][i];
    }
  }
  fem_multiply(edges, gradients, F);
}

/* ---- the two quadratic models ---- */

/* Finds the energy density and P of e = sym(R0^T F) - I, R0 the identity for NULL. */
static void find_quadratic(const struct fem_constants *c, const double *R0, struct fem_state *s) {
  double G[9], stress[9], squares = 0;
  memcpy(G, s->F, sizeof G);
  if (R0) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        G[3 * i + j] = R0[i] * s->F[j] + R0[3 + i] * s->F[3 + j] + R0[6 + i] * s->F[6 + j];
      }
    }
  }
  const double trace = G[0] + G[4] + G[8] - 3;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const double e = (G[3 * i + j] + G[3 * j + i]) / 2 - (i == j);
      squares += e * e;
      stress[3 * i + j] = 2 * c->mu * e + (i == j ? c->lam * trace : 0);
    }
  }
  s->density = c->mu * squares + c->lam / 2 * trace * trace;
  if (R0) {
    fem_multiply(R0, stress, s->P);
  } else {
    memcpy(s->P, stress, sizeof stress);
  }
}

/* K_ab/V = mu (c_a.c_b I + c_b c_a^T) + lam c_a c_b^T,   c = R0 b */
static void add_quadratic_block(const struct fem_constants *k, double V, const double ca[3],
                                const double cb[3], double K_ab[9]) {
  const double mu = V * k->mu, lam = V * k->lam;
  const double dot = mu * (ca[0] * cb[0] + ca[1] * cb[1] + ca[2] * cb[2]);
  for (int i = 0; i < 3; ++i) {
    const double b_i = mu * cb[i], a_i = lam * ca[i];
    for (int j = 0; j < 3; ++j) {
      K_ab[3 * i + j] += b_i * ca[j] + a_i * cb[j];
    }
    K_ab[4 * i] += dot;
  }
}

/* ---- models of singular values ---- */

/* First and second derivatives of the energy density by the singular values s_i, and the
 * eigenvalues of dP/dF in its planes: flip_k = (psi_i - psi_j)/(s_i - s_j), twist_k =
 * (psi_i + psi_j)/(s_i + s_j), k the third index. Closed forms have no cancellation. */
struct isotropic {
  double psi[3], flip[3], twist[3], scaling[9];
};

/* Adds the terms of a function g of J = s_0 s_1 s_2 with derivatives d1, d2. */
static void add_volume(const double s[3], double d1, double d2, struct isotropic *d) {
  const double cofactor[3] = {s[1] * s[2], s[2] * s[0], s[0] * s[1]};
  for (int i = 0; i < 3; ++i) {
    d->psi[i] += d1 * cofactor[i];
    d->flip[i] -= d1 * s[i];
    d->twist[i] += d1 * s[i];
    for (int j = 0; j < 3; ++j) {
      d->scaling[3 * i + j] += d2 * cofactor[i] * cofactor[j] + (i == j ? 0 : d1 * s[3 - i - j]);
    }
  }
}

static double corotated(const struct fem_constants *c, const double s[3], double J,
                        struct isotropic *d) {
  double squares = 0;
  for (int i = 0; i < 3; ++i) {
    const double sum = s[(i + 1) % 3] + s[(i + 2) % 3];
    squares += (s[i] - 1) * (s[i] - 1);
    d->psi[i] = 2 * c->mu * (s[i] - 1);
    d->flip[i] = 2 * c->mu;
    /* the nearest rotation, and the twist with it, is not unique where the sum is 0 */
    d->twist[i] = 2 * c->mu - 4 * c->mu / fmax(sum, 1e-150);
    d->scaling[4 * i] = 2 * c->mu;
  }
  add_volume(s, c->lam * (J - 1), c->lam, d);
  return c->mu * squares + c->lam / 2 * (J - 1) * (J - 1);
}

static double neo_hookean(const struct fem_constants *c, const double s[3], double J,
                          struct isotropic *d) {
  const double L = c->lam + c->mu, a = c->mu / L;
  double strain = 0; /* |F|^2 - 3 */
  for (int i = 0; i < 3; ++i) {
    strain += (s[i] - 1) * (s[i] + 1);
    d->psi[i] = c->mu * s[i];
    d->flip[i] = d->twist[i] = d->scaling[4 * i] = c->mu;
  }
  add_volume(s, L * (J - 1 - a), L, d);
  return c->mu / 2 * strain + L / 2 * (J - 1) * (J - 1 - 2 * a);
}

static double st_venant_kirchhoff(const struct fem_constants *c, const double s[3],
                                  struct isotropic *d) {
  double strain[3], squares = 0; /* eigenvalues of E */
  for (int i = 0; i < 3; ++i) {
    strain[i] = (s[i] - 1) * (s[i] + 1) / 2;
    squares += strain[i] * strain[i];
  }
  const double trace = strain[0] + strain[1] + strain[2];
  const double base = c->lam * trace - c->mu;
  for (int i = 0; i < 3; ++i) {
    const double x = s[(i + 1) % 3], y = s[(i + 2) % 3];
    d->psi[i] = s[i] * (2 * c->mu * strain[i] + c->lam * trace);
    d->flip[i] = c->mu * (x * x + x * y + y * y) + base;
    d->twist[i] = c->mu * (x * x - x * y + y * y) + base;
    for (int j = 0; j < 3; ++j) {
      d->scaling[3 * i + j] = c->lam * s[i] * s[j] + (i == j ? 3 * c->mu * s[i] * s[i] + base : 0);
    }
  }
  return c->mu * squares + c->lam / 2 * trace * trace;
}

static void find_isotropic(const struct fem_constants *c, int stiffness, fem_stiffness kind,
                           struct fem_state *state) {
  struct isotropic d = {.psi = {0}, .flip = {0}, .twist = {0}, .scaling = {0}};
  struct fem_svd *svd = &state->svd;
  fem_decompose(state->F, svd);
  const double *s = svd->s, J = s[0] * s[1] * s[2];
  state->density = c->model == FEM_COROTATED     ? corotated(c, s, J, &d)
                   : c->model == FEM_NEO_HOOKEAN ? neo_hookean(c, s, J, &d)
                                                 : st_venant_kirchhoff(c, s, &d);
  double scaled[9]; /* U diag(psi) */
  for (int i = 0; i < 9; ++i) {
    scaled[i] = svd->U[i] * d.psi[i % 3];
  }
  fem_multiply_transposed(scaled, svd->V, state->P);
  if (!stiffness) {
    return;
  }
  if (kind == FEM_PROJECTED) {
    fem_clamp_eigenvalues(d.scaling);
  }
  memcpy(state->scaling, d.scaling, sizeof d.scaling);
  for (int k = 0; k < 3; ++k) {
    const double flip = kind == FEM_PROJECTED ? fmax(d.flip[k], 0) : d.flip[k];
    const double twist = kind == FEM_PROJECTED ? fmax(d.twist[k], 0) : d.twist[k];
    state->mean[k] = (flip + twist) / 2;
    state->half[k] = (flip - twist) / 2;
  }
}

/* K_ab/V = U B U^T, with B in the frame of the singular vectors, c = V^T b */
static void add_isotropic_block(const struct fem_state *s, double V, const double ca[3],
                                const double cb[3], double K_ab[9]) {
  double block[9], half[9], turned[9];
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    block[4 * i] =
        s->scaling[4 * i] * ca[i] * cb[i] + s->mean[k] * ca[j] * cb[j] + s->mean[j] * ca[k] * cb[k];
    block[3 * i + j] = s->scaling[3 * i + j] * ca[i] * cb[j] + s->half[k] * ca[j] * cb[i];
    block[3 * i + k] = s->scaling[3 * i + k] * ca[i] * cb[k] + s->half[j] * ca[k] * cb[i];
  }
  fem_multiply(s->svd.U, block, half);
  fem_multiply_transposed(half, s->svd.U, turned);
  for (int i = 0; i < 9; ++i) {
    K_ab[i] += V * turned[i];
  }
}

/* ---- all models ---- */

void fem_find_stress(const struct fem_constants *constants, const double *R0, int stiffness,
                     fem_stiffness kind, struct fem_state *state) {
  state->J = fem_determinant(state->F);
  if (constants->model <= FEM_LINEAR_COROTATED) {
    find_quadratic(constants, R0, state);
  } else {
    find_isotropic(constants, stiffness, kind, state);
  }
}

void fem_turn_gradients(const struct fem_constants *constants, const double *R0,
                        const double gradients[9], const struct fem_state *state,
                        double turned[4][3]) {
  double c[9];
  if (constants->model > FEM_LINEAR_COROTATED) {
    fem_multiply(gradients, state->svd.V, c);
  } else if (R0) {
    fem_multiply_transposed(gradients, R0, c);
  } else {
    memcpy(c, gradients, sizeof c);
  }
  memcpy(turned + 1, c, sizeof c);
  for (int i = 0; i < 3; ++i) {
    turned[0][i] = -(c[i] + c[3 + i] + c[6 + i]);
  }
}

void fem_add_stiffness(const struct fem_constants *constants, const struct fem_state *state,
                       double V, const double ca[3], const double cb[3], double K_ab[9]) {
  if (constants->model <= FEM_LINEAR_COROTATED) {
    add_quadratic_block(constants, V, ca, cb, K_ab);
  } else {
    add_isotropic_block(state, V, ca, cb, K_ab);
  }
}
