#include "step/dynamics/free_rotation.h"
#include "step/dynamics/roots.h"
#include "step/step_tuning.h"

#include <math.h>
#include <string.h>

enum { BALL = 3, FREE = 6 };

/* relative difference of equal moments of inertia, by round-off */
static const double isotropic = 1e-14;

/* ---- vectors and matrices of three ---------------------------------------------------------- */

static void cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static double square(const double *a) { return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]; }

static void apply(double A[3][3], const double *x, double *y) {
  for (int i = 0; i < 3; ++i) {
    y[i] = A[i][0] * x[0] + A[i][1] * x[1] + A[i][2] * x[2];
  }
}

/* Adds scale [a]x, the matrix of the cross product with a. */
static void add_cross(const double *a, double scale, double A[3][3]) {
  A[0][1] -= scale * a[2];
  A[0][2] += scale * a[1];
  A[1][0] += scale * a[2];
  A[1][2] -= scale * a[0];
  A[2][0] -= scale * a[1];
  A[2][1] += scale * a[0];
}

/* Sets x <- A^-1 b by Cramer's rule; x is not finite if A is singular. */
static void solve(double A[3][3], const double *b, double *x) {
  double r0[3], r1[3], r2[3];
  cross(A[1], A[2], r0);
  cross(A[2], A[0], r1);
  cross(A[0], A[1], r2);
  const double determinant = A[0][0] * r0[0] + A[0][1] * r0[1] + A[0][2] * r0[2];
  for (int i = 0; i < 3; ++i) {
    x[i] = (r0[i] * b[0] + r1[i] * b[1] + r2[i] * b[2]) / determinant;
  }
}

/* Rotation matrix of a quaternion of any length but 0. */
static void rotate(const double *q, double R[3][3]) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  const double s = 2.0 / (w * w + x * x + y * y + z * z);
  R[0][0] = 1.0 - s * (y * y + z * z);
  R[0][1] = s * (x * y - w * z);
  R[0][2] = s * (x * z + w * y);
  R[1][0] = s * (x * y + w * z);
  R[1][1] = 1.0 - s * (x * x + z * z);
  R[1][2] = s * (y * z - w * x);
  R[2][0] = s * (x * z - w * y);
  R[2][1] = s * (y * z + w * x);
  R[2][2] = 1.0 - s * (x * x + y * y);
}

/* Turns x by the rotation vector r, with Rodrigues' formula. */
static void turn(const double *r, const double *x, double *y) {
  const double angle = sqrt(square(r)), half = 0.5 * angle;
  const double sinc = angle > 0.0 ? sin(angle) / angle : 1.0;
  const double half_sinc = half > 0.0 ? sin(half) / half : 1.0;
  double once[3], twice[3];
  cross(r, x, once);
  cross(r, once, twice);
  for (int i = 0; i < 3; ++i) {
    y[i] = x[i] + sinc * once[i] + 0.5 * half_sinc * half_sinc * twice[i];
  }
}

/* ---- one body ------------------------------------------------------------------------------- */

struct body {
  double block[FREE][FREE]; /* block of the tree in M */
  double I[3][3];           /* kg m^2, in the frame of the body */
  double c[3];              /* m, centre of mass in the frame of the body */
  double R[3][3];           /* rotation of the body, if is_offset */
  int is_offset;            /* 1: c is not 0 */
};

/* Reads the block of a tree, and returns 1 if it is diagonal. */
static int read_block(const sap_forest *f, int32_t first, int32_t n, const double *M,
                      struct body *body) {
  int is_diagonal = 1;
  memset(body->block, 0, sizeof body->block);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t start = f->M_rowadr[first + i], count = f->M_rownnz[first + i];
    for (int32_t p = start; p < start + count; ++p) {
      const int32_t j = f->M_colind[p] - first;
      body->block[i][j] = body->block[j][i] = M[p];
      is_diagonal &= i == j || M[p] == 0.0;
    }
  }
  return is_diagonal;
}

