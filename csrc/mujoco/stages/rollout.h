/* Many worlds, one after the other, on one mjData.
 *
 * Every world begins with all that a step starts from set anew, so that nothing of the one before
 * it remains. Threads share worlds out, each with a stepper and an mjData of its own. */
#ifndef SAPWOOD_MUJOCO_STAGES_ROLLOUT_H
#define SAPWOOD_MUJOCO_STAGES_ROLLOUT_H

#include "sapwood/mujoco.h"

/* An array of (worlds, steps, columns) or (worlds, columns); what has one world or one step serves
 * all: its stride is 0. */
struct sap_plane {
  double *base; /* NULL where there is none */
  int64_t world_stride, step_stride;
};

struct sap_rollout {
  sap_mujoco_world *world;
  int neutral_spec, state_spec, control_spec; /* of mj_setState */
  const double *neutral;                      /* what a world starts from, but for `initial` */
  struct sap_plane initial, control, state, sensordata;
  sap_step_record *records;     /* (worlds, steps) or NULL */
  int64_t *taken;               /* (worlds) counts steps */
  const volatile uint8_t *stop; /* all stop where it is not 0 */
  int64_t first, last, steps;   /* worlds first <= w < last */

  int lean;        /* nobody looks at the mjData, but for what is kept of each step */
  int64_t current; /* the world that was reached */
  int64_t notable;
};

/* numbers of a world: of the states of the three specs, and of its sensors */
struct sap_rollout_lengths {
  int neutral, state, control;
  int64_t sensordata;
};

/* 0, or -1 with an error of MuJoCo in the message of the world */
int sap_rollout_find_lengths(const struct sap_rollout *rollout,
                             struct sap_rollout_lengths *lengths);

/* 1 at the end, or when told to stop by *stop; 0 with the failure in the world, or where its hook
 * `stop` ended it. */
int sap_rollout_run(struct sap_rollout *rollout);

#endif
