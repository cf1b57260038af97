/* Limits of joints and tendons that are far from closing wait outside of the problem, as open
 * contacts do (inactive.h): of the two sides of a limit one at most acts, and mostly none. A side
 * waits as far_open.h says, for its rates at v_0 and at v_0 + dt a*.
 *
 * At the velocity found it is checked whether it was rightly left out: gamma = 0 where phi0 + h v
 * >= 0, whatever else acts and by any law of friction. Else it must act, and the step is gathered
 * and solved anew: what is found is what all limits together give.
 *
 * Ownership: arrays are in blocks of the gather. */
#ifndef SAPWOOD_STEP_INACTIVE_OPEN_LIMITS_H
#define SAPWOOD_STEP_INACTIVE_OPEN_LIMITS_H

#include "base/memory.h"
#include "step/dynamics/engine_jacobian.h"
#include "step/inactive/far_open.h"
#include "sapwood.h"

/* what a row belongs to */
struct sap_row_label {
  int32_t element; /* enum sap_element */
  int32_t index;   /* the engine's number */
  int32_t
      part; /* of an equality constraint its row; of a limit 0 for the lower one, 1 for the upper */
  int32_t row; /* the engine's row, -1 for none */
};

/* one side of a limit of a joint of one dof, or of a tendon */
struct sap_limit_side {
  struct sap_row_label label;
  int32_t side; /* twice the limit, those of tendons behind, one more for the upper side */
  int32_t dof;  /* of the joint, -1 of a tendon */
  double sign;  /* of its rate against that of the dof or the row */
  double phi0;  /* m or rad */
  double h;     /* s */
  struct sap_engine_jacobian
      row; /* of a tendon; its entries stay as they are until the step is over */
};

struct sap_open_limits {
  int may_be_inactive; /* 0: all limits act; and the rest is not read */
  double dt;
  const double *v_0, *a_star; /* (nv) velocity and free acceleration at the start of the step */

  int32_t n;
  size_t n_sides;                /* of all limits */
  struct sap_limit_side *limits; /* (n_sides) those that wait */
  double *velocity;              /* (n_sides) their rates as they were checked */
  uint8_t *must_act;             /* (n_sides) by side */
};

void sap_open_limits_carve(struct sap_open_limits *open, struct sap_arena *arena, size_t n_limits);

/* A side that can wait, whose label and row are yet to be set, by the rate of the dof or the row at
 * v_0 and at v_0 + dt a*; NULL where it acts. A robot has some fifty of them. */
static inline struct sap_limit_side *sap_open_limits_take(struct sap_open_limits *open,
                                                          int32_t side, double sign, double phi0,
                                                          double h, double v_0, double v_star) {
  if (!open->may_be_inactive || open->must_act[side] ||
      !sap_is_far_open(phi0, h, sign * v_0, sign * v_star)) {
    return NULL;
  }
  struct sap_limit_side *limit = open->limits + open->n++;
  limit->side = side;
  limit->sign = sign;
  limit->phi0 = phi0;
  limit->h = h;
  return limit;
}

/* Marks those that must act at v, and returns their number. */
int32_t sap_open_limits_check(struct sap_open_limits *open, const double *v);

#endif
