/* Which bodies may meet, and lower bounds of the gaps between them that are known from earlier
 * steps: a list of neighbours, as Verlet's of molecules.
 *
 * A body is here what moves as one: the geoms of a body that meet others, or one of them where it
 * does not move. Between two steps no point of a geom within r of its centre p moves farther than
 *
 *     |p - p_0| + |R - R_0|_F r / sqrt(2)   <=   sqrt(2 |p - p_0|^2 + |R - R_0|_F^2 r^2)
 *
 * and s, the sum of such steps of a body, is a bound of what it has moved since any earlier time.
 * Of two bodies that were seen a gap apart, K = gap + s_1 + s_2 is kept; they are farther apart
 * than d_1 + d_2 now while
 *
 *     K > (s_1 + d_1) + (s_2 + d_2)
 *
 * so that a pair that is far apart for its speed costs a comparison. What is kept never tells more
 * than looking at the pair would: which contacts there are does not depend on it.
 *
 * Ownership: the arrays are carved from an arena of the caller. */
#ifndef SAPWOOD_STEP_CONTACTS_BODY_SEPARATION_H
#define SAPWOOD_STEP_CONTACTS_BODY_SEPARATION_H

#include "base/memory.h"

/* pairs of bodies that are looked at one by one */
enum { SAP_MOST_BODY_PAIRS = 1 << 12 };

struct sap_geom_body {
  int32_t id, first, end; /* of its geoms */
  int contype, conaffinity;
  double own; /* the most that they add to the distance up to which contacts are listed, m */
  double gap; /* the largest of their gaps, m */
};

struct sap_body_separation {
  int32_t n_geoms;  /* of the model; set by the caller before all else */
  int32_t n, first; /* bodies, and the first of them that moves */
  int are_listed;
  int are_few;                /* else there are too many to be looked at */
  int are_known;              /* where geoms were; else nothing is kept */
  struct sap_geom_body *body; /* (n_geoms) */
  double *reach;              /* (n_geoms) r, m */
  double *moved;              /* (n_geoms) s of each body, m */
  double *pose;               /* (n_geoms, 12) of geoms, when they were seen last */
  double *kept;               /* (n, n - first) K; INFINITY of those that never meet, -INFINITY of
                                 those that were not looked at yet */
};

/* for sap_block_carve() and the like; nothing is known then, nor listed */
void sap_body_separation_carve(struct sap_body_separation *gaps, struct sap_arena *arena);

/* Forgets all gaps, as the bodies are others; they have been listed. */
void sap_body_separation_forget(struct sap_body_separation *gaps);

/* Adds what bodies have moved: `centre` (n_geoms, 3) and `axes` (n_geoms, 3, 3) of geoms. */
void sap_body_separation_follow(struct sap_body_separation *gaps, const double *centre,
                                const double *axes);

/* those of the world, which come first, do not meet each other */
static inline int32_t sap_first_after(const struct sap_body_separation *gaps, int32_t i) {
  return i < gaps->first ? gaps->first : i + 1;
}

static inline double *sap_body_separation_kept(const struct sap_body_separation *gaps, int32_t i,
                                               int32_t j) {
  return gaps->kept + (ptrdiff_t)i * (gaps->n - gaps->first) + (j - gaps->first);
}

/* two bodies were seen such a gap apart; INFINITY: they never meet */
void sap_body_separation_keep(struct sap_body_separation *gaps, int32_t i, int32_t j, double gap);

/* how many bodies after i may be nearer to it than both distances d; `spent` (n) s + d of each */
int64_t sap_body_separation_near(const struct sap_body_separation *gaps, int32_t i,
                                 const double *spent);

#endif