/* Finds c and the inertia about the centre of mass from the block of a free joint. */
static void find_centre(struct body *body, const double *quaternion) {
  double S[3][3], c[3], coupling = 0.0;
  for (int i = 0; i < 3; ++i) {
    coupling += square(body->block[BALL + i]);
  }
  body->is_offset = coupling > 0.0;
  if (!body->is_offset) {
    return;
  }
  /* S = -R^T M_12/m = [c]x */
  const double m = body->block[0][0];
  rotate(quaternion, body->R);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      S[i][j] = 0.0;
      for (int k = 0; k < 3; ++k) {
        S[i][j] -= body->R[k][i] * body->block[k][BALL + j] / m;
      }
    }
  }
  c[0] = 0.5 * (S[2][1] - S[1][2]);
  c[1] = 0.5 * (S[0][2] - S[2][0]);
  c[2] = 0.5 * (S[1][0] - S[0][1]);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      body->I[i][j] += m * c[i] * c[j];
    }
    body->I[i][i] -= m * square(c);
    body->c[i] = c[i];
  }
}

/* Reads a body; returns 0 if it has no gyroscopic torque in any motion. */
static int read_body(const sap_forest *f, int32_t first, int32_t n,
                     const struct sap_free_rotation *state, struct body *body) {
  const int32_t r = n == FREE ? BALL : 0;
  const int is_diagonal = read_block(f, first, n, state->M, body);
  for (int i = 0; i < 3; ++i) {
    memcpy(body->I[i], body->block[r + i] + r, sizeof body->I[i]);
  }
  const double x = body->I[0][0], y = body->I[1][1], z = body->I[2][2];
  if (is_diagonal && fmax(x, fmax(y, z)) - fmin(x, fmin(y, z)) <= isotropic * x) {
    return 0;
  }
  body->is_offset = 0;
  if (n == FREE) {
    find_centre(body, state->qpos + f->dof_quaternion[first]);
  }
  return 1;
}

/* Finds w_1 from w_0 and the impulse `kick` of the torque t, dt t; returns 0 if Newton's method
 * does not converge. */
static int take_midpoint(double I[3][3], double dt, const double *w_0, const double *kick,
                         double *w_1) {
  memcpy(w_1, w_0, 3 * sizeof *w_1);
  for (int step = 0; step < SAP_ROTATION_STEPS; ++step) {
    double spin[3], torque[3], w_m[3], gain[3], J[3][3], g[3], dw[3];
    for (int i = 0; i < 3; ++i) {
      w_m[i] = 0.5 * (w_0[i] + w_1[i]);
      dw[i] = w_1[i] - w_0[i];
    }
    apply(I, dw, gain);
    apply(I, w_m, spin);
    cross(w_m, spin, torque);
    /* [w_m]x I: columns w_m x I_j, and I is symmetric */
    for (int j = 0; j < 3; ++j) {
      double column[3];
      cross(w_m, I[j], column);
      for (int i = 0; i < 3; ++i) {
        J[i][j] = I[i][j] + 0.5 * dt * column[i];
      }
      g[j] = gain[j] + dt * torque[j] - kick[j];
    }
    add_cross(spin, -0.5 * dt, J);
    solve(J, g, dw);
    for (int i = 0; i < 3; ++i) {
      w_1[i] -= dw[i];
    }
    if (square(dw) <=
        sap_last_rotation_step * sap_last_rotation_step * (square(w_0) + square(w_1))) {
      return 1;
    }
  }
  return 0;
}

/* Finds w_1 in `parts` equal parts of the step; returns 0 if one of them does not converge. */
static int take_parts(double I[3][3], double dt, int parts, const double *w_0, const double *kick,
                      double *w_1) {
  double w[3], of_part[3];
  memcpy(w_1, w_0, sizeof w);
  for (int i = 0; i < 3; ++i) {
    of_part[i] = kick[i] / parts;
  }
  for (int part = 0; part < parts; ++part) {
    memcpy(w, w_1, sizeof w);
    if (!take_midpoint(I, dt / parts, w, of_part, w_1)) {
      return 0;
    }
  }
  return 1;
}

