/* Records and contact logs that a call of WorldBatch.run fills, and their room.
 * Functions return -1 with an exception. */
#ifndef SAPWOOD_PYTHON_BATCH_CALL_ROOM_H
#define SAPWOOD_PYTHON_BATCH_CALL_ROOM_H

#include "python/batch/world_batch.h"

/* Memory of a call; zero at first. */
struct sapwood_call_room {
  sap_batch_record *records;
  void **places;
  struct sap_contact_log **logs; /* (worlds of the batch) or NULL */
};

/* Returns the length of a state, or -1 with an exception. */
npy_intp sapwood_state_length(const sapwood_world_batch *self, int spec, const char *name);

/* Reads a tuple of records for the worlds and steps of the call. */
int sapwood_take_call_records(const sapwood_world_batch *self, PyObject *records,
                              struct sapwood_call_room *room, sap_batch_call *call);

/* Reads the logs of the worlds, a tuple of ContactLog, or None. */
int sapwood_take_call_logs(const sapwood_world_batch *self, PyObject *logs, npy_intp rows,
                           struct sapwood_call_room *room);

void sapwood_release_call_room(struct sapwood_call_room *room);

#endif
