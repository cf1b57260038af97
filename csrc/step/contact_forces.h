/* Forces of contacts on chosen geoms, and how long these have had none.
 *
 * A contact counts by its force, never by being listed. The force on the second geom of a contact
 * is sum_k f_k axis_k over the axes (t1, t2, n) of its frame; the first geom gets its opposite.
 *
 * Ownership: all arrays belong to the caller. */
#ifndef SAPWOOD_STEP_CONTACT_FORCES_H
#define SAPWOOD_STEP_CONTACT_FORCES_H

#include "sapwood/stepper.h"

/* The chosen geoms, and the results of one world. */
struct sap_contact_forces {
  int32_t n;             /* number of chosen geoms */
  int32_t n_geoms;       /* number of geoms of the model */
  const int32_t *column; /* (n_geoms) place of a chosen geom, -1 for others */
  const uint8_t *meets;  /* (n_geoms) 1 if contacts with this geom count */
  uint8_t *acting;       /* (n) 1 if a contact with force acts */
  double *force;         /* (n, 3) sum of the forces in the world, N */
  double *air_time;      /* (n) time since the last read with a force, s */
  double *since;         /* (n) time of that read, s; NaN before the first read */
};

/* Sets the results to those of no contact. */
void sap_contact_forces_clear(const struct sap_contact_forces *forces);

/* Returns 1 if a contact of these geoms may count. */
static inline int sap_contact_forces_reads(const struct sap_contact_forces *forces,
                                           const int32_t *geom) {
  const int known =
      geom[0] >= 0 && geom[1] >= 0 && geom[0] < forces->n_geoms && geom[1] < forces->n_geoms;
  return known && (forces->column[geom[0]] >= 0 || forces->column[geom[1]] >= 0);
}

/* Adds one contact. */
void sap_contact_forces_add(const struct sap_contact_forces *forces,
                            const sap_contact_record *contact);

/* Ends a read at the time `now`, s. The air time begins again once the time runs back. */
void sap_contact_forces_end(const struct sap_contact_forces *forces, double now);

/* Adds the contacts of the last step; none without a solution. */
void sap_stepper_add_contact_forces(const sap_stepper *stepper,
                                    const struct sap_contact_forces *forces);

#endif
