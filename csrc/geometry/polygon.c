#include "geometry/polygon.h"

/* Edges of the corners, in order, by the set of vertices where s > 0; 0 ends the list. An edge is
 * the bits of its vertices. */
static const unsigned char corners[16][4] = {
    {0},                  /* none */
    {0x3, 0x9, 0x5, 0},   /* 0: 01 03 02 */
    {0x3, 0x6, 0xa, 0},   /* 1: 10 12 13 */
    {0x5, 0x6, 0xa, 0x9}, /* 0 1: 02 12 13 03 */
    {0x5, 0xc, 0x6, 0},   /* 2: 20 23 21 */
    {0x3, 0x9, 0xc, 0x6}, /* 0 2: 01 03 23 21 */
    {0x3, 0x5, 0xc, 0xa}, /* 1 2: 10 20 23 13 */
    {0x9, 0xc, 0xa, 0},   /* all but 3 */
    {0x9, 0xa, 0xc, 0},   /* 3: 30 31 32 */
    {0x3, 0xa, 0xc, 0x5}, /* 0 3: 01 31 32 02 */
    {0x3, 0x6, 0xc, 0x9}, /* 1 3: 10 12 32 30 */
    {0x5, 0x6, 0xc, 0},   /* all but 2 */
    {0x5, 0x9, 0xa, 0x6}, /* 2 3: 20 30 31 21 */
    {0x3, 0xa, 0x6, 0},   /* all but 1 */
    {0x3, 0x5, 0x9, 0},   /* all but 0 */
    {0},                  /* all */
};

static int first_bit(int set) { return __builtin_ctz((unsigned)set); }

void geo_cut_tetrahedron(const struct geo_four *x, const double s[4], struct geo_cut *cut) {
  const int positive = (s[0] > 0) | (s[1] > 0) << 1 | (s[2] > 0) << 2 | (s[3] > 0) << 3;
  const unsigned char *edges = corners[positive];
  cut->n = 0;
  for (int k = 0; k < 4 && edges[k]; ++k) {
    const int from = first_bit(edges[k] & ~positive);
    const int to = first_bit(edges[k] & positive);
    cut->edge[k] = edges[k];
    cut->v[k] = geo_between(geo_of_four(x, from), geo_of_four(x, to), s[from] / (s[from] - s[to]));
    ++cut->n;
  }
}

void geo_clip(struct geo_polygon *polygon, struct geo_vec n, double offset, int owned) {
  double d[GEO_MOST_CORNERS];
  int outside = 0;
  for (int k = 0; k < polygon->n; ++k) {
    d[k] = geo_dot(n, polygon->v[k]) - offset;
    outside += owned ? d[k] > 0 : d[k] >= 0;
  }
  if (outside == 0 || outside == polygon->n) {
    polygon->n = outside == 0 ? polygon->n : 0;
    return;
  }
  struct geo_vec old[GEO_MOST_CORNERS];
  const int n_old = polygon->n;
  for (int k = 0; k < n_old; ++k) {
    old[k] = polygon->v[k];
  }
  int kept = 0;
  for (int k = 0; k < n_old; ++k) {
    const int next = k + 1 < n_old ? k + 1 : 0;
    const int is_in = owned ? d[k] <= 0 : d[k] < 0;
    const int next_in = owned ? d[next] <= 0 : d[next] < 0;
    if (is_in) {
      polygon->v[kept++] = old[k];
    }
    if (is_in != next_in) {
      /* begins at the corner inside, so that neighbours find the same point */
      const int from = is_in ? k : next;
      const int to = is_in ? next : k;
      polygon->v[kept++] = geo_between(old[from], old[to], d[from] / (d[from] - d[to]));
    }
  }
  polygon->n = kept;
}

static int are_distinct(struct geo_vec a, struct geo_vec b) {
  const struct geo_vec d = geo_sub(a, b);
  return geo_dot(d, d) > 1e-28;
}

void geo_tidy(struct geo_polygon *polygon) {
  int kept = 0;
  for (int k = 0; k < polygon->n; ++k) {
    if (kept == 0 || are_distinct(polygon->v[k], polygon->v[kept - 1])) {
      polygon->v[kept++] = polygon->v[k];
    }
  }
  while (kept > 1 && !are_distinct(polygon->v[kept - 1], polygon->v[0])) {
    --kept;
  }
  polygon->n = kept < 3 ? 0 : kept;
}

double geo_area(const struct geo_polygon *polygon, struct geo_vec n, struct geo_vec *centroid) {
  const struct geo_vec origin = polygon->v[0];
  struct geo_vec sum = {0, 0, 0};
  double twice = 0;
  for (int k = 1; k + 1 < polygon->n; ++k) {
    const struct geo_vec u = geo_sub(polygon->v[k], origin);
    const struct geo_vec w = geo_sub(polygon->v[k + 1], origin);
    const double part = geo_dot(n, geo_cross(u, w));
    sum = geo_add(sum, geo_scale(part, geo_add(u, w)));
    twice += part;
  }
  if (!(twice > 0)) {
    return 0;
  }
  *centroid = geo_add(origin, geo_scale(1 / (3 * twice), sum));
  return twice / 2;
}
