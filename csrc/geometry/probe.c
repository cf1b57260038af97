#include "geometry/probe.h"

static void add_wall(struct geo_vec n, double offset, struct geo_probe *probe) {
  const int k = probe->n_walls++;
  probe->nx[k] = n.x;
  probe->ny[k] = n.y;
  probe->nz[k] = n.z;
  probe->offset[k] = offset;
}

void geo_probe_box(const struct geo_box *box, const struct geo_frame *frame, double clear,
                   struct geo_probe *probe) {
  const double half[3] = {box->half.x + clear, box->half.y + clear, box->half.z + clear};
  const struct geo_vec center = geo_transform(frame, box->center);
  const struct geo_vec axes[3] = {{frame->row[0].x, frame->row[1].x, frame->row[2].x},
                                  {frame->row[0].y, frame->row[1].y, frame->row[2].y},
                                  {frame->row[0].z, frame->row[1].z, frame->row[2].z}};
  *probe = (struct geo_probe){
      .center = center, .p_low = box->p_low, .p_high = box->p_high, .clear = clear};
  for (int i = 0; i < 3; ++i) {
    const double height = geo_dot(axes[i], center);
    probe->half = geo_add(probe->half, geo_scale(half[i], geo_abs(axes[i])));
    add_wall(axes[i], height + half[i], probe);
    add_wall(geo_scale(-1, axes[i]), half[i] - height, probe);
  }
}

static double least(const double x[4]) {
  const double a = x[0] < x[1] ? x[0] : x[1];
  const double b = x[2] < x[3] ? x[2] : x[3];
  return a < b ? a : b;
}

static double most(const double x[4]) {
  const double a = x[0] > x[1] ? x[0] : x[1];
  const double b = x[2] > x[3] ? x[2] : x[3];
  return a > b ? a : b;
}

void geo_probe_tetrahedron(const struct geo_tetrahedron *cell, const struct geo_frame *frame,
                           double clear, struct geo_probe *probe) {
  const struct geo_four v = geo_transform_four(frame, &cell->v);
  const struct geo_vec low = {least(v.x), least(v.y), least(v.z)};
  const struct geo_vec high = {most(v.x), most(v.y), most(v.z)};
  const struct geo_vec wider = {clear, clear, clear};
  probe->center = geo_between(low, high, 0.5);
  probe->half = geo_add(geo_scale(0.5, geo_sub(high, low)), wider);
  probe->p_low = cell->p_low;
  probe->p_high = cell->p_high;
  probe->v = v;
  probe->clear = clear;
  probe->n_walls = 0;
  for (int k = 0; k < 4; ++k) {
    const struct geo_vec n = geo_rotate(frame, geo_of_four(&cell->walls.n, k));
    add_wall(n, cell->walls.offset[k] + geo_dot(n, frame->t) + clear, probe);
  }
}

void geo_probe_plane(struct geo_vec n, double offset, int behind, struct geo_probe *probe) {
  *probe = (struct geo_probe){
      .half = {INFINITY, INFINITY, INFINITY}, .p_low = -INFINITY, .p_high = INFINITY};
  add_wall(n, offset, probe);
  if (!behind) {
    add_wall(geo_scale(-1, n), -offset, probe);
  }
}
