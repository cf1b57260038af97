#include "invdyn/tasks/held_contacts.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"

/* ---- motion ---------------------------------------------------------------------------------- */

/* y = R x, or R^T x for the transpose. */
static void turn(const double *R, int transposed, const double *x, double *y) {
  const int row = transposed ? 1 : 3, column = transposed ? 3 : 1;
  for (int i = 0; i < 3; ++i) {
    const double *r = R + row * (int64_t)i;
    y[i] = r[0] * x[0] + r[column] * x[1] + r[2 * column] * x[2];
  }
}

void tasks_fix_contact(const double *xpos, const double *xmat, struct tasks_contact *contact) {
  for (int side = 0; side < 2; ++side) {
    const int64_t body = contact->bodies[side];
    memcpy(contact->xpos[side], xpos + 3 * body, sizeof contact->xpos[side]);
    memcpy(contact->xmat[side], xmat + 9 * body, sizeof contact->xmat[side]);
  }
}

void tasks_move_contact(const double *xpos, const double *xmat, struct tasks_contact *contact) {
  double end[2][3], *frame = contact->frame;
  for (int side = 0; side < 2; ++side) {
    const int64_t body = contact->bodies[side];
    const double half = 0.5 * (side ? contact->gap : -contact->gap);
    double arm[3], local[3];
    for (int k = 0; k < 3; ++k) {
      arm[k] = contact->position[k] + half * frame[6 + k] - contact->xpos[side][k];
    }
    turn(contact->xmat[side], 1, arm, local);
    turn(xmat + 9 * body, 0, local, end[side]);
    sap_vector_add(3, 1.0, xpos + 3 * body, end[side]);
  }
  for (int axis = 0; axis < 3; ++axis) {
    double local[3];
    turn(contact->xmat[0], 1, frame + 3 * axis, local);
    turn(xmat + 9 * (int64_t)contact->bodies[0], 0, local, frame + 3 * axis);
  }
  contact->gap = 0.0;
  for (int k = 0; k < 3; ++k) {
    contact->position[k] = 0.5 * (end[0][k] + end[1][k]);
    contact->gap += frame[6 + k] * (end[1][k] - end[0][k]);
  }
  tasks_fix_contact(xpos, xmat, contact);
}

/* ---- choice ---------------------------------------------------------------------------------- */

static int is_pair(const struct tasks_contact *one, const struct tasks_contact *other) {
  return one->geoms[0] == other->geoms[0] && one->geoms[1] == other->geoms[1];
}

/* Returns the number of contacts from `begin` to `end` of the same pair. */
static int32_t count(const struct tasks_contact *contacts, int32_t begin, int32_t end,
                     const struct tasks_contact *one) {
  int32_t n = 0;
  for (int32_t i = begin; i < end; ++i) {
    n += is_pair(contacts + i, one);
  }
  return n;
}

/* Drops the nearest held contact of the same pair that is left. */
static void drop_nearest(const struct tasks_contact *contacts, int32_t n_held,
                         const struct tasks_contact *listed, int8_t *dropped) {
  double least = INFINITY;
  int32_t nearest = -1;
  for (int32_t i = 0; i < n_held; ++i) {
    if (!dropped[i] && is_pair(contacts + i, listed)) {
      double apart[3];
      for (int k = 0; k < 3; ++k) {
        apart[k] = contacts[i].position[k] - listed->position[k];
      }
      const double square = sap_vector_dot(3, apart, apart);
      if (nearest < 0 || square < least) {
        least = square;
        nearest = i;
      }
    }
  }
  dropped[nearest] = 1;
}

int32_t tasks_merge_contacts(const struct tasks_contact *contacts, int32_t n_held, int32_t n,
                             double hysteresis, int8_t *dropped, int32_t *chosen) {
  int32_t n_chosen = 0;
  memset(dropped, 0, (size_t)n);
  for (int32_t first = 0; first < n; ++first) {
    const struct tasks_contact *one = contacts + first;
    if (count(contacts, 0, first, one) > 0) {
      continue;
    }
    const int holds_more = count(contacts, n_held, n, one) < count(contacts, 0, n_held, one);
    for (int32_t i = n_held; i < n && holds_more; ++i) {
      if (is_pair(contacts + i, one)) {
        drop_nearest(contacts, n_held, contacts + i, dropped);
      }
    }
    for (int32_t i = first; i < n; ++i) {
      const int stays = i >= n_held || (holds_more && !dropped[i] && contacts[i].gap <= hysteresis);
      if (stays && is_pair(contacts + i, one)) {
        chosen[n_chosen++] = i;
      }
    }
  }
  return n_chosen;
}
