/* The parts of the module: each adds its types, functions and tables. They return 0, or -1 with an
 * exception. */
#ifndef SAPWOOD_PYTHON_PARTS_H
#define SAPWOOD_PYTHON_PARTS_H

#include "python/convert.h"

/* clang-format off */
#define SAPWOOD_PARTS(PART)                                                                  \
  PART(conversions) PART(settings) PART(results) PART(solution) PART(problem)                \
  PART(structure) PART(solver) PART(batch) PART(varied) PART(sensitivity) PART(dense)        \
  PART(laws) PART(lcps) PART(qps) PART(shapes) PART(surfaces)                                \
  PART(fem) PART(fem_systems) PART(fem_contacts) PART(fem_rows) PART(fem_flexes)             \
  PART(inverse_dynamics) PART(task_solver) PART(mechanism) PART(held) PART(motors)           \
  PART(stepper) PART(memory) PART(engine) PART(step_record) PART(parts_record)               \
  PART(contact_record) PART(contact_reader) PART(recording) PART(byte_watch)                 \
  PART(prepared_step) PART(world_batch) PART(forks) PART(main_thread)
/* clang-format on */

#define SAPWOOD_DECLARE(part) int sapwood_add_##part(PyObject *module);
SAPWOOD_PARTS(SAPWOOD_DECLARE)
#undef SAPWOOD_DECLARE

#endif
