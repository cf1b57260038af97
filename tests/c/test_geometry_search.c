/* Tests the search for cells of a mesh: the sort behind the trees, boxes, planes, tetrahedra. */
#include "geometry/cell_search.h"

#include "geometry/intersect.h"
#include "geometry/sort.h"
#include "octahedron.h"

static int by_value(const void *context, int32_t a, int32_t b) {
  const double *x = context;
  return x[a] < x[b] || (x[a] == x[b] && a < b);
}

static void sorting(void) {
  enum { N = 200 };
  double x[N] = {0};
  int32_t order[N] = {0};
  uint64_t seed = 3;
  for (int32_t n = 0; n < N; n += 1 + n / 4) {
    for (int32_t i = 0; i < n; ++i) {
      x[i] = (double)(check_random_bits(&seed) % 20);
      order[i] = i;
    }
    geo_sort(n, order, by_value, x);
    for (int32_t i = 1; i < n; ++i) {
      CHECK(by_value(x, order[i - 1], order[i]));
    }
    CHECK(n == 0 || order[0] >= 0);
  }
}

enum { BOXES = 60 };

static struct {
  struct geo_bounds bounds[BOXES];
  struct geo_node nodes[BOXES];
  int32_t order[BOXES];
  struct geo_tree tree;
} side[2];

/* Finds places in the order of a tree, the same on every instruction set. Returns their number. */
static int32_t find(const struct geo_tree *tree, const struct geo_probe *probe, int32_t *found) {
  const int32_t n = geo_search_of(0)->find(tree, probe, found);
  for (int32_t set = 1; set < GEO_SEARCH_SETS; ++set) {
    const struct geo_search *search = geo_search_of(set);
    int32_t other[4 * BOXES];
    if (search) {
      CHECK_EQUAL(search->find(tree, probe, other), n);
      CHECK(memcmp(other, found, (size_t)n * sizeof *found) == 0);
    }
  }
  return n;
}

static void make_boxes(int k, uint64_t *seed) {
  for (int i = 0; i < BOXES; ++i) {
    struct geo_bounds *b = &side[k].bounds[i];
    const struct geo_vec center = random_vec(seed);
    const struct geo_vec half = geo_scale(0.1, geo_abs(random_vec(seed)));
    const double p = check_random(seed, 0, 1);
    *b = (struct geo_bounds){geo_sub(center, half), geo_add(center, half), p, p + 0.5};
  }
  side[k].tree.nodes = side[k].nodes;
  geo_tree_build(&side[k].tree, BOXES, side[k].bounds, 1e-12, side[k].order);
  CHECK(side[k].tree.n_nodes < BOXES);
}

static int inside(const struct geo_bounds *b, struct geo_vec x) {
  return x.x >= b->low.x && x.x <= b->high.x && x.y >= b->low.y && x.y <= b->high.y &&
         x.z >= b->low.z && x.z <= b->high.z;
}

/* Boxes with a point in common, and pressures too, are found once; few others are. */
static void trees_find_boxes(void) {
  uint64_t seed = 4;
  for (int trial = 0; trial < 20; ++trial) {
    const struct geo_frame frame = random_frame(&seed, 0.3);
    make_boxes(0, &seed);
    make_boxes(1, &seed);
    int total = 0;
    for (int j = 0; j < BOXES; ++j) {
      const struct geo_bounds *b = &side[1].bounds[j];
      const struct geo_vec size = geo_sub(b->high, b->low);
      const struct geo_box box = {geo_between(b->low, b->high, 0.5), geo_scale(0.5, size), b->p_low,
                                  b->p_high, -1};
      struct geo_probe probe;
      geo_probe_box(&box, &frame, 1e-12, &probe);
      int32_t found[BOXES];
      int times[BOXES] = {0};
      const int32_t n = find(&side[0].tree, &probe, found);
      for (int32_t k = 0; k < n; ++k) {
        ++times[side[0].order[found[k]]];
      }
      total += n;
      for (int sample = 0; sample < 200; ++sample) {
        const struct geo_vec part = geo_abs(random_vec(&seed));
        const struct geo_vec x = {b->low.x + part.x * size.x, b->low.y + part.y * size.y,
                                  b->low.z + part.z * size.z};
        const struct geo_vec seen = geo_transform(&frame, x);
        for (int i = 0; i < BOXES; ++i) {
          const struct geo_bounds *a = &side[0].bounds[i];
          if (inside(a, seen) && a->p_low <= b->p_high && b->p_low <= a->p_high) {
            CHECK_EQUAL(times[i], 1);
          }
        }
      }
      for (int i = 0; i < BOXES; ++i) {
        const struct geo_bounds *a = &side[0].bounds[i];
        CHECK(times[i] == 0 || (a->p_low <= b->p_high && b->p_low <= a->p_high));
      }
    }
    CHECK(total < BOXES * BOXES / 8);
  }
}

