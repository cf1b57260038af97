/* This module writes the rows T, targets t and weights w of the program from tasks and contacts.
 *
 * A task asks that what it follows has the acceleration  a* + k (x* - x) + d (v* - v).  With the
 * Jacobian J and the bias J' v of what it follows,
 *
 *     T = J,    t = a* + k (x* - x) + d (v* - v) - J' v.
 *
 * A contact that is held is a task of three rows: its velocity u vanishes within the time T_h, and
 * a gap g closes with two equal time constants of 2 T_h,
 *
 *     T = J,    t = -u / T_h - J' v - [0, 0, max(g, 0) / (2 T_h)^2].
 *
 * Rows that do not hold have the weight 0: both tangents of a contact without friction or of one
 * that slides. The latter has the friction force mu f_n against its sliding; its forces act by
 * J_n - mu J_t d, with the direction d of sliding, and have mu = 0.
 *
 * Ownership: all arrays are the caller's; nothing is allocated. Indices are not checked here. */
#ifndef SAPWOOD_INVDYN_TASKS_TASK_ROWS_H
#define SAPWOOD_INVDYN_TASKS_TASK_ROWS_H

#include "invdyn/tasks/motions.h"

/* Joints; the origin and the orientation of a body; the centre of mass of bodies. */
enum tasks_kind { TASKS_JOINTS, TASKS_FRAME, TASKS_CENTRE, TASKS_N_KINDS };

/* Rows of a frame. */
enum { TASKS_POSITION = 1, TASKS_ROTATION = 2 };

struct tasks_task {
  enum tasks_kind kind;
  int32_t n;                 /* joints, or bodies: 1 of a frame */
  const int32_t *at;         /* (n) velocities of the joints, or bodies */
  const int32_t *place;      /* (n) positions of the joints */
  const double *share;       /* (n) shares of the bodies in the mass */
  int axes;                  /* TASKS_POSITION, TASKS_ROTATION or both; read for a frame */
  double k, d;               /* 1/s^2, 1/s */
  const double *position;    /* x*: (n) of joints, or (3) */
  const double *velocity;    /* v*, likewise */
  const double *feedforward; /* a*, likewise */
  const double *rotation;    /* (3, 3) orientation that a frame is to have */
};

/* Returns the number of rows of a task. */
int32_t tasks_count_rows(const struct tasks_task *task);

/* Writes the rows (n_T, nv) and targets (n_T) of a task. scratch: (3, nv) numbers. */
void tasks_write_rows(const struct tasks_mechanism *m, const struct tasks_task *task,
                      double *scratch, double *T, double *t);

struct tasks_contacts {
  int32_t n;
  const int32_t *bodies;   /* (n, 2) */
  const double *positions; /* (n, 3) m */
  const double *frames;    /* (n, 3, 3) rows: two tangents, then the normal */
  const double *mu;        /* (n) */
  const double *radii;     /* (n, 3) rolling about both tangents, then torsional friction, m */
  const double *gaps;      /* (n) m */
  double hold_time;        /* T_h, s */
  double weight;           /* rows that hold have it, the others 0 */
  int may_slide;           /* 0: all contacts hold */
};

/* Rows of contacts, and the effect of their forces. */
struct tasks_contact_rows {
  double *T, *t, *w; /* (3 n, nv), (3 n), (3 n) */
  double *J, *mu;    /* (n, 3, nv) and (n) of forces */
  double *slide;     /* (n, 2) tangential forces over the normal one of contacts that slide */
};

/* Writes the rows of all contacts. scratch: (3, nv) numbers. */
void tasks_write_contacts(const struct tasks_mechanism *m, const struct tasks_contacts *contacts,
                          double *scratch, const struct tasks_contact_rows *rows);

/* The last plan, whose motion dry friction is against. */
struct tasks_plan {
  const double *loss;   /* (nv) dry friction of joints, N m */
  const double *v, *a;  /* (nv) velocities at the plan, and planned accelerations */
  const double *forces; /* (n, 3) planned forces of the same contacts, normal last; or NULL */
};

/* Adds to the bias force h (nv) the dry friction of joints, and of contacts against turning,
 * against the velocity that the plan reaches in the hold time. velocity: (nv) numbers. */
void tasks_add_friction(const struct tasks_mechanism *m, const struct tasks_contacts *contacts,
                        const struct tasks_plan *plan, double *velocity, double *h);

#endif
