#include "fem/contact_rows.h"

#include <math.h>
#include <string.h>

#include "geometry/vec3.h"

/* The blocks of a contact in J. */
struct blocks {
  int n;           /* trees */
  int32_t tree[2]; /* different ones */
  int32_t nv[2];
};

/* ---- trees ---- */

/* Adds a tree unless it is there; a contact is of two bodies at most. */
static void add_tree(struct blocks *blocks, int32_t tree, int32_t nv) {
  const int is_there = blocks->n > 0 && blocks->tree[0] == tree;
  if (blocks->n < 2 && !is_there) {
    blocks->tree[blocks->n] = tree;
    blocks->nv[blocks->n++] = nv;
  }
}

/* Returns the rows of a tree in those of a contact. */
static double *rows_of(const struct blocks *blocks, int32_t tree, double *J) {
  const int is_second = blocks->n > 1 && blocks->tree[1] == tree;
  return J + (is_second ? 3 * (int64_t)blocks->nv[0] : 0);
}

static int has_corners(const struct fem_side *side) { return side->n_corners > 0; }

static struct blocks list_blocks(const struct fem_meeting *m) {
  struct blocks blocks = {.n = 0};
  for (int s = 0; s < 2; ++s) {
    const struct fem_part *part = m->side[s].part;
    if (has_corners(&m->side[s]) && part->tree >= 0) {
      add_tree(&blocks, part->tree, part->nv);
    }
  }
  if (m->tree >= 0) {
    add_tree(&blocks, m->tree, m->nv);
  }
  return blocks;
}

static int64_t size_of(const struct blocks *blocks) {
  int64_t nv = 0;
  for (int i = 0; i < blocks->n; ++i) {
    nv += blocks->nv[i];
  }
  return 3 * nv;
}

int64_t fem_rows_size(const struct fem_meeting *meeting) {
  const struct blocks blocks = list_blocks(meeting);
  return meeting->n * size_of(&blocks);
}

/* ---- one contact ---- */

/* Writes rows t1, t2, n of a right-handed frame for a normal of unit length. */
static void write_axes(const double normal[3], double axes[9]) {
  /* The frame jumps where |n_x| = 0.7, far from normals along the axes, where derivatives of it
   * are taken. */
  const struct geo_vec n = geo_read(normal);
  const struct geo_vec axis =
      fabs(n.x) < 0.7 ? (struct geo_vec){1, 0, 0} : (struct geo_vec){0, 1, 0};
  const struct geo_vec first = geo_cross(axis, n);
  const struct geo_vec t = geo_scale(1 / geo_norm(first), first);
  geo_write(t, axes);
  geo_write(geo_cross(n, t), axes + 3);
  memcpy(axes + 6, normal, 3 * sizeof *axes);
}

/* Adds scale axes B to the first columns of rows (3, nv), for B (3, width). */
static void add_product(const double axes[9], double scale, const double *B, int32_t width,
                        int32_t nv, double *rows) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const double factor = scale * axes[3 * i + j];
      for (int32_t k = 0; k < width; ++k) {
        rows[(int64_t)i * nv + k] += factor * B[(int64_t)j * width + k];
      }
    }
  }
}

/* Adds scale times the velocity of a vertex, along the axes, by those of the tree. */
static void add_vertex(const struct fem_part *part, int32_t vertex, const double axes[9],
                       double scale, double *rows) {
  const int32_t place = part->place[vertex], column = part->column[place], nv = part->nv;
  if (column >= 0) {
    for (int i = 0; i < 9; ++i) {
      rows[i / 3 * (int64_t)nv + column + i % 3] += scale * axes[i];
    }
  } else if (part->T) {
    add_product(axes, scale, part->T + 3 * (int64_t)place * nv, nv, nv, rows);
  }
}

/* Adds one side of contact c to its rows, to its bias, and to its velocity in the world. */
static void add_side(const struct fem_side *side, int64_t c, const double axes[9], double sign,
                     double *rows, double bias[3], double velocity[3]) {
  const struct fem_part *part = side->part;
  for (int32_t k = 0; k < side->n_corners; ++k) {
    const int32_t vertex = side->vertices[c * side->n_corners + k];
    const double scale = sign * side->weights[c * side->n_corners + k];
    if (part->tree >= 0) {
      add_vertex(part, vertex, axes, scale, rows);
    }
    if (part->c) {
      add_product(axes, scale, part->c + 3 * (int64_t)part->place[vertex], 1, 1, bias);
    }
    for (int i = 0; i < 3; ++i) {
      velocity[i] += scale * part->start[3 * (int64_t)vertex + i];
    }
  }
}

/* Subtracts the other body of contact c, in a rigid tree. */
static void subtract_other(const struct fem_meeting *m, int64_t c, const double axes[9],
                           double *rows, double velocity[3]) {
  const double *J = m->J + 3 * c * m->width;
  add_product(axes, -1, J, m->width, m->nv, rows + m->begin);
  for (int i = 0; i < 3; ++i) {
    for (int32_t k = 0; k < m->width; ++k) {
      velocity[i] -= J[(int64_t)i * m->width + k] * m->v[k];
    }
  }
}

/* Adds both bodies of contact c; returns its slip. */
static double add_contact(const struct fem_meeting *m, const struct blocks *blocks, int64_t c,
                          const struct fem_rows *rows) {
  double velocity[3] = {0, 0, 0};
  for (int s = 0; s < 2; ++s) {
    const struct fem_side *side = &m->side[s];
    if (has_corners(side)) {
      add_side(side, c, rows->axes, s == 0 ? 1 : -1, rows_of(blocks, side->part->tree, rows->J),
               rows->bias, velocity);
    }
  }
  if (m->tree >= 0) {
    subtract_other(m, c, rows->axes, rows_of(blocks, m->tree, rows->J), velocity);
  }
  const struct geo_vec v = geo_read(velocity);
  const double first = geo_dot(geo_read(rows->axes), v);
  const double second = geo_dot(geo_read(rows->axes + 3), v);
  return sqrt(first * first + second * second);
}

/* ---- all of them ---- */

static int is_zero(int64_t n, const double *x) {
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] != 0) {
      return 0;
    }
  }
  return 1;
}

void fem_append_rows(const struct fem_meeting *meeting, struct fem_rows *rows) {
  const struct blocks blocks = list_blocks(meeting);
  const int64_t size = size_of(&blocks);
  for (int64_t c = 0; c < meeting->n; ++c) {
    memset(rows->J, 0, (size_t)size * sizeof *rows->J);
    memset(rows->bias, 0, 3 * sizeof *rows->bias);
    write_axes(meeting->normals + 3 * c, rows->axes);
    *rows->slip++ = add_contact(meeting, &blocks, c, rows);
    /* J has no entries where all vertices move as told */
    const int moves = !is_zero(size, rows->J);
    *rows->tree_a++ = moves ? blocks.tree[0] : -1;
    *rows->tree_b++ = moves && blocks.n > 1 ? blocks.tree[1] : -1;
    rows->J += moves ? size : 0;
    rows->axes += 9;
    rows->bias += 3;
  }
}

void fem_add_loads(int32_t n, const struct fem_side *side, double sign, const double *gamma,
                   double *impulses) {
  for (int64_t c = 0; c < n; ++c) {
    for (int32_t k = 0; k < side->n_corners; ++k) {
      const int64_t at = c * side->n_corners + k;
      const double scale = sign * side->weights[at];
      for (int i = 0; i < 3; ++i) {
        impulses[3 * (int64_t)side->vertices[at] + i] += scale * gamma[3 * c + i];
      }
    }
  }
}
