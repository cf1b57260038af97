/* Fills the records of the contacts of a step. */
#include <math.h>
#include <string.h>

#include "step/contact_forces.h"
#include "step/stepper_object.h"

/* Returns the record of a contact with its place and its geoms. */
static sap_contact_record where_it_lies(const struct sap_gather *gather, int32_t c) {
  const struct sap_listed_contact *contact = gather->contacts + c;
  sap_contact_record record = {.distance = gather->phi0[c],
                               .friction = gather->mu[c],
                               .core_scale = 1.0,
                               .geom = {contact->geom[0], contact->geom[1]},
                               .index = contact->index,
                               .dim = contact->dim,
                               .face = contact->face,
                               .region = SAP_NO_CONTACT};
  memcpy(record.position, gather->position + 3 * (int64_t)c, sizeof record.position);
  memcpy(record.frame, gather->frame + 9 * (int64_t)c, sizeof record.frame);
  return record;
}

/* Adds the values that the solver found. */
static void add_solution(const struct sap_gather *gather, int32_t c, sap_contact_record *record) {
  const double *gamma = gather->gamma + 3 * (int64_t)c, *v_c = gather->v_c + 3 * (int64_t)c;
  const double *v_hat_t = gather->v_hat_t + 2 * (int64_t)c;
  for (int j = 0; j < 3; ++j) {
    record->force[j] = gamma[j] / gather->dt;
  }
  record->slip_speed = hypot(v_c[0] - v_hat_t[0], v_c[1] - v_hat_t[1]);
  record->region = (uint8_t)gather->regions[c];
  if (gather->has_barriers) {
    record->core_scale = gather->barrier_scale[c];
  }
}

/* Turns impulses about (n, t1, t2) into torques about (t1, t2, n). */
static void add_torques(const struct sap_gather *gather, sap_contact_record *records) {
  const struct sap_torsional_contacts *spins = &gather->spins;
  for (int32_t s = 0; s < spins->spin.n; ++s) {
    const double *gamma = spins->gamma + 3 * (int64_t)s;
    double *torque = records[spins->contact[s]].torque;
    for (int j = 0; j < 3; ++j) {
      torque[j] = gamma[(j + 1) % 3] / gather->dt;
    }
  }
}

void sap_stepper_contacts(const sap_stepper *stepper, sap_contact_record *records) {
  const struct sap_gather *gather = &stepper->gather;
  for (int32_t c = 0; c < gather->problem.n_contacts; ++c) {
    records[c] = where_it_lies(gather, c);
    if (stepper->solved) {
      add_solution(gather, c, records + c);
    }
  }
  if (stepper->solved) {
    add_torques(gather, records);
  }
}

void sap_stepper_add_contact_forces(const sap_stepper *stepper,
                                    const struct sap_contact_forces *forces) {
  const struct sap_gather *gather = &stepper->gather;
  const int32_t n = stepper->solved ? gather->problem.n_contacts : 0;
  for (int32_t c = 0; c < n; ++c) {
    if (sap_contact_forces_reads(forces, gather->contacts[c].geom)) {
      sap_contact_record contact = where_it_lies(gather, c);
      add_solution(gather, c, &contact);
      sap_contact_forces_add(forces, &contact);
    }
  }
}

void sap_stepper_body_forces(const sap_stepper *stepper, double *force) {
  const struct sap_gather *gather = &stepper->gather;
  const sap_forest *forest = &stepper->forest;
  const int32_t n = stepper->solved ? gather->problem.n_contacts : 0;
  memset(force, 0, 3 * sizeof *force * (size_t)forest->n_bodies);
  for (int32_t c = 0; c < n; ++c) {
    const double *gamma = gather->gamma + 3 * (int64_t)c, *frame = gather->frame + 9 * (int64_t)c;
    const int32_t *geom = gather->contacts[c].geom;
    double *on_first = force + 3 * (int64_t)forest->geom_bodyid[geom[0]];
    double *on_second = force + 3 * (int64_t)forest->geom_bodyid[geom[1]];
    for (int j = 0; j < 3; ++j) {
      const double along =
          (gamma[0] * frame[j] + gamma[1] * frame[3 + j] + gamma[2] * frame[6 + j]) / gather->dt;
      on_first[j] -= along;
      on_second[j] += along;
    }
  }
}

sap_patch_list sap_stepper_patches(const sap_stepper *stepper) {
  const struct sap_patches *patches = &stepper->gather.patches;
  return (sap_patch_list){&patches->found, patches->pair, patches->fields.pair_geom};
}
