/* A ModelStepper after fork(). */
#ifndef SAPWOOD_PYTHON_STEPPER_READY_H
#define SAPWOOD_PYTHON_STEPPER_READY_H

#include "python/stepper/object.h"

/* In a process made while a thread that it does not have was at work on the stepper: as if it was
 * made anew, but for the counts. 0, or -1 with MemoryError, or RuntimeError in the handler of a
 * signal that came while the stepper was at work. Needs the GIL, before the lock is taken. */
int sapwood_stepper_be_ready(sapwood_stepper *self);

#endif
