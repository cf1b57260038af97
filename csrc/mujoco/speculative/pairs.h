/* A pair of geoms whose contact may close within the step. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_PAIRS_H
#define SAPWOOD_MUJOCO_SPECULATIVE_PAIRS_H

#include <stdint.h>

/* Two geoms, the first of the lower body; `given`: place in the model's own list, or -1. */
struct sap_geom_pair {
  int32_t geom[2], given;
};

#endif
