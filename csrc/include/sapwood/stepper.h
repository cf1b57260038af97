/* Steps of a simulated model: its contact problem is gathered from plain arrays, solved, and turned
 * into accelerations and forces.
 *
 *     A_t    = M_t + dt D_t             D_t: slopes of the joint damping forces at v_0
 *     v*     = v_0 + dt A^-1 f          f: all smooth forces, damping -D v_0 included        (10)
 *     qacc            = (v - v_0)/dt, that of v* for trees that no constraint touches
 *     qfrc_constraint = J^T gamma/dt
 *     efc_force       = gamma/dt in the engine's row order, or as pyramid edges
 *
 * An engine detects contacts before and integrates qacc after. One stepper may be used by one
 * thread at a time. */
#ifndef SAPWOOD_STEPPER_H
#define SAPWOOD_STEPPER_H

#include "sapwood/model.h"
#include "sapwood/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sap_step_settings {
  double dt;                 /* time step, s, > 0 */
  double sigma;              /* tangential regularization, dimensionless, > 0: 1e-3 */
  double beta;               /* near-rigid parameter of contacts, dimensionless, >= 0: 1.0 */
  sap_delassus delassus;     /* block */
  sap_cone cone;             /* of the engine's rows: elliptic */
  double acceleration_limit; /* of the engine, m/s^2 and rad/s^2, > 0: 1e10 */
  double release_speed;      /* m/s, > 0, INFINITY for any: 0.1. Rigid constraints that are violated
                                by more than their motion leaves, and that would be corrected
                                faster, are released: at half of it or, where that is more, as fast
                                as the engine's own constraints would. Under a load contacts are
                                stiffer, so that they yield with half of it at most. Bodies that
                                move as they are told pull with a force in proportion to it. A speed
                                that fits the bodies: 0.1 sqrt(gravity size) */
  double release_rate;       /* the same of angles, rad/s: 0.1 */
  int speculative;           /* 1: contacts that are open act where they would close in the step,
                                and steps of sapwood/mujoco.h list all that may; for Coulomb's
                                friction, as others may give open contacts a force: 0 */
} sap_step_settings;

SAP_API sap_step_settings sap_step_settings_default(double dt);
SAP_API sap_status sap_step_settings_check(const sap_step_settings *settings, sap_error *error);

/* What lagged friction remembers of the step before: the normal forces of contacts, by their geoms
 * and positions. It goes with one simulation, whatever stepper takes its steps; where that starts
 * anew from some other state, forget. */
typedef struct sap_friction_memory sap_friction_memory;

SAP_API sap_status sap_friction_memory_create(sap_friction_memory **memory,
                                              const sap_allocator *allocator);
SAP_API void sap_friction_memory_destroy(sap_friction_memory *memory); /* NULL is allowed */
SAP_API void sap_friction_memory_forget(sap_friction_memory *memory);

/* What a step reads, and where it writes. */
typedef struct sap_step_arrays {
  sap_model_state state;
  sap_contact_list contacts;
  sap_element_state elements; /* read, and written, where the stepper has elements */
  double *qacc;               /* (nv) written, here and below */
  double *qfrc_constraint;    /* (nv) */
  double *efc_force;          /* (contacts.n_rows) */
  /* used where friction lags; NULL: the bounds of friction are found anew in each step */
  sap_friction_memory *memory;
} sap_step_arrays;

typedef struct sap_stepper sap_stepper;

/* Checks and copies all structs; the arrays that forest and elements point at must outlive the
 * stepper. elements may be NULL: contacts alone; settings and allocator too: the defaults. *stepper
 * is NULL on a status other than SAP_OK. */
SAP_API sap_status sap_stepper_create(sap_stepper **stepper, const sap_forest *forest,
                                      const sap_elements *elements, const sap_step_settings *step,
                                      const sap_settings *settings, const sap_allocator *allocator,
                                      sap_error *error);
SAP_API void sap_stepper_destroy(sap_stepper *stepper); /* NULL is allowed */

/* From now on pairs of geoms meet in patches: hundreds of contacts each, after those of the engine,
 * of which its own arrays have no rows. Checks and copies the struct; its arrays and shapes must
 * outlive the stepper. */
SAP_API sap_status sap_stepper_set_fields(sap_stepper *stepper, const sap_fields *fields,
                                          sap_error *error);

/* As sap_solver_set_interrupt(): a step that it ends writes nothing. */
SAP_API void sap_stepper_set_interrupt(sap_stepper *stepper, const sap_interrupt *interrupt);

