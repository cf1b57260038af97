/* This module steps a simulated model: it gathers the contact problem from plain arrays, solves it,
 * and turns the solution into accelerations and forces.
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

#define SAP_STEP_SPEEDS 5 /* speeds of the settings that follow the scale of a model */

typedef struct sap_step_settings {
  double dt;                 /* time step, s, > 0 */
  double sigma;              /* tangential regularization, dimensionless, > 0: 1e-3 */
  double beta;               /* near-rigid parameter of contacts, dimensionless, >= 0: 1.0 */
  sap_delassus delassus;     /* block */
  sap_cone cone;             /* form of the engine's rows: elliptic */
  double acceleration_limit; /* limit of the engine, m/s^2 and rad/s^2, > 0: 1e10 */
  /* m/s, > 0, INFINITY for any: 0.1. Rigid constraints that are violated by more than their motion
   * explains, and would be corrected faster, are released: at half of it or, if that is more, as
   * fast as the engine's own constraints. Under a load contacts are stiffer, so that they yield
   * with at most half of it. Bodies with prescribed motion pull with a force in proportion to it. A
   * speed that fits the bodies is 0.1 sqrt(gravity size) */
  double release_speed;
  double release_rate; /* rad/s, the same for angles: 0.1 */
  /* V_s, m/s and rad/s, >= 0: 0.01. Contacts and dry friction that slip more slowly have a smaller
   * sigma, in proportion, so that nothing at rest creeps; 0: sigma holds at any slip. A speed that
   * fits the bodies is 0.01 sqrt(gravity size) */
  double slip_speed, slip_rate;
  /* m/s, > 0: 0.001. Contacts that slip faster in the state before the step have the dynamic
   * coefficient of friction, slower ones up to the static one. A speed that fits the bodies is
   * 0.001 sqrt(gravity size) */
  double stiction_speed;
  /* 1: open contacts act if they would close in the step, and steps of sapwood/mujoco.h list all
   * that may close. For Coulomb's friction only, as other laws may give open contacts a force: 0 */
  int speculative;
} sap_step_settings;

SAP_API sap_step_settings sap_step_settings_default(double dt);
SAP_API sap_status sap_step_settings_check(const sap_step_settings *settings, sap_error *error);

/* The friction memory keeps the normal forces of contacts of the last step, by geoms and positions,
 * for lagged friction. It belongs to one simulation, for any stepper; a simulation that restarts
 * from another state must call sap_friction_memory_forget(). */
typedef struct sap_friction_memory sap_friction_memory;

SAP_API sap_status sap_friction_memory_create(sap_friction_memory **memory,
                                              const sap_allocator *allocator);
SAP_API void sap_friction_memory_destroy(sap_friction_memory *memory); /* NULL is allowed */
SAP_API void sap_friction_memory_forget(sap_friction_memory *memory);

/* Input and output arrays of a step. */
typedef struct sap_step_arrays {
  sap_model_state state;
  sap_contact_list contacts;
  sap_element_state elements; /* read and written if the stepper has elements */
  double *qacc;               /* (nv) written, like the next ones */
  double *qfrc_constraint;    /* (nv) */
  double *efc_force;          /* (contacts.n_rows) */
  /* used by lagged friction; NULL: each step finds the bounds of friction again */
  sap_friction_memory *memory;
  int leaves_bounds_out; /* as in sap_solver_leave_bounds_out() */
  /* changes qfrc_smooth and qacc_smooth by the velocity v (nv) that was found; the step is then
   * solved once more. NULL: one solve */
  void (*correct)(void *context, const double *v);
  void *context;
} sap_step_arrays;

typedef struct sap_stepper sap_stepper;

/* Checks and copies all structs; the arrays that forest and elements point at must outlive the
 * stepper. elements may be NULL for contacts only, settings and allocator for the defaults.
 * *stepper is NULL on a status other than SAP_OK. */
SAP_API sap_status sap_stepper_create(sap_stepper **stepper, const sap_forest *forest,
                                      const sap_elements *elements, const sap_step_settings *step,
                                      const sap_settings *settings, const sap_allocator *allocator,
                                      sap_error *error);
SAP_API void sap_stepper_destroy(sap_stepper *stepper); /* NULL is allowed */

/* The memory of linearized steps of one stepper, see sapwood/linearization.h. */
typedef struct sap_linear_step sap_linear_step;

/* settings may be NULL for the defaults. *linear is NULL on a status other than SAP_OK. */
SAP_API sap_status sap_linear_step_create(sap_linear_step **linear, const sap_stepper *stepper,
                                          const sap_settings *settings, sap_error *error);
SAP_API void sap_linear_step_destroy(sap_linear_step *linear); /* NULL is allowed */

/* Makes pairs of geoms meet in patches: hundreds of contacts each, after those of the engine, whose
 * arrays have no rows of them. Checks and copies the struct; its arrays and shapes must outlive the
 * stepper. */
SAP_API sap_status sap_stepper_set_fields(sap_stepper *stepper, const sap_fields *fields,
                                          sap_error *error);