static void a_tree_of_one_cell(void) {
  const struct geo_bounds bounds = {{0, 0, 0}, {1, 1, 1}, 0, 1};
  struct geo_node node;
  struct geo_tree tree = {.nodes = &node};
  int32_t order = -1, found = -1;
  geo_tree_build(&tree, 1, &bounds, 1e-12, &order);
  struct geo_probe probe;
  geo_probe_plane((struct geo_vec){0, 0, 1}, 0.5, 0, &probe);
  CHECK_EQUAL(find(&tree, &probe, &found), 1);
  CHECK_EQUAL(found, 0);
  CHECK_EQUAL(order, 0);
}

/* Children that are not there are not found, though NaN and inf are apart from nothing. */
static void numbers_that_overflow_find_each_cell_once(void) {
  const struct geo_vec here = {0, 0, 0}, wide = {INFINITY, INFINITY, INFINITY};
  const struct geo_vec nowhere = {NAN, NAN, NAN};
  const struct geo_probe probes[] = {
      {.center = here, .half = wide, .p_low = -INFINITY, .p_high = INFINITY},
      {.center = nowhere, .half = nowhere, .p_low = -INFINITY, .p_high = INFINITY}};
  uint64_t seed = 7;
  make_boxes(0, &seed);
  for (int i = 0; i < 2; ++i) {
    int32_t found[4 * BOXES];
    int times[BOXES] = {0};
    const int32_t n = find(&side[0].tree, &probes[i], found);
    CHECK_EQUAL(n, BOXES);
    for (int32_t k = 0; k < n; ++k) {
      ++times[found[k]];
    }
    for (int k = 0; k < BOXES; ++k) {
      CHECK_EQUAL(times[k], 1);
    }
  }
}

static void trees_find_planes(void) {
  uint64_t seed = 5;
  make_boxes(0, &seed);
  for (int trial = 0; trial < 50; ++trial) {
    const struct geo_vec n = random_vec(&seed);
    const double offset = check_random(&seed, -1, 1);
    for (int behind = 0; behind < 2; ++behind) {
      struct geo_probe probe;
      geo_probe_plane(n, offset, behind, &probe);
      int32_t found[BOXES];
      int times[BOXES] = {0};
      const int32_t n_found = find(&side[0].tree, &probe, found);
      for (int32_t k = 0; k < n_found; ++k) {
        ++times[side[0].order[found[k]]];
      }
      for (int i = 0; i < BOXES; ++i) {
        const struct geo_bounds *b = &side[0].bounds[i];
        double low = 0, high = 0;
        for (int corner = 0; corner < 8; ++corner) {
          const struct geo_vec x = {corner & 1 ? b->low.x : b->high.x,
                                    corner & 2 ? b->low.y : b->high.y,
                                    corner & 4 ? b->low.z : b->high.z};
          const double height = geo_dot(n, x) - offset;
          low = corner ? fmin(low, height) : height;
          high = corner ? fmax(high, height) : height;
        }
        CHECK_EQUAL(times[i], low <= 0 && (behind || high >= 0));
      }
    }
  }
}