/* Gathers, solves and writes. SAP_OK without sap_stepper_took() means that nothing was written, for
 * a fault of the model or because the solver left no velocity. Allocates only when there is more to
 * solve than in any step before. */
SAP_API sap_status sap_stepper_solve(sap_stepper *stepper, const sap_step_arrays *arrays,
                                     sap_error *error);

/* The same without solving and writing: sap_stepper_problem() then is the problem of this state,
 * regularized. */
SAP_API sap_status sap_stepper_gather(sap_stepper *stepper, const sap_step_arrays *arrays,
                                      sap_error *error);

/* ---- the last step, until the next one ------------------------------------------------------ */

/* 1 where it wrote its outputs */
SAP_API int sap_stepper_took(const sap_stepper *stepper);

/* what kept it from being taken, and where; index may be NULL */
SAP_API sap_fault sap_stepper_fault(const sap_stepper *stepper, int64_t *index);

/* what was solved; kappa, which a solve finds for rigid cores, is NULL */
SAP_API const sap_problem *sap_stepper_problem(const sap_stepper *stepper);

/* NULL where the step got to none */
SAP_API const sap_solution *sap_stepper_solution(const sap_stepper *stepper);

/* One contact of a step. Components are along the axes of its frame: t1, t2, n. */
typedef struct sap_contact_record {
  double position[3]; /* at the start of the step, as frame and distance, m, in the world */
  double frame[9];    /* rows t1, t2, n in the world; n from the first geom to the second */
  double distance;    /* m, negative for an overlap */
  double force[3];    /* mean over the step, of the first geom on the second, N */
  double torque[3];   /* of torsional and rolling friction, N m */
  double slip_speed;  /* of the surfaces against each other at the end of the step, m/s */
  double friction;    /* mu */
  double core_scale;  /* depth of its rigid core over what it should be; 1 without */
  int32_t geom[2];
  int32_t index; /* in the list of contacts of the engine; -1 of a patch */
  int32_t dim;
  int32_t region; /* sap_region */
  int32_t face;   /* of sap_stepper_patches(); -1 of the engine's list */
} sap_contact_record;

/* The contacts of the problem, in its order, into records (problem->n_contacts). Where it was
 * gathered alone, none of them acts. */
SAP_API void sap_stepper_contacts(const sap_stepper *stepper, sap_contact_record *records);

/* The surfaces of the last step. Faces with k = 0 make no contact. */
typedef struct sap_patch_list {
  const geo_surfaces *surfaces;
  const int32_t *pair;      /* (surfaces->n_pairs) of the fields: which pair each surface is of */
  const int32_t *pair_geom; /* of the fields */
} sap_patch_list;

SAP_API sap_patch_list sap_stepper_patches(const sap_stepper *stepper);

/* ---- what there is to tell of steps --------------------------------------------------------- */

#define SAP_DEEP_OVERLAP 0.1 /* a step that ends with a larger one is to be told of */

/* Turns that a step took beside those of its solves (enum sap_fallback): further bits of
 * sap_step_record.fallbacks. */
enum sap_step_fallback {
  SAP_FALLBACK_INACTIVE_SET = 1 << 8, /* constraints that were left out had to act: solved again */
  SAP_FALLBACK_FULL_STEP = 1 << 9,    /* a step that left out what nobody reads was taken again */
  SAP_FALLBACK_MODEL_CONTACTS = 1 << 10, /* there was no room to list contacts ahead of time */
  SAP_FALLBACK_OPTIONS = 1 << 11 /* changed options of the model were checked before the step */
};

typedef struct sap_step_record {
  double time;                 /* at the end of the step, s */
  double momentum_error;       /* e_m (24) */
  double velocity_error_bound; /* sqrt(J) */
  double coulomb_error;        /* e_c; NaN for convex friction */
  double overlap;              /* largest of rigid contacts at the end of the step, in widths of the
                                  narrower geom */
  double solver_seconds;       /* without gathering and writing back; 0 where nothing is solved */
  double seconds;              /* of the whole step */
  int32_t contacts;
  int32_t iterations; /* Newton iterations of the island that took most */
  int32_t total_iterations;
  int32_t line_search_trials;
  int32_t status; /* sap_outcome */
  int32_t islands;
  int32_t deep_contacts; /* deeper at the start than their core */
  int32_t dense_islands; /* islands that were solved in dense storage */
  int32_t fallbacks;     /* bits of sap_fallback that any island took, and of sap_step_fallback */
} sap_step_record;

/* 1 where a step that was taken did not converge, or ended with a deep overlap */
SAP_API int sap_step_is_notable(const sap_step_record *record);

#ifdef __cplusplus
}
#endif

#endif