/* Sets an interrupt like sap_solver_set_interrupt(); an interrupted step writes nothing. */
SAP_API void sap_stepper_set_interrupt(sap_stepper *stepper, const sap_interrupt *interrupt);

/* Gathers, solves and writes. SAP_OK without sap_stepper_took() means that nothing was written,
 * because of a fault of the model or because the solver found no velocity. Allocates only if the
 * problem is larger than in all earlier steps. */
SAP_API sap_status sap_stepper_solve(sap_stepper *stepper, const sap_step_arrays *arrays,
                                     sap_error *error);

/* Gathers without solving and writing; sap_stepper_problem() then is this state's, regularized. */
SAP_API sap_status sap_stepper_gather(sap_stepper *stepper, const sap_step_arrays *arrays,
                                      sap_error *error);

/* ---- the last step, until the next one ------------------------------------------------------ */

/* Returns 1 if the step wrote its outputs. */
SAP_API int sap_stepper_took(const sap_stepper *stepper);

/* Returns the fault that prevented the step, and its index, which may be NULL. */
SAP_API sap_fault sap_stepper_fault(const sap_stepper *stepper, int64_t *index);

/* Returns the solved problem; kappa, which a solve finds for rigid cores, is NULL. */
SAP_API const sap_problem *sap_stepper_problem(const sap_stepper *stepper);

/* Returns the solution, or NULL if the step has none. */
SAP_API const sap_solution *sap_stepper_solution(const sap_stepper *stepper);

/* One contact of a step. Components are along the axes of its frame: t1, t2, n. */
typedef struct sap_contact_record {
  double position[3]; /* m, in the world, at the start of the step, like frame and distance */
  double frame[9];    /* rows t1, t2, n in the world; n from the first geom to the second */
  double distance;    /* m, negative for an overlap */
  double force[3];    /* N, mean over the step, of the first geom on the second */
  double torque[3];   /* N m, of torsional and rolling friction */
  double slip_speed;  /* m/s, relative speed of the surfaces at the end of the step */
  double friction;    /* mu */
  double core_scale;  /* depth of the rigid core in the solve over the given one; 1 without */
  int32_t geom[2];
  int32_t index; /* place in the engine's list of contacts; -1 for a patch and, after a step of
                  * sapwood/mujoco.h, for an open contact that left the list */
  int32_t dim;
  int32_t region; /* sap_region */
  int32_t face;   /* face of sap_stepper_patches(); -1 for the engine's list */
} sap_contact_record;

/* Writes the contacts of the problem, in its order, to records (problem->n_contacts). After
 * sap_stepper_gather() none of them acts. */
SAP_API void sap_stepper_contacts(const sap_stepper *stepper, sap_contact_record *records);

/* The surfaces of the last step. Faces with k = 0 make no contact. */
typedef struct sap_patch_list {
  const geo_surfaces *surfaces;
  const int32_t *pair;      /* (surfaces->n_pairs) pair of the fields of each surface */
  const int32_t *pair_geom; /* pairs of geoms of the fields */
} sap_patch_list;

SAP_API sap_patch_list sap_stepper_patches(const sap_stepper *stepper);

/* ---- records of steps ------------------------------------------------------------------------ */

#define SAP_DEEP_OVERLAP 0.1 /* a step that ends with a larger one is notable */

/* Fallbacks of a step beside those of its solves (enum sap_fallback): further bits of
 * sap_step_record.fallbacks. */
enum sap_step_fallback {
  SAP_FALLBACK_INACTIVE_SET = 1 << 8, /* inactive constraints had to act: solved again with them */
  SAP_FALLBACK_MODEL_CONTACTS = 1 << 9,     /* mjData had no room for speculative contacts */
  SAP_FALLBACK_OPTIONS = 1 << 10,           /* changed options of the model were checked first */
  SAP_FALLBACK_EXPLICIT_ROTATION = 1 << 11, /* no midpoint of the gyroscopic torque was found */
  SAP_FALLBACK_REBOUND = 1 << 12 /* impacts rebound less, so that their island gains no energy */
};

typedef struct sap_step_record {
  double time;                 /* s, at the end of the step */
  double momentum_error;       /* e_m (24) */
  double velocity_error_bound; /* sqrt(J) */
  double coulomb_error;        /* e_c; NaN for convex friction */
  /* largest overlap of rigid contacts at the end of the step, in widths of the narrower geom */
  double overlap;
  double solver_seconds; /* s, without gathering and writing back; 0 if nothing is solved */
  double seconds;        /* s, of the whole step */
  int32_t contacts;
  int32_t iterations; /* Newton iterations of the slowest island */
  int32_t total_iterations;
  int32_t line_search_trials;
  int32_t status; /* sap_outcome */
  int32_t islands;
  int32_t deep_contacts; /* contacts deeper at the start than their core */
  int32_t dense_islands; /* islands solved in dense storage */
  int32_t fallbacks;     /* bits of sap_fallback that any island took, and of sap_step_fallback */
} sap_step_record;

/* Returns 1 if a step did not converge, or ended with a deep overlap. */
SAP_API int sap_step_is_notable(const sap_step_record *record);

#ifdef __cplusplus
}
#endif

#endif
