#include "mujoco/twists.h"

#include "model/stepper.h"
#include "mujoco/fields.h"

void sap_mujoco_twists(const sap_mujoco_world *world, struct sap_twist *twist) {
  const sap_mujoco *a = world->api;
  const sap_forest *f = &world->stepper->forest;
  const int *parent = sap_pointer_at(world->model, a->model.body_parentid);
  const double *qvel = sap_pointer_at(world->data, a->data.qvel);
  const double *cdof = sap_pointer_at(world->data, a->data.cdof);
  twist[0] = (struct sap_twist){{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
  for (int32_t b = 1; b < f->n_bodies; ++b) {
    twist[b] = twist[parent[b]];
    const int32_t first = f->body_dofadr[b], end = first + f->body_dofnum[b];
    for (int32_t i = first; i < end; ++i) {
      for (int j = 0; j < 3; ++j) {
        twist[b].angular[j] += cdof[6 * (int64_t)i + j] * qvel[i];
        twist[b].linear[j] += cdof[6 * (int64_t)i + 3 + j] * qvel[i];
      }
    }
  }
}

void sap_mujoco_point_velocity(const sap_mujoco_world *world, const struct sap_twist *twist,
                               int32_t body, const double *p, double *v) {
  const sap_forest *f = &world->stepper->forest;
  const double *com = sap_pointer_at(world->data, world->api->data.subtree_com);
  const double *c = com + 3 * (int64_t)f->body_rootid[body], *w = twist[body].angular;
  const double r[3] = {p[0] - c[0], p[1] - c[1], p[2] - c[2]};
  const double *linear = twist[body].linear;
  v[0] = linear[0] + w[1] * r[2] - w[2] * r[1];
  v[1] = linear[1] + w[2] * r[0] - w[0] * r[2];
  v[2] = linear[2] + w[0] * r[1] - w[1] * r[0];
}
