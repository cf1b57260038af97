/* Bodies that may meet, and lower bounds of their gaps from earlier steps: a neighbour list, as
 * Verlet's of molecules.
 *
 * A body here is a set of geoms that move as one: the colliding geoms of a moving body, or a single
 * geom that does not move. Between two steps no point of a geom within r of its centre p moves
 * farther than
 *
 *     |p - p_0| + |R - R_0|_F r / sqrt(2)   <=   sqrt(2 |p - p_0|^2 + |R - R_0|_F^2 r^2)
 *
 * The sum s of these bounds limits the motion of a body since any earlier time. For two bodies that
 * were seen a gap apart, K = gap + s_1 + s_2 is kept. They are farther apart than d_1 + d_2 now
 * while
 *
 *     K > (s_1 + d_1) + (s_2 + d_2)
 *
 * so that a pair that is far apart for its speed costs a comparison. A kept bound never says more
 * than a test of the pair would, so the set of contacts does not depend on it.
 *
 * Ownership: the arrays are carved from an arena of the caller. */
#ifndef SAPWOOD_STEP_CONTACTS_BODY_SEPARATION_H
#define SAPWOOD_STEP_CONTACTS_BODY_SEPARATION_H

#include "base/memory.h"
#include "step/step_tuning.h"

struct sap_geom_body {
  int32_t id, first, end; /* range of its geoms */
  int contype, conaffinity;
  double own; /* upper limit of its geoms' shares of the listing distance, m */
  double gap; /* largest gap of its geoms, m */
};

struct sap_body_separation {
  int32_t n_geoms;  /* number of geoms of the model; the caller sets it first */
  int32_t n, first; /* number of bodies, and the first of them that moves */
  int are_listed;
  int are_few;                /* 0: there are too many pairs to test */
  int are_known;              /* 1: the poses below are set; else no bound is kept */
  struct sap_geom_body *body; /* (n_geoms) */
  double *reach;              /* (n_geoms) r, m */
  double *moved;              /* (n_geoms) s of each body, m */
  double *pose;               /* (n_geoms, 12) last seen poses of geoms */
  double *bound; /* (n, n - first) K; INFINITY: they never meet; -INFINITY: not tested yet */
};

/* Carves the arrays, for sap_block_carve() and the like; no body is listed, no gap is known. */
void sap_body_separation_carve(struct sap_body_separation *gaps, struct sap_arena *arena);

/* Forgets all gaps, after a new list of bodies. */
void sap_body_separation_forget(struct sap_body_separation *gaps);

/* Adds the motion of the bodies: `centre` (n_geoms, 3) and `axes` (n_geoms, 3, 3) of geoms. */
void sap_body_separation_follow(struct sap_body_separation *gaps, const double *centre,
                                const double *axes);

/* Returns the first partner of body i: static bodies come first and do not meet each other. */
static inline int32_t sap_first_after(const struct sap_body_separation *gaps, int32_t i) {
  return i < gaps->first ? gaps->first : i + 1;
}

static inline double *sap_body_separation_bound(const struct sap_body_separation *gaps, int32_t i,
                                                int32_t j) {
  return gaps->bound + (ptrdiff_t)i * (gaps->n - gaps->first) + (j - gaps->first);
}

/* Keeps the gap at which two bodies were seen; INFINITY: they never meet. */
void sap_body_separation_keep(struct sap_body_separation *gaps, int32_t i, int32_t j, double gap);

/* Counts the bodies after i that may be nearer to it than both distances d; `spent` (n) is s + d of
 * each. */
int64_t sap_body_separation_near(const struct sap_body_separation *gaps, int32_t i,
                                 const double *spent);

#endif
