/* This module steps many worlds of one MuJoCo model on a few threads.
 *
 * A world is a row of numbers, its state as mj_getState() has it with mjSTATE_INTEGRATION. Each
 * thread has a worker: a stepper, an mjModel and an mjData of its own. For each world a worker
 * loads the row, takes the steps, copies out the bound fields and saves the row:
 *
 *     [copy rows of model fields to the worker,] mj_setState or mj_resetDataKeyframe, [overlay,]
 *     steps of sapwood/mujoco.h, [stages of mj_forward,] [copy fields of the data to rows,]
 *     mj_getState
 *
 * The next state of a world depends on its row and its fields alone. It has the bits of
 * sap_mujoco_step() for any number of workers, any selection of worlds and any failures of other
 * worlds. A world that fails keeps its row, and the other worlds go on.
 *
 * Lagged friction remembers forces of the last step. A row may have them behind its state, in
 * sap_batch_memory_size() numbers: how many contacts there are, the state that they belong to, and
 * six numbers for each contact. Zeros remember nothing. Rows without room, resets and starts make
 * each call begin without a memory.
 *
 * Memory: workers, rows and bound arrays are the caller's and must outlive the batch. A call
 * allocates nothing. examples/c/batch.c is a whole program. */
#ifndef SAPWOOD_BATCH_H
#define SAPWOOD_BATCH_H

#include "sapwood/mujoco.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tools of one thread. No other thread may use them during a call. */
typedef struct sap_batch_worker {
  sap_stepper *stepper;
  void *model;                 /* mjModel; workers may share it if no field of the model is bound */
  void *data;                  /* mjData of that model */
  sap_friction_memory *memory; /* room for the memory of lagged friction, or NULL */
} sap_batch_worker;

typedef struct sap_batch sap_batch;

/* Opens a batch with one thread per worker; the thread of the caller serves the first one. The
 * rules of sap_mujoco_open() hold for each worker. *batch is NULL on a status other than SAP_OK. */
SAP_API sap_status sap_batch_open(sap_batch **batch, const sap_mujoco *api,
                                  const sap_batch_worker *workers, int32_t n_workers,
                                  sap_error *error);
SAP_API void sap_batch_close(sap_batch *batch); /* NULL is allowed */

/* Accepts the options that the models of the workers have, as sap_mujoco_open() does. */
SAP_API sap_status sap_batch_accept_options(sap_batch *batch, sap_error *error);

/* ---- bound fields --------------------------------------------------------------------------- */

typedef enum sap_batch_way {
  SAP_BATCH_IN,   /* rows to the worker, ahead of each world */
  SAP_BATCH_OUT,  /* from the worker to rows, after each world without a failure */
  SAP_BATCH_BOTH, /* both; a world that fails leaves its row */
  SAP_BATCH_FLOAT /* as SAP_BATCH_OUT, with doubles rounded to float */
} sap_batch_way;

/* An array of the model or the data of each worker, with a row per world. The last step of a world
 * is lean, too, if all fields that are copied out are kept. */
typedef struct sap_batch_field {
  void *const *places; /* (n_workers) address of the array */
  void *rows;          /* row of world w: at w * stride */
  ptrdiff_t stride;    /* bytes */
  size_t bytes;        /* size of the array of a worker */
  sap_batch_way way;
  int is_kept; /* 1 if lean steps (sapwood/mujoco.h) leave the array as full ones do */
} sap_batch_field;

/* Binds n fields in place of those bound before; copies the structs. SAP_OUT_OF_MEMORY leaves the
 * bound fields as they were. */
SAP_API sap_status sap_batch_bind(sap_batch *batch, const sap_batch_field *fields, int64_t n);

/* ---- calls ---------------------------------------------------------------------------------- */

/* The stages of mj_forward, with the numbers of MuJoCo's mjtStage. */
typedef enum sap_batch_stage {
  SAP_STAGE_NONE,
  SAP_STAGE_POS, /* positions: kinematics, contacts, rows, sensors */
  SAP_STAGE_VEL, /* velocities: as after mj_step1 */
  SAP_STAGE_ACC  /* accelerations and forces, with the contact forces of the stepper */
} sap_batch_stage;

/* An array of (worlds, steps, columns). An axis of length one serves all worlds or steps, with the
 * stride 0. */
typedef struct sap_plane {
  double *base; /* NULL: there is none */
  int64_t world_stride, step_stride;
} sap_plane;

/* A value that is recorded after each step: an array of each worker, or a state. */
typedef struct sap_batch_record {
  void *const *places; /* (n_workers) address of the array; NULL: a state */
  int spec;            /* spec of mj_getState() for a state */
  char *base;          /* (worlds, steps, bytes) */
  size_t bytes;
} sap_batch_record;

