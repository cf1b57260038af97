/* Contacts with Coulomb's friction, and clamped rows, by their impulses alone:
 *
 *     u = u_0 - W gamma
 *     contacts   0 <= gamma_n perp -u_n >= 0;   |gamma_t| <= mu gamma_n, u_t = lambda gamma_t with
 *                lambda >= 0, and = 0 where |gamma_t| < mu gamma_n
 *     rows       gamma = clamp(gamma + u, lower, upper)
 *
 * gamma_t has two components, or up to five where a contact resists torsion and rolling, in the
 * units of constraints/wide.h, in which the cone is circular.
 *
 * W (m, m), symmetric and positive definite, has R on its diagonal: u is what the velocity lacks.
 * Both lines say that gamma is a fixed point of the natural map: with z = gamma + s^-1 u, s > 0
 * taken from the diagonal,
 *
 *     gamma_n = max(z_n, 0),   gamma_t = min(mu gamma_n/|z_t|, 1) z_t,   gamma = clamp(z, lower,
 *     upper) */
#ifndef SAPWOOD_SOLVER_DELASSUS_DELASSUS_PROBLEM_H
#define SAPWOOD_SOLVER_DELASSUS_DELASSUS_PROBLEM_H

#include <stdint.h>

/* loops go over so many at once, and past m */
enum { SAP_IMPULSES_CHUNK = 8 };

/* components of gamma_t */
enum { SAP_MOST_TANGENTIAL = 5 };

/* of a contact that slides: t = z_t/|z_t|, mu gamma_n/|z_t|, and dgamma along t less mu dgamma_n */
struct sap_slide {
  double t[SAP_MOST_TANGENTIAL], share, e;
};

struct sap_impulses {
  int32_t n_contacts, n_rows; /* unknowns: those of each contact, then one of each row */
  int32_t *first;        /* (n_contacts + 1) of a contact: gamma_t from here on, last gamma_n */
  int32_t ld;            /* of W, which is column-major: sap_impulses_stride(m) */
  double *W;             /* (ld, m), finite behind row m too */
  double *u;             /* (ld) u_0, on return u; anything finite behind m */
  double *mu;            /* (n_contacts) */
  double *lower, *upper; /* (n_rows) */
  double *gamma;         /* (ld) in: 0, or what is near; out */

  /* scratch of the map and of sweeps (natural_map.h) */
  double *diagonal, *inverse;    /* (ld) each: of W, and 1 over it */
  double *trace, *inverse_trace; /* (n_contacts) each: of W_tt, and 1 over it */
  double *before;                /* (2, m) gamma and u before Newton's steps */
  double *lack;                  /* (ld) what is left of the map */
  struct sap_slide *slide;       /* (n_contacts) of those that slide */

  /* scratch of Newton's steps (delassus_step.h) */
  int8_t *kind, *factored; /* (m) each: of unknowns, now and as they were factored */
  int32_t n_free, n_sliding;
  int32_t *listed; /* (m + 1) the free unknowns, those that slide, those that are held */
  double *panel;   /* (ld, m) at its own stride: the factor of the free ones, rows of both */
  double *K;       /* (n_sliding, n_sliding) at its own stride */
  int32_t *slides; /* (n_contacts) which ones do, as they were factored */
  int32_t n_slides;
  double *system;   /* the equations of those that slide, by row, with their right hand side */
  double *solution; /* (m) in the order of the list */
  double *step;     /* (2, ld) the step, and what it changes of u */
};

/* room for m unknowns and one more */
static inline int32_t sap_impulses_stride(int32_t m) {
  return (m + SAP_IMPULSES_CHUNK) & ~(SAP_IMPULSES_CHUNK - 1);
}

static inline int32_t sap_impulses_size(const struct sap_impulses *p) {
  return p->first[p->n_contacts] + p->n_rows;
}

#endif
