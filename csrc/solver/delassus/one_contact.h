/* Solves one contact with Coulomb's friction exactly, all others fixed: u = q + M gamma with a
 * block M (3, 3) that need not be symmetric, and the rules of small_problem.h.
 *
 * A contact that is open at gamma = 0 stays open; otherwise it sticks if the impulse that stops it
 * lies in the cone. Otherwise it slides with friction along a direction t:
 *
 *     gamma_n = -q_n/(M_nn + mu M_nt t),   gamma_t = mu gamma_n t,   t x u_t = 0,   t . u_t <= 0
 *
 * The root t is sought by Newton's method from the last direction. If that fails, it is the one of
 * the smallest slip between 32 directions. Without any the sticking impulse is cut to the cone. */
#ifndef SAPWOOD_SOLVER_DELASSUS_ONE_CONTACT_H
#define SAPWOOD_SOLVER_DELASSUS_ONE_CONTACT_H

#include <math.h>
#include <string.h>

#include "solver/solver_tuning.h"

struct sap_one_contact {
  const double *M; /* block, column-major with stride ld */
  int64_t ld;
  const double *inverse; /* (9) inverse of the block, by row */
  double q[3], mu;
};

/* u_t times the divisor, and the divisor, of impulses that slide with friction along t: a constant
 * and the factors of t_1 and t_2 of each. */
struct sap_sliding_law {
  double divisor[3], slip[2][3];
};

/* The impulse that slides with friction along t, |t| = 1, scaled by `divisor`. */
struct sap_sliding {
  double t[2], divisor;
  double slip[2]; /* u_t times the divisor */
  double cross;   /* t x slip: 0 where friction is parallel to the slip */
  double turning; /* its derivative by the angle of t */
};

static inline struct sap_sliding_law sap_sliding_law_of(const struct sap_one_contact *c) {
  const double *column_1 = c->M, *column_2 = c->M + c->ld, *column_n = c->M + 2 * c->ld;
  const double n_1 = c->mu * column_1[2], n_2 = c->mu * column_2[2];
  struct sap_sliding_law law = {.divisor = {column_n[2], n_1, n_2}, .slip = {{0}}};
  for (int r = 0; r < 2; ++r) {
    law.slip[r][0] = column_n[2] * c->q[r] - column_n[r] * c->q[2];
    law.slip[r][1] = n_1 * c->q[r] - c->mu * column_1[r] * c->q[2];
    law.slip[r][2] = n_2 * c->q[r] - c->mu * column_2[r] * c->q[2];
  }
  return law;
}

static inline struct sap_sliding sap_slide(const struct sap_sliding_law *law, double t_1,
                                           double t_2) {
  struct sap_sliding s = {.t = {t_1, t_2}, .divisor = 0, .slip = {0}, .cross = 0, .turning = 0};
  double turn[2];
  s.divisor = law->divisor[0] + law->divisor[1] * t_1 + law->divisor[2] * t_2;
  for (int r = 0; r < 2; ++r) {
    const double *slip = law->slip[r];
    s.slip[r] = slip[0] + slip[1] * t_1 + slip[2] * t_2;
    turn[r] = slip[2] * t_1 - slip[1] * t_2;
  }
  s.cross = t_1 * s.slip[1] - t_2 * s.slip[0];
  s.turning = t_1 * turn[1] - t_2 * turn[0] - (t_1 * s.slip[0] + t_2 * s.slip[1]);
  return s;
}

static inline int sap_sliding_is_admissible(const struct sap_sliding *s) {
  return s->divisor > 0 && s->t[0] * s->slip[0] + s->t[1] * s->slip[1] <= 0;
}

/* Is friction parallel to the slip, as exactly as sweeps need? */
static inline int sap_sliding_is_root(const struct sap_sliding *s) {
  return s->cross * s->cross <=
         sap_parallel * sap_parallel * (s->slip[0] * s->slip[0] + s->slip[1] * s->slip[1]);
}

/* Slides along t of any length. */
static inline struct sap_sliding sap_slide_along(const struct sap_sliding_law *law, double t_1,
                                                 double t_2) {
  const double inverse = 1 / sqrt(t_1 * t_1 + t_2 * t_2);
  return sap_slide(law, inverse * t_1, inverse * t_2);
}

/* Turns t by Newton's step for the cross product, a = -cross/turning. The tangent of half the angle
 * is a/2, and 1/4 at most, so that one division finds sine and cosine. */
static inline struct sap_sliding sap_sliding_turn(const struct sap_sliding_law *law,
                                                  const struct sap_sliding *s) {
  const double y = 2 * s->turning, most = 0.25 * fabs(y);
  const double x = fabs(s->cross) < most ? s->cross : copysign(most, s->cross);
  const double inverse = 1 / (x * x + y * y);
  const double cosine = (y * y - x * x) * inverse, sine = -2 * x * y * inverse;
  return sap_slide(law, cosine * s->t[0] - sine * s->t[1], sine * s->t[0] + cosine * s->t[1]);
}