/* One call. Planes and records have one entry per world of the call, in the order of `ids`; rows
 * and bound fields have one per world of the batch. */
typedef struct sap_batch_call {
  const int32_t *ids; /* (n_worlds) worlds; NULL: worlds 0 to n_worlds - 1 */
  int64_t n_worlds;   /* less than 2^31 */
  int64_t chunk;      /* number of worlds that a thread takes at a time, at least 1 */

  double *state;        /* row of world w: at w * state_stride; NULL: rows are not saved */
  int64_t state_stride; /* doubles; what lies between a state and a memory is for a hook `act` */
  int64_t remembered;   /* number of contacts that a row has room for behind its state, 0: none */
  int state_spec;       /* spec of mj_getState() for the rows and `start`: mjSTATE_INTEGRATION */
  const double *start;  /* one state for all worlds, in place of their rows; NULL: the rows */
  const int32_t *keys;  /* (n_worlds) keyframes to reset to, -1: none; NULL: no reset */
  /* part of the state that each world starts from; with the spec of the rows, a friction memory
   * follows it as in the rows */
  sap_plane overlay;
  int overlay_spec;

  int64_t steps;
  sap_plane control; /* part of the state, set ahead of each step */
  int control_spec;
  sap_batch_stage stage; /* stages to compute after the steps */

  const sap_batch_record *records; /* (n_records) */
  int64_t n_records;
  sap_step_record *step_records; /* (n_worlds, steps) or NULL */
  int64_t *taken;                /* (n_worlds) number of taken steps, or NULL */

  sap_step_record *last_records; /* (worlds of the batch) record of the last step, or NULL */
  double *body_forces;           /* (worlds of the batch, n_bodies, 3) contact forces, N, or NULL */
  uint8_t *status;               /* (worlds of the batch) sap_step_failure, or NULL */
  /* (worlds of the batch, SAP_STEP_SPEEDS) release_speed, release_rate, slip_speed, slip_rate and
   * stiction_speed of the stepper; NULL: as they are */
  const double *speeds;
} sap_batch_call;

/* The act that a hook is asked for, with the world at a position of the call. */
typedef enum sap_batch_act {
  SAP_BATCH_BEGIN,   /* prepare for its state, which the data of the worker hold */
  SAP_BATCH_STEP,    /* take a step, in place of sap_mujoco_step() */
  SAP_BATCH_FORWARD, /* find the forces, as SAP_STAGE_ACC does */
  SAP_BATCH_END      /* keep what belongs to the state, which its row is to hold */
} sap_batch_act;

/* Callbacks of a call. `worker` is the index of the worker that the calling thread serves: 0 in the
 * thread of the caller. Each function may be NULL. */
typedef struct sap_batch_hooks {
  void *context;
  /* called by a thread ahead of its chunk of worlds, and behind it */
  void (*enter)(void *context, int32_t worker);
  void (*leave)(void *context, int32_t worker);
  /* called between steps, and while worker 0 waits for the others, with `now` of a steady clock in
   * s: any value except 0 ends the call */
  int (*stop)(void *context, int32_t worker, double now);
  /* called after a world without a failure that solved for its contacts, whose stepper is that of
   * the worker; `world` is its index in the batch */
  void (*solved)(void *context, int32_t worker, int64_t world);
  /* called if the world at a position of the call fails after `step` steps, with the data of the
   * worker as the step left them; any value except 0 ends the call */
  int (*failed)(void *context, int32_t worker, int64_t position, int64_t step,
                const sap_mujoco_world *world);
  /* takes the steps of models whose contact part is not in C, and returns 0, or 1 if it fails. A
   * step is told of in `record`. Without it the steps are those of the stepper of the worker; with
   * it `solved`, `body_forces` and lean steps are left to the hook */
  int (*act)(void *context, int32_t worker, int64_t position, sap_batch_act act,
             sap_step_record *record);
} sap_batch_hooks;

/* The end of a call. */
typedef struct sap_batch_end {
  int64_t failed;  /* number of worlds that failed */
  int64_t notable; /* number of steps that sap_step_is_notable() selects */
  int stopped;     /* 1 if a hook ended the call: worlds that did not finish keep their rows */
} sap_batch_end;

/* Runs a call. One call runs at a time. */
SAP_API sap_batch_end sap_batch_run(sap_batch *batch, const sap_batch_call *call,
                                    const sap_batch_hooks *hooks);

/* Returns the number of values of a state, or -1 if MuJoCo refuses the spec. */
SAP_API int sap_batch_state_size(sap_batch *batch, int spec);

/* Returns the number of values of a friction memory with room for n contacts behind a state. */
SAP_API int64_t sap_batch_memory_size(sap_batch *batch, int64_t n);

#ifdef __cplusplus
}
#endif

#endif /* SAPWOOD_BATCH_H */
