/* Gaps of geoms along normals, from earlier steps, and the bounds of bodies.
 *
 * The second of two geoms was at (p_0, R_0) in the axes of the first, and is at (p, R) now. A plane
 * with normal n, which moves with the first, left a gap between them. For a second geom within r of
 * its origin this gap has changed by no more than
 *
 *     |n . (p - p_0)| + |(R - R_0)^T n| r
 *
 * So geoms that rest, or move together, need no new measurement. A gap says that two geoms are
 * separated only if a measurement would say so too: results do not depend on the known gaps.
 *
 * The bounds of bodies (body_separation.h) are kept with them. Threads may share them: a thread
 * that finds them taken does without. They hold for the model that was seen last; if an array of it
 * that they depend on changes, all are forgotten. */
#ifndef SAPWOOD_STEP_CONTACTS_SEPARATION_BOUNDS_H
#define SAPWOOD_STEP_CONTACTS_SEPARATION_BOUNDS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/memory.h"
#include "step/contacts/body_separation.h"
#include "step/step_tuning.h"

/* Upper limits: numbers and integers of the arrays per geom, and further entries. */
enum { SAP_FOLLOWED_NUMBERS = 12, SAP_FOLLOWED_INTEGERS = 3, SAP_FOLLOWED_BESIDE = 2048 };

/* An array that the bounds depend on. */
struct sap_followed {
  const void *at;
  size_t size; /* bytes */
};

struct sap_relative_pose {
  double p[3], R[9]; /* m; row-major */
};

struct sap_separation_bound {
  int32_t geom[2];  /* equal in an empty entry */
  double gap;       /* m */
  double normal[3]; /* in the axes of the first geom */
  struct sap_relative_pose pose;
};

struct sap_separation_bounds {
  atomic_int taken;
  struct sap_separation_bound gap[SAP_SEPARATION_BOUNDS];
  struct sap_body_separation bodies;
  struct sap_block block;
  unsigned char *followed; /* copy of the arrays, one after the other */
  const void *last;        /* identity of the world that compared its arrays last */
};

/* Creates empty bounds; NULL if memory runs out. */
struct sap_separation_bounds *sap_separation_bounds_create(int32_t n_geoms,
                                                           const sap_allocator *allocator);
void sap_separation_bounds_destroy(struct sap_separation_bounds *gaps,
                                   const sap_allocator *allocator);

/* Takes the bounds, and returns 1 if no other thread has them; the caller must leave them again. */
int sap_separation_bounds_take(struct sap_separation_bounds *gaps);
void sap_separation_bounds_leave(struct sap_separation_bounds *gaps);

/* Returns 1 if one of n arrays has changed, and then forgets all bounds of geoms. The caller then
 * lists the bodies. */
int sap_separation_bounds_check(struct sap_separation_bounds *gaps,
                                const struct sap_followed *arrays, int n);

/* Returns the entry of two geoms or, if they have none, the entry that they may take. */
struct sap_separation_bound *sap_separation_bounds_at(struct sap_separation_bounds *gaps,
                                                      int32_t g1, int32_t g2);

/* Returns the pose of the second of two geoms in the axes of the first. */
struct sap_relative_pose sap_relative_pose_of(const double *p_1, const double *R_1,
                                              const double *p_2, const double *R_2);

/* Returns an upper limit of the change of the gap along this normal, for a second geom with this
 * radius. It is INFINITY if the entry is for other geoms or another normal. */
double sap_separation_bound_change(const struct sap_separation_bound *known, int32_t g1, int32_t g2,
                                   const double *normal, const struct sap_relative_pose *pose,
                                   double radius);

#endif