/* Finds w_1 from w_0 and a_w, in as few parts as converge; returns 0 if none do. */
static int find_spin(double I[3][3], double dt, const double *w_0, const double *a, double *w_1) {
  double spin[3], torque[3], kick[3];
  apply(I, w_0, spin);
  cross(w_0, spin, torque);
  apply(I, a, kick);
  for (int i = 0; i < 3; ++i) {
    kick[i] = dt * (kick[i] + torque[i]);
  }
  for (int parts = 1; parts <= SAP_ROTATION_PARTS; parts *= 2) {
    if (take_parts(I, dt, parts, w_0, kick, w_1)) {
      return 1;
    }
  }
  return 0;
}

/* Finds the acceleration of the origin of a free body from the spins. */
static void find_origin(struct body *body, double dt, const double *w_0, const double *a_w,
                        const double *w_1, double *a_o) {
  double start[3], end[3], arm[3], turned[3], by_a[3], by_w[3], change[3], in_world[3];
  cross(w_0, body->c, start);
  cross(a_w, body->c, by_a);
  cross(w_0, start, by_w);
  cross(w_1, body->c, end);
  for (int i = 0; i < 3; ++i) {
    arm[i] = dt * w_1[i];
  }
  turn(arm, end, turned);
  for (int i = 0; i < 3; ++i) {
    change[i] = by_a[i] + by_w[i] + (start[i] - turned[i]) / dt;
  }
  apply(body->R, change, in_world);
  for (int i = 0; i < 3; ++i) {
    a_o[i] += in_world[i];
  }
}

/* Writes the new acceleration of a tree and the forces that follow from it. */
static void write_tree(int32_t first, int32_t n, const struct sap_free_rotation *state,
                       struct body *body, const double *a) {
  double change[FREE];
  for (int32_t i = 0; i < n; ++i) {
    change[i] = a[i] - state->qacc_smooth[first + i];
    state->qacc_smooth[first + i] = a[i];
  }
  for (int32_t i = 0; i < n; ++i) {
    double force = 0.0;
    for (int32_t j = 0; j < n; ++j) {
      force += body->block[i][j] * change[j];
    }
    state->qfrc_smooth[first + i] += force;
    state->qfrc_bias[first + i] -= force;
  }
}

/* Takes the rule for the tree with the root `first`; returns 0 if no number of parts converges. */
static int take_tree(const sap_forest *f, int32_t first, double dt,
                     const struct sap_free_rotation *state) {
  const int32_t n = sap_root_end(f, first) - first == FREE ? FREE : BALL, turn = n - BALL;
  const double *w_0 = state->qvel + first + turn, *a_w = state->qacc_smooth + first + turn;
  double w_1[3], a[FREE];
  for (int i = 0; i < 3; ++i) {
    w_1[i] = w_0[i] + dt * a_w[i];
  }
  const double least = SAP_LEAST_TURN / dt;
  if (square(w_0) < least * least && square(w_1) < least * least) {
    return 1;
  }
  struct body body;
  if (!read_body(f, first, n, state, &body)) {
    return 1;
  }
  if (!find_spin(body.I, dt, w_0, a_w, w_1)) {
    return 0;
  }
  memcpy(a, state->qacc_smooth + first, sizeof *a * (size_t)n);
  if (body.is_offset) {
    find_origin(&body, dt, w_0, a_w, w_1, a);
  }
  for (int i = 0; i < 3; ++i) {
    a[turn + i] = (w_1[i] - w_0[i]) / dt;
  }
  write_tree(first, n, state, &body, a);
  return 1;
}

int sap_free_rotation_acts(const sap_forest *forest) {
  int any = 0;
  for (int32_t i = 0; forest->dof_quaternion && i < forest->nv; ++i) {
    any |= forest->dof_quaternion[i] >= 0;
  }
  return any;
}

int32_t sap_free_rotation_find(const sap_forest *forest, double dt,
                               const struct sap_free_rotation *state) {
  int32_t missed = 0;
  for (int32_t i = 0; forest->dof_quaternion && i < forest->nv; ++i) {
    if (forest->dof_quaternion[i] >= 0) {
      missed += !take_tree(forest, i, dt, state);
    }
  }
  return missed;
}
