/* The tuned constant of steps in parts, measured by
 *
 *     python -m benchmarks accuracy */
#ifndef SAPWOOD_MUJOCO_ACCURACY_ACCURACY_TUNING_H
#define SAPWOOD_MUJOCO_ACCURACY_ACCURACY_TUNING_H

/* Error over the tolerance below which the next part is twice as long: a part of twice the length
 * has four times the error if the motion is smooth, and the rest is a margin. Larger ones repeat
 * parts that were too long, smaller ones take more parts. */
static const double sap_grow_below = 0.2;

#endif
