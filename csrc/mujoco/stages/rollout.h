/* Rollouts: many worlds, one after the other, on one mjData.
 *
 * Every world begins with all initial values of a step set, so that nothing of the world before
 * remains. Threads share the worlds; each has a stepper and an mjData. */
#ifndef SAPWOOD_MUJOCO_STAGES_ROLLOUT_H
#define SAPWOOD_MUJOCO_STAGES_ROLLOUT_H

#include "sapwood/mujoco.h"

/* An array of (worlds, steps, columns) or (worlds, columns). An axis of length one serves all
 * worlds or steps, with the stride 0. */
struct sap_plane {
  double *base; /* NULL: there is none */
  int64_t world_stride, step_stride;
};

struct sap_rollout {
  sap_mujoco_world *world;
  int neutral_spec, state_spec, control_spec; /* specs of mj_setState */
  const double *neutral;                      /* state with which a world starts before `initial` */
  struct sap_plane initial, control, state, sensordata;
  sap_step_record *records;     /* (worlds, steps) or NULL */
  int64_t *taken;               /* (worlds) numbers of taken steps */
  const volatile uint8_t *stop; /* flag: all threads stop if it is not 0 */
  int64_t first, last, steps;   /* range first <= w < last of worlds */

  int lean;        /* 1: nobody reads the mjData, except for the recorded values */
  int64_t current; /* present world */
  int64_t notable;
};

/* Numbers of values of a world: states of the three specs, and sensors. */
struct sap_rollout_lengths {
  int neutral, state, control;
  int64_t sensordata;
};

/* Returns 0, or -1 with an error of MuJoCo in the message of the world. */
int sap_rollout_find_lengths(const struct sap_rollout *rollout,
                             struct sap_rollout_lengths *lengths);

/* Returns 1 at the end, or if *stop says so. Returns 0 with the failure in the world, or if its
 * hook `stop` ended it. */
int sap_rollout_run(struct sap_rollout *rollout);

#endif
