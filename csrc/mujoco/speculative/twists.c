#include "mujoco/speculative/twists.h"

#include "step/stepper_object.h"
#include "mujoco/engine/fields.h"

void sap_mujoco_twists(const sap_mujoco_world *world, struct sap_twist *twist) {
  const sap_mujoco *a = world->api;
  const sap_forest *f = &world->stepper->forest;
  const int *parent = sap_pointer_at(world->model, a->model.body_parentid);
  const double *qvel = sap_pointer_at(world->data, a->data.qvel);
  const double *cdof = sap_pointer_at(world->data, a->data.cdof);
  twist[0] = (struct sap_twist){{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
  for (int32_t b = 1; b < f->n_bodies; ++b) {
    struct sap_twist sum = twist[parent[b]];
    const int32_t first = f->body_dofadr[b], end = first + f->body_dofnum[b];
    for (int32_t i = first; i < end; ++i) {
      const double *axis = cdof + 6 * (int64_t)i, speed = qvel[i];
      for (int j = 0; j < 3; ++j) {
        sum.angular[j] += axis[j] * speed;
        sum.linear[j] += axis[3 + j] * speed;
      }
    }
    twist[b] = sum;
  }
}

void sap_mujoco_point_velocity(const sap_mujoco_world *world, const struct sap_twist *twist,
                               int32_t body, const double *p, double *v) {
  const sap_forest *f = &world->stepper->forest;
  const double *com = sap_pointer_at(world->data, world->api->data.subtree_com);
  sap_twist_at(twist + body, com + 3 * (int64_t)f->body_rootid[body], p, v);
}
