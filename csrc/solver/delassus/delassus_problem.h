/* The Delassus problem states contacts with Coulomb's or convex friction, and clamped rows, in
 * their impulses:
 *
 *     u = u_0 - W gamma
 *     contacts   0 <= gamma_n perp -u_n >= 0;   |gamma_t| <= mu gamma_n, u_t = lambda gamma_t with
 *                lambda >= 0, and = 0 where |gamma_t| < mu gamma_n
 *     rows       gamma = clamp(gamma + u, lower, upper)
 *
 * With convex friction a sliding contact also separates. gamma minimises
 * 1/2 gamma^T W gamma - u_0^T gamma over the cones |gamma_t| <= mu gamma_n and the bounds of the
 * rows:
 *
 *     contacts   u in the normal cone at gamma: u_t = lambda gamma_t/|gamma_t|, u_n = -mu lambda
 *                where gamma slides
 *
 * gamma_t has two components, or up to five where a contact resists torsion and rolling, in the
 * units of constraints/laws/torsional.h, which make the cone circular.
 *
 * The Delassus operator W (m, m) is symmetric and positive definite, and includes R on its
 * diagonal. Both lines say that gamma is a fixed point of the natural map: with z = gamma + s^-1 u
 * and s > 0 from the diagonal of W,
 *
 *     gamma_n = max(z_n, 0),   gamma_t = min(mu gamma_n/|z_t|, 1) z_t,   gamma = clamp(z, lower,
 *     upper)
 *
 * where convex friction projects z onto the cone in the metric of s. */
#ifndef SAPWOOD_SOLVER_DELASSUS_DELASSUS_PROBLEM_H
#define SAPWOOD_SOLVER_DELASSUS_DELASSUS_PROBLEM_H

#include <stdint.h>

/* Loops process so many entries at once, and run past m. */
enum { SAP_IMPULSES_CHUNK = 8 };

/* largest number of components of gamma_t */
enum { SAP_MOST_TANGENTIAL = 5 };

/* A sliding contact: t = z_t/|z_t|, share = mu gamma_n/|z_t|, and e = t^T dgamma_t - mu
 * dgamma_n. */
struct sap_slide {
  double t[SAP_MOST_TANGENTIAL], share, e;
};

struct sap_impulses {
  int is_convex;              /* 1: convex friction, 0: Coulomb's */
  int32_t n_contacts, n_rows; /* unknowns of all contacts come first, then one per row */
  int32_t *first;        /* (n_contacts + 1) first unknown of a contact: gamma_t, then gamma_n */
  int32_t ld;            /* stride of W (column-major): sap_impulses_stride(m) */
  double *W;             /* (ld, m) Delassus operator; finite behind row m too */
  double *u;             /* (ld) in: u_0, out: u; finite behind m */
  double *mu;            /* (n_contacts) */
  double *lower, *upper; /* (n_rows) */
  double *gamma;         /* (ld) in: 0 or an estimate, out: solution */

  /* scratch of the map and of sweeps (natural_map.h) */
  double *diagonal, *inverse;    /* (ld) each: diagonal of W, reciprocals */
  double *trace, *inverse_trace; /* (n_contacts) each: trace of W_tt, reciprocal */
  double *before;                /* (2, m) gamma and u before Newton's steps */
  double *residual;              /* (ld) residual s (map(gamma) - gamma) */
  struct sap_slide *slide;       /* (n_contacts) entries of sliding contacts */

  /* scratch of Newton's steps (delassus_step.h) */
  int8_t *kind, *factored; /* (m) each: kind of an unknown, now and when it was factored */
  int32_t n_free, n_sliding;
  int32_t *listed; /* (m + 1) free unknowns, then sliding, then fixed ones */
  double *panel;   /* (ld, m) at its own stride: factor of the free ones, rows of both */
  double *K;       /* (n_sliding, n_sliding) at its own stride */
  int32_t *slides; /* (n_contacts) sliding contacts, when they were factored */
  int32_t n_slides;
  double *system;   /* equations of sliding contacts, by row, with right-hand side */
  double *times;    /* (2, m) of the elimination */
  double *solution; /* (m) in the order of `listed` */
  double *step;     /* (2, ld) step of gamma; change of u */
};

/* Returns the stride for m unknowns and one more. */
static inline int32_t sap_impulses_stride(int32_t m) {
  return (m + SAP_IMPULSES_CHUNK) & ~(SAP_IMPULSES_CHUNK - 1);
}

static inline int32_t sap_impulses_size(const struct sap_impulses *p) {
  return p->first[p->n_contacts] + p->n_rows;
}

#endif