/* Returns a point of n corners with random weights. */
static struct geo_vec random_point(const struct geo_vec *corner, int n, uint64_t *seed) {
  struct geo_vec sum = {0, 0, 0};
  double weights = 0;
  for (int k = 0; k < n; ++k) {
    const double weight = check_random(seed, 0, 1);
    sum = geo_add(sum, geo_scale(weight, corner[k]));
    weights += weight;
  }
  return geo_scale(1 / weights, sum);
}

static int is_within(const struct geo_tetrahedron *t, struct geo_vec x) {
  int within = 1;
  for (int k = 0; k < 4; ++k) {
    within &= geo_dot(geo_of_four(&t->walls.n, k), x) <= t->walls.offset[k];
  }
  return within;
}

/* Every instruction set keeps the same cells: those with a point in common, and few others. */
static void cells_kept(void) {
  geo_shape *ball = shape_of(&soft);
  geo_shape *hard = shape_of(&rigid);
  uint64_t seed = 6;
  int total = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const struct geo_frame frame = random_frame(&seed, 1.5); /* frame of the probe in the tree */
    const struct geo_frame back = geo_relative(&frame, &identity);
    const struct geo_tetrahedron *cell = &ball->tetrahedra[trial % 8];
    struct geo_vec corner[4];
    for (int k = 0; k < 4; ++k) {
      corner[k] = geo_transform(&frame, geo_of_four(&cell->v, k));
    }
    struct geo_probe probe;
    geo_probe_tetrahedron(cell, &frame, 1e-9, &probe);
    int kept[2][8] = {{0}, {0}};
    for (int32_t set = 0; set < GEO_SEARCH_SETS; ++set) {
      const struct geo_search *search = geo_search_of(set);
      for (int rigid_too = 0; search && rigid_too < 2; ++rigid_too) {
        int32_t found[8] = {0, 1, 2, 3, 4, 5, 6, 7};
        const int32_t n = rigid_too ? search->keep_triangles(hard->triangles, &probe, 8, found)
                                    : search->keep_tetrahedra(ball->tetrahedra, &probe, 8, found);
        for (int32_t i = 0; i < n; ++i) {
          CHECK(i == 0 || found[i - 1] < found[i]);
          kept[rigid_too][found[i]] |= 1 << set;
        }
        total += set == 0 ? n : 0;
      }
    }
    const int all = geo_search_of(1) ? 3 : 1;
    for (int j = 0; j < 8; ++j) {
      CHECK(kept[0][j] == 0 || kept[0][j] == all);
      CHECK(kept[1][j] == 0 || kept[1][j] == all);
      for (int sample = 0; sample < 50; ++sample) {
        if (is_within(&ball->tetrahedra[j], random_point(corner, 4, &seed))) {
          CHECK_EQUAL(kept[0][j], all);
        }
        const struct geo_vec x = random_point(hard->triangles[j].v, 3, &seed);
        if (is_within(cell, geo_transform(&back, x))) {
          CHECK_EQUAL(kept[1][j], all);
        }
      }
    }
  }
  CHECK(total < 200 * 16 / 3);
  geo_shape_destroy(ball);
  geo_shape_destroy(hard);
}

/* ---- surfaces by brute force ---- */

/* Makes an octahedron, stretched and squeezed, with its centre anywhere and its field up to
 * there. */
static geo_shape *random_shape(int is_soft, uint64_t *seed) {
  double moved[21];
  double field[7] = {check_random(seed, 1e4, 1e6), 0, 0, 0, 0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    const double stretch = check_random(seed, 0.3, 1.5);
    const double shift = check_random(seed, -0.2, 0.2);
    for (int v = 0; v < 7; ++v) {
      moved[3 * v + i] = stretch * (points[3 * v + i] + (v == 0 ? shift : 0));
    }
  }
  geo_arrays arrays = is_soft ? soft : rigid;
  arrays.vertices = moved;
  arrays.pressure = is_soft ? field : NULL;
  return shape_of(&arrays);
}

