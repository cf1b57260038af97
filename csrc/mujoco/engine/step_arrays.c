#include "mujoco/engine/step_arrays.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "mujoco/engine/correction.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/springs.h"
#include "mujoco/engine/world.h"

static sap_field field_at(const char *contacts, ptrdiff_t offset, ptrdiff_t size) {
  return offset < 0 ? (sap_field){NULL, 0} : (sap_field){contacts + offset, size};
}

/* Returns the arrays of constrained elements; the engine guarantees that its sparse rows are
 * valid. */
static sap_element_state elements_of(const sap_mujoco_world *world) {
  const int sparse = world->api->mj_isSparse(world->model);
  const int off = SAP_MODEL(world, disableflags) & SAP_MJDSBL_ACTUATION;
#define POINTER(name) .name = SAP_DATA(world, name)
#define SPARSE(name) .name = sparse ? SAP_DATA(world, name) : NULL
  return (sap_element_state){POINTER(qpos),
                             POINTER(efc_type),
                             POINTER(efc_id),
                             POINTER(efc_pos),
                             POINTER(efc_frictionloss),
                             POINTER(efc_D),
                             POINTER(efc_KBIP),
                             POINTER(efc_J),
                             SPARSE(efc_J_rownnz),
                             SPARSE(efc_J_rowadr),
                             SPARSE(efc_J_colind),
                             POINTER(ten_length),
                             POINTER(ten_J),
                             POINTER(actuator_length),
                             POINTER(actuator_velocity),
                             POINTER(moment_rownnz),
                             POINTER(moment_rowadr),
                             POINTER(moment_colind),
                             POINTER(actuator_moment),
                             POINTER(actuator_force),
                             POINTER(qfrc_actuator),
                             POINTER(qfrc_smooth),
                             .n_constraint_entries = INT64_MAX,
                             .n_moment_entries = INT64_MAX,
                             .n_rows = SAP_DATA(world, nefc),
                             .disabled = off ? -1 : SAP_MODEL(world, disableactuator) & INT32_MAX};
#undef POINTER
#undef SPARSE
}

/* Returns |g|, m/s^2. */
static double gravity_of(const sap_mujoco_world *world) {
  const double *g = SAP_MODEL(world, gravity);
  const int off = SAP_MODEL(world, disableflags) & SAP_MJDSBL_GRAVITY;
  return off ? 0.0 : sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
}

sap_step_arrays sap_mujoco_arrays(const sap_mujoco_world *world) {
  if (world->slopes) {
    sap_mujoco_find_spring_slopes(world, world->slopes);
  }
  const sap_mujoco *a = world->api;
  const char *contacts = SAP_DATA(world, contact);
  const ptrdiff_t size = a->contact.size;
  return (sap_step_arrays){
      .state = {.qvel = SAP_DATA(world, qvel),
                .M = SAP_DATA(world, M),
                .cdof = SAP_DATA(world, cdof),
                .subtree_com = SAP_DATA(world, subtree_com),
                .qfrc_smooth = SAP_DATA(world, qfrc_smooth),
                .qacc_smooth = SAP_DATA(world, qacc_smooth),
                .qDeriv = world->slopes ? world->slopes : SAP_DATA(world, qDeriv),
                .geom_xpos = SAP_DATA(world, geom_xpos),
                .geom_xmat = SAP_DATA(world, geom_xmat),
                .gravity = gravity_of(world)},
      .contacts = {.count = SAP_DATA(world, ncon),
                   .left_out = world->rows_left_out,
                   .n_rows = SAP_DATA(world, nefc),
                   .dist = field_at(contacts, a->contact.dist, size),
                   .pos = field_at(contacts, a->contact.pos, size),
                   .frame = field_at(contacts, a->contact.frame, size),
                   .friction = field_at(contacts, a->contact.friction, size),
                   .surface_velocity = field_at(contacts, a->contact.surfacevel, size),
                   .dim = field_at(contacts, a->contact.dim, size),
                   .geom = field_at(contacts, a->contact.geom, size),
                   .flex = field_at(contacts, a->contact.flex, size),
                   .exclude = field_at(contacts, a->contact.exclude, size),
                   .row = field_at(contacts, a->contact.efc_address, size),
                   .rate = sap_mujoco_correction_rate,
                   .engine = world},
      .elements = elements_of(world),
      .qacc = SAP_DATA(world, qacc),
      .qfrc_constraint = SAP_DATA(world, qfrc_constraint),
      .efc_force = SAP_DATA(world, efc_force),
      .memory = world->memory,
      .leaves_bounds_out = world->lean && world->is_unread};
}
