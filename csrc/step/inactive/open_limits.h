/* The inactive set of limits of joints and tendons, as inactive.h has it for contacts. At most one
 * of the two sides of a limit acts, and mostly none. sap_is_far_open selects the sides that the
 * problem leaves out, from their rates at v_0 and at v*.
 *
 * After the solve, sap_open_limits_check tests whether that was right: gamma = 0 where phi0 + h v
 * >= 0, whatever else acts and by any law of friction. Otherwise the side must act, and the step is
 * gathered and solved again. So the result is that of all limits together. Derivatives of a step
 * keep the set that was right for it.
 *
 * Ownership: the arrays are in blocks of the gather. */
#ifndef SAPWOOD_STEP_INACTIVE_OPEN_LIMITS_H
#define SAPWOOD_STEP_INACTIVE_OPEN_LIMITS_H

#include "base/memory.h"
#include "step/dynamics/engine_jacobian.h"
#include "step/inactive/far_open.h"
#include "sapwood.h"

/* The element of the model that a row belongs to. */
struct sap_row_label {
  int32_t element; /* enum sap_element */
  int32_t index;   /* number of the element in the engine */
  int32_t part; /* equality: row of the constraint; limit: 0 for the lower side, 1 for the upper */
  int32_t row;  /* row of the engine, -1 for none */
};

/* One side of a limit of a joint of one dof, or of a tendon. */
struct sap_limit_side {
  struct sap_row_label label;
  int32_t side; /* 2 * limit + (1 for the upper side); tendons follow joints */
  int32_t dof;  /* dof of the joint, -1 for a tendon */
  double sign;  /* rate of the side over that of the dof or the row */
  double phi0;  /* gap, m or rad */
  double h;     /* dt + tau_d, s */
  struct sap_engine_jacobian
      row; /* row of a tendon; its entries stay valid until the step is over */
};

struct sap_open_limits {
  double dt;                  /* time step, s */
  int may_be_inactive;        /* 0: all limits act, and the fields below are not read */
  const double *v_0, *v_star; /* (nv) velocity at the start of the step, and of the free motion */
  const uint8_t *acting;      /* (n_sides) 1 for sides that act, by side, or NULL to select them */

  int32_t n;
  size_t n_sides;                /* number of sides of all limits */
  struct sap_limit_side *limits; /* (n_sides) inactive sides, the first n */
  double *velocity;              /* (n_sides) rates at the last check */
  uint8_t *must_act;             /* (n_sides) 1 if the side must act, by side */
};

void sap_open_limits_carve(struct sap_open_limits *open, struct sap_arena *arena, size_t n_limits);

/* Adds a side to the set if it is far open at the rates v_0 and v_star of its dof or row; NULL if
 * it acts. The caller sets its label and row. It is inline because a robot has some fifty sides. */
static inline struct sap_limit_side *sap_open_limits_take(struct sap_open_limits *open,
                                                          int32_t side, double sign, double phi0,
                                                          double h, double v_0, double v_star) {
  if (!open->may_be_inactive ||
      (open->acting
           ? open->acting[side]
           : open->must_act[side] || !sap_is_far_open(phi0, h, sign * v_0, sign * v_star))) {
    return NULL;
  }
  struct sap_limit_side *limit = open->limits + open->n++;
  limit->side = side;
  limit->sign = sign;
  limit->phi0 = phi0;
  limit->h = h;
  return limit;
}

/* Writes which sides act in the problem that was gathered, 1 by side. */
void sap_open_limits_keep(const struct sap_open_limits *open, uint8_t *acting);

/* Marks the sides that must act at v, and returns their number. */
int32_t sap_open_limits_check(struct sap_open_limits *open, const double *v);

#endif
