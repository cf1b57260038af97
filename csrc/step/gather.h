/* The contact problem of one simulation step, gathered from a model's arrays in O(contacts *
 * depth).
 *
 *     J_i = axes (J_b2 - J_b1)     rows (t1, t2, n)
 *
 * and phi0, k, tau_d, mu, R_t, R_n, v_hat per contact: those of the engine's list, then the faces
 * of patches.h. A and v* are those of free_motion.h, moved by
 * presolve.h, torsional and rolling friction those of torsional_contacts.h, constraints of other
 * kinds and the forces of implicit controllers those of constraints.h. Afterwards the velocity and
 * the impulses found by a solver are turned into accelerations and forces (sap_scatter).
 *
 * Ownership: a sap_gather owns its workspace, which grows as needed and is kept; what it points at
 * stays valid until the next sap_gather_run. Inputs are read in place during the call only. */
#ifndef SAPWOOD_STEP_GATHER_H
#define SAPWOOD_STEP_GATHER_H

#include "base/memory.h"
#include "step/presolve/presolve.h"
#include "step/joints/constraints.h"
#include "step/dynamics/free_motion.h"
#include "step/dynamics/point_jacobian.h"
#include "step/contacts/listed_contact.h"
#include "step/contacts/patches.h"
#include "step/contacts/torsional_contacts.h"
#include "step/inactive/inactive.h"

enum { SAP_FRICTIONS = 5 }; /* of one contact: two sliding, one torsional, two rolling */

/* Most dissipation time of an open contact, phi0 > 0, in time steps. With v_hat_n = -phi0/(dt +
 * tau_d) a damper acts before there is an overlap, (dt + tau_d) |v_n| ahead. With this little of it
 * the contact brakes where its gap would close within the step, or just after: a fifth of the gap
 * remains, which is more than the near-rigid compliance yields, 1/(4 pi^2) of what was braked. */
#define SAP_OPEN_TIME 0.25

struct sap_gather {
  sap_problem problem;       /* what the solver is called with; R_t, R_n and v_hat_n are */
  sap_parameters parameters; /* yet to be found from these */
  int32_t n_rows;            /* rows of the engine */
  int reads_rows;            /* of contacts or limits: more than where they are */
  int64_t nJ;                /* length of J */
  double dt;
  double open_tau_d; /* most dissipation time of an open contact, s; INFINITY for any */
  double release_speed, release_rate;  /* as in sap_step_settings */
  struct sap_listed_contact *contacts; /* (n_contacts) */
  double *position;                    /* (n_contacts, 3) m, in the world */
  double *frame;                       /* (n_contacts, 9) axes t1, t2, n in the world */
  double *phi0;                        /* (n_contacts) m */
  double *k;                           /* (n_contacts) N/m */
  double *tau_d;                       /* (n_contacts) s */
  double *release;                     /* (n_contacts) m/s */
  double *body_w;                      /* (n_contacts, 2) 1/kg, as in sap_parameters */
  double *R_t, *R_n, *v_hat_n;         /* (n_contacts) room for the regularization */
  int8_t *barrier;                /* (n_contacts) sap_barrier; of the problem where has_barriers */
  double *delta, *barrier_lambda; /* (n_contacts) m, dimensionless */
  double *barrier_scale;  /* (n_contacts) room for the solver's output, where has_barriers */
  int has_barriers;       /* 1 where any geom has a core */
  double *friction_bound; /* (n_contacts) room for the bounds of lagged friction */
  double *edge_friction;  /* (n_contacts, SAP_FRICTIONS) of pyramid edges, where there are any */
  double *row_motion;     /* (nv) room for the motion of a row, as in sap_release */
  const double *begin;    /* (nv) velocity that the last solve began with */
  double *guess;          /* (nv) of a solve with more contacts than the one before */
  double *v;              /* (nv) room for the solver's output, here and below */
  double *gamma;          /* (n_contacts, 3) */
  double *v_c;            /* (n_contacts, 3) */
  double *force;          /* (n_contacts, 3) gamma/dt, of sap_scatter */
  int8_t *regions;        /* (n_contacts) */
  sap_island_report *islands; /* (n_trees) */
  int32_t n_listed; /* contacts of the engine's list, before those of patches; while it gathers */
  struct sap_patches patches;          /* those of this step */
  struct sap_torsional_contacts spins; /* torsional and rolling friction */
  int32_t room;        /* one more contact than the arrays have room for; 0: there are none */
  int may_be_inactive; /* 1 where contacts that are open may wait */
  struct sap_inactive inactive;
  struct sap_free_motion free_motion; /* A and v*, in `fixed` */
  struct sap_presolve presolve;       /* constraints that the problem cannot hold */
  struct sap_element_gather elements; /* constraints other than contacts */
  enum sap_fault fault;               /* of the last call */
  int64_t fault_index;

  const struct sap_forest *forest;
  sap_allocator allocator;
  struct sap_block fixed;    /* arrays whose length follows from the forest */
  struct sap_block listed;   /* arrays as long as the engine's list */
  struct sap_block jacobian; /* J, and that of the spins */
  double *transposed;        /* in `fixed` (nv, 6): cdof of touched trees of six dofs */
  struct sap_motion *motion; /* in `fixed` (n_geoms) */
  uint8_t *touched;          /* in `fixed` (n_trees) */
  double *mu, *v_hat_t, *J;
  int32_t *tree_a, *tree_b;
};

/* sigma, beta, dt and the Delassus estimate of a step; the arrays in it are not read */
typedef sap_parameters sap_step_parameters;

/* `forest` must pass sap_forest_check and `elements` (NULL for none) sap_elements_check; both must
 * outlive the gather. */
sap_status sap_gather_create(struct sap_gather *gather, const struct sap_forest *forest,
                             const struct sap_elements *elements, const sap_allocator *allocator);
void sap_gather_release(struct sap_gather *gather);

/* room for `count` contacts; 0 where there is not so much memory */
int sap_gather_make_room(struct sap_gather *gather, int32_t count);

/* Fills gather->problem and everything beside it. SAP_OK with a fault set means that the step
 * cannot be taken; the problem is then not complete. `elements` is read where the gather has
 * any. */
sap_status sap_gather_run(struct sap_gather *gather, const struct sap_model_state *state,
                          const struct sap_contact_list *list,
                          const struct sap_element_state *elements, enum sap_cone cone,
                          const sap_step_parameters *parameters);

/* The same, after sap_inactive_check or sap_open_limits_check found some that must act. */
sap_status sap_gather_again(struct sap_gather *gather, const struct sap_model_state *state,
                            const struct sap_contact_list *list,
                            const struct sap_element_state *elements, enum sap_cone cone,
                            const sap_step_parameters *parameters);

struct sap_release;

/* A part of the above, in gather_contacts.c: rows and constants of the contacts that were listed;
 * those that wait or move no dof are left out. A fault is that of entry *index of the engine's
 * list, or of a patch of geom *index. */
sap_status sap_gather_contacts(struct sap_gather *gather, const struct sap_model_state *state,
                               const struct sap_contact_list *list, enum sap_cone cone,
                               const struct sap_release *release, enum sap_fault *fault,
                               int64_t *index);

#endif