/* Finds a root of the cross product near t by Newton's method. Returns 1 if it is admissible. */
static inline int sap_sliding_follow(const struct sap_sliding_law *law, double t_1, double t_2,
                                     struct sap_sliding *found) {
  struct sap_sliding now = sap_slide_along(law, t_1, t_2);
  for (int k = 0; k < SAP_SLIDING_STEPS && !sap_sliding_is_root(&now) && now.turning != 0; ++k) {
    now = sap_sliding_turn(law, &now);
  }
  *found = now;
  return sap_sliding_is_root(&now) && sap_sliding_is_admissible(&now);
}

/* Finds the root between two directions with cross products of different signs by the secant. A
 * side that stays counts half as much each time (Illinois method). */
static inline struct sap_sliding sap_sliding_bracket(const struct sap_sliding_law *law,
                                                     struct sap_sliding left,
                                                     struct sap_sliding right) {
  struct sap_sliding now = left;
  double size[2] = {fabs(left.cross), fabs(right.cross)};
  int last = -1;
  for (int k = 0; k < SAP_SLIDING_SECANTS && !sap_sliding_is_root(&now); ++k) {
    now = sap_slide_along(law, size[1] * left.t[0] + size[0] * right.t[0],
                          size[1] * left.t[1] + size[0] * right.t[1]);
    const int side = (now.cross > 0) != (left.cross > 0);
    size[!side] *= side == last ? 0.5 : 1;
    size[side] = fabs(now.cross);
    *(side ? &right : &left) = now;
    last = side;
  }
  return now;
}

/* Finds the admissible root of the smallest slip. Returns 0 if there is none. */
static inline int sap_sliding_scan(const struct sap_sliding_law *law, struct sap_sliding *found) {
  enum { QUARTER = 8, DIRECTIONS = 4 * QUARTER };
  static const double cosine = 0.98078528040323045, sine = 0.19509032201612827;
  double t_1[DIRECTIONS + 1], t_2[DIRECTIONS + 1], cross[DIRECTIONS + 1];
  double smallest = INFINITY, x = 1, y = 0;
  for (int k = 0; k < QUARTER; ++k) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      const double sign = quarter < 2 ? 1 : -1;
      t_1[k + quarter * QUARTER] = sign * (quarter % 2 ? -y : x);
      t_2[k + quarter * QUARTER] = sign * (quarter % 2 ? x : y);
    }
    const double before = x;
    x = cosine * x - sine * y;
    y = sine * before + cosine * y;
  }
  t_1[DIRECTIONS] = t_1[0];
  t_2[DIRECTIONS] = t_2[0];
  for (int k = 0; k <= DIRECTIONS; ++k) {
    cross[k] = sap_slide(law, t_1[k], t_2[k]).cross;
  }
  for (int k = 0; k < DIRECTIONS; ++k) {
    if ((cross[k] > 0) == (cross[k + 1] > 0)) {
      continue;
    }
    const struct sap_sliding root = sap_sliding_bracket(law, sap_slide(law, t_1[k], t_2[k]),
                                                        sap_slide(law, t_1[k + 1], t_2[k + 1]));
    const double square =
        (root.slip[0] * root.slip[0] + root.slip[1] * root.slip[1]) / (root.divisor * root.divisor);
    if (sap_sliding_is_admissible(&root) && square < smallest) {
      smallest = square;
      *found = root;
    }
  }
  return smallest < INFINITY;
}

/* Replaces gamma, which gives the last direction of friction, by the solution. */
static inline void sap_solve_contact(const struct sap_one_contact *c, double gamma[3]) {
  double sticking[3];
  struct sap_sliding s = {0};
  if (c->q[2] >= 0) {
    gamma[0] = gamma[1] = gamma[2] = 0;
    return;
  }
  for (int r = 0; r < 3; ++r) {
    const double *row = c->inverse + 3 * (size_t)r;
    sticking[r] = -(row[0] * c->q[0] + row[1] * c->q[1] + row[2] * c->q[2]);
  }
  const double bound = sticking[2] > 0 ? c->mu * sticking[2] : 0;
  const double square = sticking[0] * sticking[0] + sticking[1] * sticking[1];
  if (sticking[2] > 0 && square <= bound * bound) {
    memcpy(gamma, sticking, sizeof sticking);
    return;
  }
  const int moves = gamma[0] != 0 || gamma[1] != 0, is_still = c->q[0] == 0 && c->q[1] == 0;
  const double t_1 = moves ? gamma[0] : is_still ? 1 : -c->q[0];
  const double t_2 = moves ? gamma[1] : is_still ? 0 : -c->q[1];
  const struct sap_sliding_law law = sap_sliding_law_of(c);
  if (sap_sliding_follow(&law, t_1, t_2, &s) || sap_sliding_scan(&law, &s)) {
    gamma[2] = -c->q[2] / s.divisor;
    gamma[0] = c->mu * gamma[2] * s.t[0];
    gamma[1] = c->mu * gamma[2] * s.t[1];
    return;
  }
  const double share = square > bound * bound ? bound / sqrt(square) : 1;
  gamma[0] = share * sticking[0];
  gamma[1] = share * sticking[1];
  gamma[2] = sticking[2] > 0 ? sticking[2] : 0;
}

#endif
