/* One mjData and its stepper: the struct behind sapwood/mujoco.h. */
#ifndef SAPWOOD_MUJOCO_ENGINE_WORLD_H
#define SAPWOOD_MUJOCO_ENGINE_WORLD_H

#include "step/stepper_object.h"
#include "mujoco/engine/options.h"
#include "sapwood/mujoco.h"

enum { SAP_STATE_ARRAYS = 6 };

/* Copies of struct mjModel, which follow; the lean steps of a run share them (model_copy.h). */
enum sap_kept_copy { SAP_PAIRS_COPY, SAP_FLAGS_COPY, SAP_KEPT_COPIES };
struct sap_kept_copies {
  int is_made[SAP_KEPT_COPIES]; /* 1: since the run began */
};

struct sap_mujoco_world {
  const sap_mujoco *api;
  sap_stepper *stepper;
  const void *model;
  void *data;
  sap_step_hooks hooks;
  sap_allocator allocator;                /* allocates and frees the struct */
  sap_friction_memory *memory;            /* NULL: there is none */
  int64_t state_length[SAP_STATE_ARRAYS]; /* lengths of the arrays in check_state() */
  int64_t nsensordata;
  struct sap_kept_pairs *pairs; /* pairs of a nearby state; NULL: every step searches */
  double *slopes; /* (nD) D with implicit springs, behind the struct; NULL: D is qDeriv */
  sap_mujoco_options options; /* accepted options of the model */
  int options_known;
  struct sap_recording *recording; /* recording of a run; NULL: there is none */
  int lean;                        /* 1: the step is lean, see lean_step.h */
  int is_unread;                   /* 1: nobody reads the record of the step, if it is lean */
  int goes_on;                     /* 1: the step before was a lean one of the same run */
  struct sap_kept_copies *copies;  /* behind the struct */
  int skips_acceleration;          /* 1: the step finds no qacc_smooth */
  int skips_factor;                /* 1: nor the factor of M */
  int corrects_rotation;           /* 1: the step corrects the forces of trees that turn */
  int rows_left_out;               /* this step computed no rows; as in sap_contact_list */
  int n_removed;                   /* number of open contacts that left the list in this step */
  int32_t fallbacks;               /* bits of sap_step_fallback that the present step took */
  double started;                  /* end of the step before, by a steady clock, s */
  sap_step_record record;
  sap_step_end end;
};

/* Fills the struct; its options are not known yet. SAP_INVALID_ARGUMENT: the sizes of the model
 * differ from those of the stepper. */
sap_status sap_mujoco_attach(sap_mujoco_world *world, const sap_mujoco *api, sap_stepper *stepper,
                             const void *model, void *data, sap_error *error);

/* Reads the options of the model and accepts them, after sap_mujoco_check_options(). */
sap_status sap_mujoco_accept_options(sap_mujoco_world *world, sap_error *error);

/* Lock and unlock the stepper, if the hooks have a lock. */
void sap_mujoco_lock(const sap_mujoco_world *world);
void sap_mujoco_unlock(const sap_mujoco_world *world);

/* Records why a step cannot be taken. */
void sap_mujoco_fail(sap_mujoco_world *world, sap_step_failure failure, int code, int64_t index);

#endif