static geo_pose pose_of(const struct geo_frame *frame) {
  geo_pose pose;
  for (int i = 0; i < 3; ++i) {
    geo_write(frame->row[i], pose.R + 3 * i);
  }
  geo_write(frame->t, pose.t);
  return pose;
}

/* Tests all pairs of cells. Returns the number of faces, and adds their area and the force on a. */
static int add_all_faces(const geo_shape *a, const geo_shape *b, const struct geo_view *view,
                         double *area, struct geo_vec *force) {
  int n = 0;
  for (int i = 0; i < a->n; ++i) {
    for (int j = 0; j < b->n; ++j) {
      const struct geo_tetrahedron *cell = &a->tetrahedra[i];
      struct geo_face face;
      struct geo_vec c;
      const int met = b->kind == GEO_TRIANGLES
                          ? geo_meet_triangle(cell, &b->triangles[j], view, &face)
                          : geo_meet_fields(cell, &b->tetrahedra[j], view, &face);
      const double part = met ? geo_area(&face.polygon, face.n, &c) : 0;
      if (part > 0) {
        const double load = part * (geo_dot(cell->field.slope, c) + cell->field.base);
        *force = geo_add(*force, geo_scale(load, face.n));
        *area += part;
        ++n;
      }
    }
  }
  return n;
}

/* The pairs lie far apart, side by side, barely touching, or one within the other. */
static void a_thousand_pairs_by_brute_force(void) {
  uint64_t seed = 7;
  geo_workspace *work;
  REQUIRE(geo_workspace_create(&work, NULL) == SAP_OK);
  int met = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    geo_shape *a = random_shape(1, &seed);
    geo_shape *b = random_shape(trial % 3 != 0, &seed);
    struct geo_frame frame = random_frame(&seed, trial % 2 ? 2 : 0.5);
    if (trial % 5 == 0) {
      /* a vertex of b a little above or below one of a, both of them spikes that point down */
      frame = identity;
      frame.t.z = a->tree.root.center.z + a->tree.root.half.z - b->tree.root.center.z +
                  b->tree.root.half.z +
                  pow(10, check_random(&seed, -14, -3)) * (trial % 2 ? 1 : -1);
    }
    const geo_pair pair = {a, b, pose_of(&identity), pose_of(&frame)};
    geo_surfaces s;
    REQUIRE(geo_contact_surfaces(work, 1, &pair, GEO_POLYGONS, &s, NULL) == SAP_OK);
    const struct geo_view view = {frame, geo_relative(&frame, &identity),
                                  16 * 0x1p-53 * (a->p_most + b->p_most),
                                  1e-6 * fmax(a->radius, b->radius)};
    struct geo_vec force = {0, 0, 0};
    double area = 0;
    CHECK_EQUAL(add_all_faces(a, b, &view, &area, &force), s.n_faces);
    double found = 0;
    for (int f = 0; f < s.n_faces; ++f) {
      found += s.area[f];
    }
    const double size = a->p_most * area;
    CHECK_CLOSE(found, area, 1e-12 * area);
    CHECK_CLOSE(s.force[0], force.x, 1e-12 * size);
    CHECK_CLOSE(s.force[1], force.y, 1e-12 * size);
    CHECK_CLOSE(s.force[2], force.z, 1e-12 * size);
    met += s.n_faces > 0;
    geo_shape_destroy(a);
    geo_shape_destroy(b);
  }
  CHECK(met > 300 && met < 900);
  geo_workspace_destroy(work);
}

static const check_test tests[] = {
    CHECK_TEST(sorting),
    CHECK_TEST(trees_find_boxes),
    CHECK_TEST(a_tree_of_one_cell),
    CHECK_TEST(numbers_that_overflow_find_each_cell_once),
    CHECK_TEST(trees_find_planes),
    CHECK_TEST(cells_kept),
    CHECK_TEST(a_thousand_pairs_by_brute_force),
};
CHECK_FILE(test_geometry_search, tests);
