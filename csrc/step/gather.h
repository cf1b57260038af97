/* Gathers the contact problem of one simulation step from a model's arrays in O(contacts * depth).
 *
 *     J_i = axes (J_b2 - J_b1)     rows (t1, t2, n)
 *
 * The problem has phi0, k, tau_d, mu, R_t, R_n and v_hat per contact: first the contacts of the
 * engine's list, then the faces of patches.h. free_motion.h finds A and v*.
 * torsional_contacts.h adds torsional and rolling friction; constraints.h adds other
 * constraints and implicit controllers. After the solve, sap_scatter turns velocity and impulses
 * into accelerations and forces.
 *
 * Ownership: a sap_gather owns its workspace, which grows as needed and is kept; pointers into it
 * stay valid until the next sap_gather_run. Inputs are read in place during the call only. */
#ifndef SAPWOOD_STEP_GATHER_H
#define SAPWOOD_STEP_GATHER_H

#include "base/memory.h"
#include "step/contacts/flex_rows.h"
#include "step/joints/constraints.h"
#include "step/dynamics/free_motion.h"
#include "step/dynamics/point_jacobian.h"
#include "step/contacts/listed_contact.h"
#include "step/contacts/patches.h"
#include "step/contacts/torsional_contacts.h"
#include "step/inactive/inactive.h"

enum { SAP_FRICTIONS = 5 }; /* frictions of one contact: two sliding, one torsional, two rolling */

/* Upper limit of the dissipation time of an open contact, phi0 > 0, in time steps. With v_hat_n =
 * -phi0/(dt + tau_d) a damper acts before there is an overlap, from the gap (dt + tau_d) |v_n| on.
 * With this limit the contact brakes only if its gap would close within the step, or just after. A
 * fifth of the gap remains, more than the near-rigid compliance yields: 1/(4 pi^2) of the braked
 * motion. */
#define SAP_OPEN_TIME 0.25

struct sap_gather {
  sap_problem problem;       /* input of the solver, without R_t, R_n and v_hat_n */
  sap_parameters parameters; /* input of the regularization that finds these */
  int32_t n_rows;            /* number of rows of the engine */
  int64_t nJ;                /* length of J */
  double dt;
  double open_tau_d; /* upper limit of tau_d of an open contact, s; INFINITY: none */
  double release_speed, release_rate; /* as in sap_step_settings, like the next two */
  double slip_speed, stiction_speed;
  struct sap_listed_contact *contacts; /* (n_contacts) */
  double *position;                    /* (n_contacts, 3) m, in the world */
  double *frame;                       /* (n_contacts, 9) axes t1, t2, n in the world */
  double *phi0;                        /* (n_contacts) m */
  double *k;                           /* (n_contacts) N/m */
  double *tau_d;                       /* (n_contacts) s */
  double *slip_ratio;                  /* (n_contacts) as in sap_parameters, if slip_speed > 0 */
  double *release;                     /* (n_contacts) upper limit of v_hat, m/s */
  double *rebound;                     /* (n_contacts) m/s, as in sap_parameters */
  int32_t n_rebounds;                  /* number of contacts that rebound in this step */
  double *body_w;                      /* (n_contacts, 2) 1/kg, as in sap_parameters */
  double *R_t, *R_n, *v_hat_n;         /* (n_contacts) output of the regularization */
  int8_t *barrier;                /* (n_contacts) sap_barrier; in the problem if has_barriers */
  double *delta, *barrier_lambda; /* (n_contacts) m, dimensionless */
  double *barrier_scale;          /* (n_contacts) output of the solver, if has_barriers */
  int has_barriers;               /* 1 if any geom has a core */
  double *friction_bound;         /* (n_contacts) bounds of lagged friction */
  double *edge_friction;          /* (n_contacts, SAP_FRICTIONS) mu of pyramid edges, if any */
  double *row_motion;             /* (nv) workspace for the motion of a row, as in sap_release */
  const double *begin;            /* (nv) initial velocity of the last solve */
  double *guess;              /* (nv) initial velocity of a solve after one with fewer contacts */
  double *v;                  /* (nv) output of the solver, here and below */
  double *gamma;              /* (n_contacts, 3) */
  double *v_c;                /* (n_contacts, 3) */
  double *force;              /* (n_contacts, 3) gamma/dt, set by sap_scatter */
  int8_t *regions;            /* (n_contacts) */
  sap_island_report *islands; /* (n_trees) */
  int32_t n_listed;           /* number of contacts of the engine's list, valid in the gathering */
  struct sap_patches patches; /* patches of this step */
  struct sap_torsional_contacts spins; /* torsional and rolling friction */
  int32_t room;        /* capacity of the arrays in contacts, plus 1; 0: there are no arrays */
  int may_be_inactive; /* 1 if open contacts may be inactive */
  struct sap_inactive inactive;
  struct sap_free_motion free_motion; /* A and v*, in `fixed` */
  struct sap_element_gather elements; /* constraints other than contacts */
  enum sap_fault fault;               /* fault of the last call */
  int64_t fault_index;

  const struct sap_forest *forest;
  sap_allocator allocator;
  struct sap_block fixed;    /* arrays with lengths that follow from the forest */
  struct sap_block listed;   /* arrays as long as the engine's list */
  struct sap_block jacobian; /* J of contacts and of torsional friction */
  double *transposed;        /* in `fixed` (nv, 6): cdof of touched trees of six dofs */
  struct sap_motion *motion; /* in `fixed` (n_geoms) */
  uint8_t *touched;          /* in `fixed` (n_trees) */
  double *mu, *v_hat_t, *J;
  int32_t *tree_a, *tree_b;
};

/* sigma, beta, dt and the Delassus estimate of a step; the arrays in it are not read. */
typedef sap_parameters sap_step_parameters;

/* Creates the gather. `forest` must pass sap_forest_check and `elements` (NULL for none)
 * sap_elements_check; both must outlive the gather. */
sap_status sap_gather_create(struct sap_gather *gather, const struct sap_forest *forest,
                             const struct sap_elements *elements, const sap_allocator *allocator);
void sap_gather_release(struct sap_gather *gather);

/* Makes room for `count` contacts; returns 0 if memory runs out. */
int sap_gather_make_room(struct sap_gather *gather, int32_t count);

/* Fills gather->problem and everything beside it. SAP_OK with a fault set means that the step
 * cannot be taken; the problem is then not complete. `elements` is read only if the gather has
 * any. */
sap_status sap_gather_run(struct sap_gather *gather, const struct sap_model_state *state,
                          const struct sap_contact_list *list,
                          const struct sap_element_state *elements, enum sap_cone cone,
                          const sap_step_parameters *parameters);

/* Gathers again, after sap_inactive_check or sap_open_limits_check found constraints that must
 * act. */
sap_status sap_gather_again(struct sap_gather *gather, const struct sap_model_state *state,
                            const struct sap_contact_list *list,
                            const struct sap_element_state *elements, enum sap_cone cone,
                            const sap_step_parameters *parameters);

struct sap_release;

/* Gathers rows and constants of the listed contacts (gather_contacts.c), as a part of
 * sap_gather_run. It leaves out contacts that are inactive or move no dof. A fault belongs to entry
 * *index of the engine's list, or to a patch of geom *index. */
sap_status sap_gather_contacts(struct sap_gather *gather, const struct sap_model_state *state,
                               const struct sap_contact_list *list,
                               const struct sap_element_state *elements, enum sap_cone cone,
                               const struct sap_release *release, enum sap_fault *fault,
                               int64_t *index);

#endif
