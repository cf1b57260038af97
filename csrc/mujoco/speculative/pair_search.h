/* One search of pairs: pair_list.c begins it, body_pairs.c tests bodies, and pairs.c geoms. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_PAIR_SEARCH_H
#define SAPWOOD_MUJOCO_SPECULATIVE_PAIR_SEARCH_H

#include "mujoco/speculative/separation.h"
#include "mujoco/engine/stack.h"
#include "mujoco/speculative/motion_bound.h"
#include "mujoco/speculative/speculative_tuning.h"

struct sap_body_separation;
struct sap_geom_pair;
struct sap_separation_bounds;

/* Bound, m, of a gap that later steps cannot use. */
#define SAP_SEARCH_LISTED (-1e10)

struct sap_search {
  const sap_mujoco_world *world;
  const struct sap_motion_bound *motion_bound;
  double time;                        /* (1 + SAP_OPEN_TIME) dt */
  struct sap_mover *movers;           /* (n_geoms) movers, if known */
  int8_t *is_known;                   /* (n_geoms) */
  struct sap_separation_bounds *gaps; /* NULL: another thread has them */
  struct sap_body_separation *bodies; /* bodies of `gaps`, or of this search alone */
  struct sap_mover *boxes;            /* (n) boxes around bodies of several geoms, if known */
  int8_t *is_boxed;                   /* (n) */
  double *distance, *gain;            /* (n) upper limits over the geoms of a body, m and m/s */
  int64_t n_given;                    /* number of pairs of the model's own list */
  struct sap_geom_pair *pair;
  int32_t n_pairs;
};

static inline void *sap_search_take(const struct sap_search *s, size_t size) {
  return sap_stack_take(s->world, size);
}

/* Returns the share of a geom in the distance up to which the model itself lists contacts. */
double sap_search_own(const struct sap_search *s, int32_t geom);

const struct sap_mover *sap_search_place_geom(struct sap_search *s, int32_t geom);

static inline const struct sap_mover *sap_search_mover(struct sap_search *s, int32_t geom) {
  return s->is_known[geom] ? s->movers + geom : sap_search_place_geom(s, geom);
}

/* Places a box of a body; `box` (6) has centre and half lengths, in a frame `origin` (3) and `axes`
 * (3, 3). */
void sap_search_place_box(const struct sap_search *s, int32_t body, const double *box,
                          const double *origin, const double *axes, struct sap_mover *mover);

/* Lists two geoms without an explicit pair if they may meet; returns a lower bound of their
 * distance. */
double sap_search_look_at_geoms(struct sap_search *s, int32_t g1, int32_t g2);

/* Lists the pairs of the model's own list that may meet. */
void sap_search_look_at_given_pairs(struct sap_search *s);

/* Returns 1 if the model's own list has the two geoms. */
int sap_search_is_given(const struct sap_search *s, int32_t g1, int32_t g2);

/* Lists the pairs that may meet, except those of the model's own list; returns 0 if there are too
 * many to test. */
int sap_search_bodies(struct sap_search *s);

#endif
