/* The derivative of a step's velocity, from an equation that holds at its end.
 *
 *     F(v; x) = A (v - v*) - J^T gamma(J v) = 0,    H = dF/dv,    dv/dx = -H^-1 dF/dx
 *
 * x is the state at the start of the step; A, v*, J and the constants of gamma follow from it. F
 * sums over all constraints. A difference of F for two states at one v needs no matching of their
 * contacts, and no solve. H^-1 is one matrix, found once at the centre, the state of the step.
 *
 * Differences stay within a region of the contact law (difference_bounds.h).
 *
 * sigma follows the slip of the state (problem.h). Where it is at its least or at its full value at
 * the centre, it stays there in differences; in between it follows.
 *
 * A difference by velocities or forces alone mostly leaves A and all constants of constraints as
 * they are. Then J^T gamma is that of the centre, and F needs neither regularization nor contacts.
 *
 * With soften = s the law of contacts is softer by a factor: s R in place of R, and targets v_hat +
 * (s - 1) (v_hat - J v), where J v is that of the centre. Impulses at the centre stay, and changes
 * of J v and v_hat change them by 1/s of what they do otherwise.
 *
 * Ownership: a sap_linear_step owns its arrays; the stepper is the caller's. */
#ifndef SAPWOOD_STEP_DERIVATIVES_LINEAR_STEP_H
#define SAPWOOD_STEP_DERIVATIVES_LINEAR_STEP_H

#include "step/derivatives/law_numbers.h"
#include "step/derivatives/linear_inverse.h"
#include "step/derivatives/mass_slopes.h"
#include "step/stepper_object.h"

enum { SAP_CONTACT_NUMBERS = 11 }; /* numbers of a contact that R, v_hat and mu follow from */

struct sap_linear_step {
  const sap_forest *forest;
  int32_t nv;
  double soften;     /* > 0, set by the caller; 1: the law itself */
  int is_law_linear; /* set by the caller; 1: residuals change by the derivative of the law along
                        the changes of its numbers (law_numbers.h); 0: by the law itself */
  int32_t n_numbers; /* set by the caller before sap_linear_step_find(): numbers of the model whose
                          changes of the law are kept (linear_number.h) */
  const double *along; /* set by the caller: a row of `by_number`, whose change times `width` is
                          added to residuals with is_law_linear; NULL: none */
  double width;
  double *by_number;   /* (n_numbers, law.n) changes of the law's numbers */
  double *v;           /* (nv) velocity at the end of the step */
  double *F;           /* (nv) residual of the centre, nearly 0 */
  double *most;        /* (nv) largest change of each position, m or rad; INFINITY: any */
  double distance;     /* least change of the velocity of a contact or row, m/s or rad/s, to another
                        region of its law; INFINITY: none has one */
  int32_t n_acting;    /* contacts with an impulse */
  int crosses_release; /* 1 if a residual had a contact on the other side of the kink where a deep
                          violation begins to be released slowly (release.h) */

  int crosses_set; /* 1 if a residual with is_law_linear had other constraints than the centre, and
                      so changed by the law itself */

  sap_sensitivity *sensitivity;
  sap_allocator memory;
  struct sap_block fixed; /* arrays above, and the next ones */
  struct sap_linear_inverse inverse;
  struct sap_block rows; /* arrays of contacts and rows of the centre, and the next ones */

  /* the problem of the centre, to compare with */
  int64_t nA, n_rows;
  size_t n_sides; /* number of sides of all limits */
  int32_t n_contacts, n_groups;
  int loads_act; /* 1 if a contact is stiffer for the load of its island, or v_hat of a contact
                        or a row is less than the full correction; v* acts on R and bounds then */
  int has_whole_blocks; /* 1 if effective masses follow from blocks of A, not from its diagonal */
  uint8_t *acting;      /* (2 sides of each limit) 1 for sides that act, as in open_limits.h */
  double *A;            /* (nA) */
  double *J_gamma;      /* (nv) J^T gamma */
  int8_t *regions;      /* (n_contacts) as of sap_sensitivity_regions(), and the next two */
  double *contact_distance, *row_distance;
  double *gap_way, *turn_way; /* (n_contacts) as in difference_bounds.h */
  double *rate;               /* (nv) as there */
  int32_t *geom;              /* (n_contacts, 2) */
  double *offset;             /* (n_contacts, 3) change of v_hat along (t1, t2, n) by soften, m/s */
  int8_t *released;           /* (n_contacts) 1 if v_hat is less than the full correction */
  double *slip;               /* (n_contacts) slip ratios; 0: sigma is least, >= 1: it is full */
  double *slip_direction;     /* (n_contacts, 2) as in held_slip.h */
  double *row_slip;           /* (n_rows) slip ratios of dry friction */
  double *contact;            /* (SAP_CONTACT_NUMBERS, n_contacts) */
  double *row_value;          /* (SAP_ELEMENT_VALUES + 2, n_rows) */
  struct sap_row_label *label; /* (n_rows) */
  struct sap_law_numbers law;
  struct sap_mass_slopes masses;
};

/* Linearizes the step that sap_stepper_solve() took last, whose arrays still hold its start.
 * Prepares about `n_changes` calls of sap_linear_step_change(). Contacts with a rigid core that
 * started too deep are an error. */
sap_status sap_linear_step_find(struct sap_linear_step *linear, sap_stepper *stepper,
                                const sap_step_arrays *arrays, int32_t n_changes, sap_error *error);

/* Returns the reciprocal of the largest width of a difference of the positions along x (nv), as in
 * difference_bounds.h. The gather must still hold the centre. */
double sap_linear_step_reach(const struct sap_linear_step *linear, const sap_stepper *stepper,
                             const double *x);

/* Adds to F (nv) the change of the residual by linear->along times linear->width. */
sap_status sap_linear_step_along(struct sap_linear_step *linear, double *F, sap_error *error);

/* Writes F (nv) at linear->v for the state in the arrays, which has the positions of the centre if
 * `in_place`. A fault of the gather is left in the stepper. */
sap_status sap_linear_step_residual(struct sap_linear_step *linear, sap_stepper *stepper,
                                    const sap_step_arrays *arrays, int in_place, double *F,
                                    sap_error *error);

/* Ends the step of the state in the arrays at the velocity v (nv), with the forces of the law at v.
 * A fault is left in the stepper. */
sap_status sap_linear_step_write(const struct sap_linear_step *linear, sap_stepper *stepper,
                                 const sap_step_arrays *arrays, const double *v, sap_error *error);

/* Writes the change dv = -H^-1 dF (nv), by linear_inverse.h. */
sap_status sap_linear_step_change(struct sap_linear_step *linear, const double *dF, double *dv,
                                  sap_error *error);

#endif
