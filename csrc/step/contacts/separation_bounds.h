/* What is known from earlier steps of how far geoms are apart: lower bounds of distances, and gaps
 * along normals.
 *
 * Where the second of two geoms was at (p_0, R_0) in the axes of the first, a gap apart, and is at
 * (p, R) now, no point of it within r of its origin has come nearer than
 *
 *     gap - |p - p_0| - |R - R_0|_F r
 *
 * and the gap that a plane with normal n, which moves with the first, leaves between them has
 * changed by no more than
 *
 *     |n . (p - p_0)| + |(R - R_0)^T n| r
 *
 * So what rests, or moves together, need not be measured again. A bound says that two geoms are
 * apart where measuring would say so too: results do not depend on what is known.
 *
 * Those of bodies (body_separation.h) are kept with them. Threads may share them: whoever finds
 * them taken does without. They hold for the model that was seen last: where an array of it that
 * they depend on changes, all are forgotten. */
#ifndef SAPWOOD_STEP_CONTACTS_SEPARATION_BOUNDS_H
#define SAPWOOD_STEP_CONTACTS_SEPARATION_BOUNDS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/memory.h"
#include "step/contacts/body_separation.h"

enum { SAP_SEPARATION_BOUNDS = 512 };

/* what arrays may have for each geom, and beside that: numbers and integers */
enum { SAP_FOLLOWED_NUMBERS = 12, SAP_FOLLOWED_INTEGERS = 3, SAP_FOLLOWED_BESIDE = 2048 };

/* an array that gaps depend on */
struct sap_followed {
  const void *at;
  size_t size; /* bytes */
};

struct sap_relative_pose {
  double p[3], R[9]; /* m; by rows */
};

struct sap_separation_bound {
  int32_t geom[2];  /* equal where there is none */
  double gap;       /* m */
  double normal[3]; /* in the axes of the first; 0 of a distance */
  struct sap_relative_pose pose;
};

struct sap_separation_bounds {
  atomic_int taken;
  struct sap_separation_bound gap[SAP_SEPARATION_BOUNDS];
  struct sap_body_separation bodies;
  struct sap_block block;
  unsigned char *followed; /* arrays that follow one another, as they were */
};

/* NULL without memory */
struct sap_separation_bounds *sap_separation_bounds_create(int32_t n_geoms,
                                                           const sap_allocator *allocator);
void sap_separation_bounds_destroy(struct sap_separation_bounds *gaps,
                                   const sap_allocator *allocator);

/* 1 where no other thread has them; to be left again */
int sap_separation_bounds_take(struct sap_separation_bounds *gaps);
void sap_separation_bounds_leave(struct sap_separation_bounds *gaps);

/* 1 where one of n arrays is not as it was, and then all of geoms are forgotten; bodies are for the
 * caller to list. */
int sap_separation_bounds_check(struct sap_separation_bounds *gaps,
                                const struct sap_followed *arrays, int n);

/* The entry of two geoms or, where they have none, the one that theirs may take. */
struct sap_separation_bound *sap_separation_bounds_at(struct sap_separation_bounds *gaps,
                                                      int32_t g1, int32_t g2);

/* of the second of two geoms in the axes of the first */
struct sap_relative_pose sap_relative_pose_of(const double *p_1, const double *R_1,
                                              const double *p_2, const double *R_2);

/* how much nearer than its gap the second geom, of so large a radius, may be; INFINITY of others
 * than those of the entry */
double sap_separation_bound_lost(const struct sap_separation_bound *known, int32_t g1, int32_t g2,
                                 const struct sap_relative_pose *pose, double radius);

/* how much the gap along such a normal may have changed; INFINITY of another normal, too */
double sap_separation_bound_change(const struct sap_separation_bound *known, int32_t g1, int32_t g2,
                                   const double *normal, const struct sap_relative_pose *pose,
                                   double radius);

#endif
