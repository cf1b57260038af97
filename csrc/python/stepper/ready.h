/* Repairs a ModelStepper after fork(). */
#ifndef SAPWOOD_PYTHON_STEPPER_READY_H
#define SAPWOOD_PYTHON_STEPPER_READY_H

#include "python/stepper/object.h"

/* Prepares the stepper for a call. It renews a stepper that a thread used which this process does
 * not have, and keeps only its counts. Returns 0, or -1 with MemoryError, or with RuntimeError in
 * the handler of a signal that came while the stepper was at work. Needs the GIL, before the lock
 * is taken. */
int sapwood_stepper_be_ready(sapwood_stepper *self);

#endif
