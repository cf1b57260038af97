/* This module writes the rows that contacts of soft bodies have in the problem of a step, and adds
 * up the impulses of contacts on vertices.
 *
 * The vertices of a soft body that contacts touch, its last ones, move with a tree of the problem:
 *
 *     v_last = T v + c
 *
 * Most of them have three velocities of the tree for their own. A contact with normal n moves with
 * the sum of its weights times the velocities of its vertices, less the velocity of a point of the
 * other body, along the rows t1, t2, n of a right-handed frame. */
#ifndef SAPWOOD_FEM_CONTACT_ROWS_H
#define SAPWOOD_FEM_CONTACT_ROWS_H

#include <stdint.h>

/* The last vertices of a soft body in the trees of a problem. */
struct fem_part {
  int32_t tree;          /* number in the problem, or -1 if all vertices move as told */
  int32_t nv;            /* velocities of the tree */
  const int32_t *place;  /* (n_vertices) place of each vertex among the last ones */
  const int32_t *column; /* (n_last) first of the own velocities of each vertex, or -1 */
  const double *T;       /* (n_last, 3, nv) of vertices without their own, or NULL for zeros */
  const double *c;       /* (n_last, 3) m/s, or NULL for zeros */
  const double *start;   /* (n_vertices, 3) m/s, velocities at the start of the step */
};

/* The vertices of one soft body in contacts. */
struct fem_side {
  const struct fem_part *part;
  int32_t n_corners;
  const int32_t *vertices; /* (n, n_corners) */
  const double *weights;   /* (n, n_corners) */
};

/* The contacts of a soft body with one other body, which is soft, in a rigid tree, or at rest. */
struct fem_meeting {
  int32_t n;
  const double *normals;   /* (n, 3) into the first soft body, of unit length */
  struct fem_side side[2]; /* the second without corners, unless the other body is soft */
  int32_t tree;            /* tree of the problem with the rigid one, or -1 */
  int32_t nv;              /* velocities of that tree */
  int32_t begin, width;    /* the velocities of the rigid tree in it */
  const double *J;         /* (n, 3, width) of points of the other body, in the world */
  const double *v;         /* (width) velocities of the rigid tree */
};

/* Rows of contacts. A contact has the rows (3, nv) of its first tree, then those of its second. */
struct fem_rows {
  double *axes;             /* (n, 3, 3) frames */
  double *bias;             /* (n, 3) velocities along the axes that do not depend on the trees */
  double *slip;             /* (n) m/s, tangential speeds at the start of the step */
  int32_t *tree_a, *tree_b; /* (n) trees, or -1; contacts that cannot move have none, and no rows */
  double *J;                /* rows of one contact after the other */
};

/* Returns a number of entries of J that is enough for a meeting. */
int64_t fem_rows_size(const struct fem_meeting *meeting);

/* Writes the rows of a meeting, and moves the pointers of *rows behind them. */
void fem_append_rows(const struct fem_meeting *meeting, struct fem_rows *rows);

/* Adds sign times the impulses gamma (n, 3) of contacts to those of vertices (n_vertices, 3). */
void fem_add_loads(int32_t n, const struct fem_side *side, double sign, const double *gamma,
                   double *impulses);

#endif
