/* Tests pairs that stay apart for a step: planes between moving boxes, by samples, and the pairs of
 * geoms that the engine gets, with their parameters. */

#include "engine.h"
#include "mujoco/speculative/separation.h"

/* ---- two movers ----------------------------------------------------------------------------- */

/* Rotates by the vector w with Rodrigues' formula. */
static void rotate(const double *w, const double *x, double *y) {
  const double angle = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
  const double s = angle > 0.0 ? sin(angle) / angle : 1.0;
  const double c = angle > 0.0 ? (1.0 - cos(angle)) / (angle * angle) : 0.5;
  double wx[3], wwx[3];
  cross(w, x, wx);
  cross(w, wx, wwx);
  for (int j = 0; j < 3; ++j) {
    y[j] = x[j] + s * wx[j] + c * wwx[j];
  }
}

struct moved {
  struct sap_mover mover;
  double turn[3], axes[9];
};

/* Makes a box, a capsule or a sphere somewhere that moves and turns. */
static void make_mover(struct moved *m, int kind, uint64_t *seed) {
  double w[3];
  memset(m, 0, sizeof *m);
  for (int j = 0; j < 3; ++j) {
    w[j] = 3.0 * check_random(seed, -1, 1);
    m->mover.centre[j] = 0.4 * check_random(seed, -1, 1);
    m->mover.velocity[j] = check_random(seed, -1, 1);
    m->turn[j] = 5.0 * check_random(seed, -1, 1);
    m->mover.half[j] =
        kind == 0 || (kind == 1 && j == 2) ? 0.1 + 0.08 * check_random(seed, -1, 1) : 0.0;
  }
  m->mover.round = kind == 0 ? 0.0 : 0.1 + 0.05 * check_random(seed, -1, 1);
  for (int k = 0; k < 3; ++k) {
    const double unit[3] = {k == 0, k == 1, k == 2};
    double column[3];
    rotate(w, unit, column);
    for (int j = 0; j < 3; ++j) {
      m->axes[3 * j + k] = column[j];
    }
  }
  const double *h = m->mover.half;
  m->mover.radius = m->mover.round + sqrt(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]);
  m->mover.motion_bound = 10.0;
  m->mover.turn = m->turn;
  m->mover.axes = m->axes;
}

/* Moves a point of the box, given in its axes, by a time. */
static void place(const struct moved *m, const double *corner, double time, double *p) {
  double x[3], w[3];
  for (int j = 0; j < 3; ++j) {
    x[j] = m->axes[3 * j] * corner[0] + m->axes[3 * j + 1] * corner[1] +
           m->axes[3 * j + 2] * corner[2];
    w[j] = time * m->turn[j];
  }
  rotate(w, x, p);
  for (int j = 0; j < 3; ++j) {
    p[j] += m->mover.centre[j] + time * m->mover.velocity[j];
  }
}

/* Returns how far a place is from the box of another at that time, less what is around it. */
static double clearance(const struct moved *m, double time, const double *p) {
  double middle[3], out = 0.0;
  place(m, (double[3]){0, 0, 0}, time, middle);
  for (int k = 0; k < 3; ++k) {
    double tip[3], along = 0.0;
    place(m, (double[3]){k == 0, k == 1, k == 2}, time, tip);
    for (int j = 0; j < 3; ++j) {
      along += (tip[j] - middle[j]) * (p[j] - middle[j]);
    }
    const double beyond = fmax(fabs(along) - m->mover.half[k], 0.0);
    out += beyond * beyond;
  }
  return sqrt(out) - m->mover.round;
}

/* Boxes that stay apart meet at no time. Without motion, a face that separates two is found. */
static void what_stays_apart_does_not_meet(void) {
  const double time = 0.05;
  uint64_t seed = 11;
  int apart = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    struct moved a, b;
    make_mover(&a, trial % 3, &seed);
    make_mover(&b, trial / 3 % 3, &seed);
    double gap;
    if (!sap_movers_stay_apart(&a.mover, &b.mover, time, 0.0, &gap)) {
      continue;
    }
    ++apart;
    for (int sample = 0; sample < 20; ++sample) {
      double corner[3], p[3];
      const double when = time * 0.5 * (1.0 + check_random(&seed, -1, 1));
      for (int j = 0; j < 3; ++j) {
        const double u = 1.5 * check_random(&seed, -1, 1);
        corner[j] = b.mover.half[j] * fmax(-1.0, fmin(1.0, u));
      }
      place(&b, corner, 0.0, p);
      CHECK(clearance(&a, 0.0, p) - b.mover.round > gap - 1e-12);
      place(&b, corner, when, p);
      CHECK(clearance(&a, when, p) > b.mover.round);
    }
  }
  CHECK(apart > 300 && apart < 2700);
}

/* Two boxes are 0.1 apart along x. */
static void planes_move_with_what_moves(void) {
  static const struct {
    double vx, vy, turn, own, gain, motion_bound;
    int apart;
  } cases[] = {
      {0, 0, 0, 0, 0, 1, 1},    {0, 0, 0, 0.11, 0, 1, 0},   {0, 9, 0, 0, 0, 1, 1},
      {-4.9, 0, 0, 0, 0, 1, 1}, {-5.1, 0, 0, 0, 0, 1, 0},   {-5.1, 0, 0, 0, 0, 0.04, 1},
      {9, 0, 0, 0, 9.9, 1, 1},  {9, 0, 0, 0, 10.1, 1, 0},   {0, 0, 5.7, 0, 0, 1, 1},
      {0, 0, 5.8, 0, 0, 1, 0},  {4.0, 0, 10.3, 0, 0, 1, 1}, {4.0, 0, 10.5, 0, 0, 1, 0},
  };
  const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, still[3] = {0, 0, 0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const double turn[3] = {0, 0, cases[i].turn};
    const struct sap_mover a = {.turn = still,
                                .axes = unit,
                                .tree = -1,
                                .half = {1, 1, 1},
                                .radius = sqrt(3.0),
                                .motion_bound = cases[i].motion_bound},
                           b = {.centre = {1.6, 0, 0},
                                .velocity = {cases[i].vx, cases[i].vy, 0},
                                .turn = turn,
                                .axes = unit,
                                .half = {0.5, 0.5, 0.5},
                                .radius = sqrt(0.75),
                                .motion_bound = cases[i].motion_bound,
                                .gain = cases[i].gain};
    double gap;
    CHECK_EQUAL(sap_movers_stay_apart(&a, &b, 0.01, cases[i].own, &gap), cases[i].apart);
    CHECK_EQUAL(sap_movers_stay_apart(&b, &a, 0.01, cases[i].own, &gap), cases[i].apart);
  }
}

/* Two boxes 0.1 apart that move as one but for `vx` and `vy`, 100 m/s that free fall adds, of one
 * tree or of two: what gravity adds is that of the relative speed. */
static void what_moves_as_one_falls_as_one(void) {
  static const struct {
    double vx, vy, time;
    int32_t tree;
    int apart;
  } cases[] = {{0, 0, 0.009, 0, 1},  {0, 0, 0.011, 0, 0},  {0, 0, 0.009, 1, 0},
               {0, 1, 0.007, 0, 1},  {0, 1, 0.0072, 0, 0}, {1, 0, 0.007, 0, 1},
               {-1, 0, 0.007, 0, 0}, {0, 99, 0.002, 0, 0}, {0, 99, 9e-4, 0, 1},
               {-1, 0, 0.006, 0, 1}};
  const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, still[3] = {0, 0, 0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct sap_mover a = {.velocity = {0, 0, 50},
                          .turn = still,
                          .axes = unit,
                          .half = {1, 1, 1},
                          .radius = sqrt(3.0),
                          .motion_bound = 10,
                          .gain = 100,
                          .fall = 100},
                     b = a;
    b.centre[0] = 2.1;
    b.velocity[0] = cases[i].vx;
    b.velocity[1] = cases[i].vy;
    b.tree = cases[i].tree;
    double gap;
    CHECK_EQUAL(sap_movers_stay_apart(&a, &b, cases[i].time, 0, &gap), cases[i].apart);
    CHECK_EQUAL(sap_movers_stay_apart(&b, &a, cases[i].time, 0, &gap), cases[i].apart);
  }
}

/* This is a value of MuJoCo's enums. */
enum { NO_PARENT_FILTER = 1 << 10 };

/* ---- a world -------------------------------------------------------------------------------- */

/* Makes cubes of 0.2 at the origin, and one at x = 0.25 that moves. Masks are those of odd and
 * even geoms. */
static void make_cubes(struct setting *s, sap_mujoco_world *world, double vx) {
  make(s);
  open_world(s, world);
  for (int g = 0; g < GEOMS; ++g) {
    s->geom_type[g] = 6;
    s->geom_rbound[g] = 0.1 * sqrt(3.0);
    for (int j = 0; j < 3; ++j) {
      s->geom_aabb[6 * g + 3 + j] = s->bvh_aabb[6 * g + 3 + j] = 0.1;
    }
  }
  memcpy(s->m.subtree_com, (double[3]){0}, 3 * sizeof(double));
  s->geom_xpos[3] = s->xipos[3] = 0.25;
  memset(s->m.qvel, 0, sizeof s->m.qvel);
  s->m.qvel[0] = vx;
  s->model.npair = 0;
}

static int is_looked_at(int g1, int g2) {
  int found = 0;
  for (int i = 0; i < engine.n_pairs; ++i) {
    found += engine.pair[i].geom[0] == g1 && engine.pair[i].geom[1] == g2;
  }
  return found;
}

/* By their masks (0, 1) (0, 3) (1, 2) (1, 4) (2, 5) (4, 5) meet, and the welded (0, 5) and parents
 * (2, 3) (3, 4) do not. */
static void bodies_that_stay_apart_are_left_out(void) {
  static const struct {
    double vx, own;
    int meets;
  } cases[] = {{10, 0, 0}, {-10, 0, 1}, {10, 0.06, 1}, {0.001, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct setting s;
    sap_mujoco_world world;
    make_cubes(&s, &world, cases[i].vx);
    s.geom_margin[1] = cases[i].own;
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
    CHECK_EQUAL(engine.n_colliding, 0);
    CHECK_EQUAL(engine.n_pairs, 3 + 3 * cases[i].meets);
    CHECK(is_looked_at(0, 3) && is_looked_at(2, 5) && is_looked_at(4, 5));
    CHECK_EQUAL(is_looked_at(0, 1), cases[i].meets);
    CHECK_EQUAL(is_looked_at(1, 2), cases[i].meets);
    CHECK_EQUAL(is_looked_at(1, 4), cases[i].meets);
    sap_stepper_destroy(s.stepper);
  }
}

static void what_the_model_leaves_out_stays_out(void) {
  struct setting s;
  sap_mujoco_world world;
  make_cubes(&s, &world, -10.0);
  s.model.nexclude = 1;
  s.exclude_signature[0] = 1 << 16 | 2;
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_EQUAL(engine.n_pairs, 5);
  CHECK_EQUAL(is_looked_at(1, 2), 0);
  sap_stepper_destroy(s.stepper);
}

/* If no two geoms may meet, the engine gets an empty model, unless that is larger. */
static void without_pairs_there_is_no_model(void) {
  for (int large = 0; large < 2; ++large) {
    struct setting s;
    sap_mujoco_world world;
    make(&s);
    open_world(&s, &world);
    s.model.npair = 0;
    for (int g = 0; g < GEOMS; ++g) {
      s.geom_contype[g] = s.geom_conaffinity[g] = 0;
    }
    if (large) {
      static char model[MOST_MODEL];
      memcpy(model, &s.model, sizeof s.model);
      s.api.model.size = (ptrdiff_t)sizeof model;
      world.model = engine.model = (const void *)model;
    }
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
    CHECK_EQUAL(engine.n_pairs, 0);
    CHECK_EQUAL(engine.is_nothing, !large);
    sap_stepper_destroy(s.stepper);
  }
}

/* An explicit pair is looked at whatever its masks are, once, and keeps its parameters. */
static void explicit_pairs_are_looked_at(void) {
  for (int toward = 0; toward < 2; ++toward) {
    struct setting s;
    sap_mujoco_world world;
    make_cubes(&s, &world, toward ? -10.0 : 10.0);
    s.model.npair = 1;
    s.pair_geom1[0] = 2;
    s.pair_geom2[0] = 1;
    s.pair_dim[0] = 6;
    s.pair_friction[4] = 0.5;
    s.pair_adhesion[0] = 2.5;
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
    CHECK_EQUAL(is_looked_at(2, 1), toward);
    CHECK_EQUAL(is_looked_at(1, 2), 0);
    if (toward) {
      const struct engine_pair *last = engine.pair + engine.n_pairs - 1;
      CHECK(last->dim == 6 && last->friction[4] == 0.5 && last->adhesion == 2.5);
      CHECK(last->margin > 0.0);
    }
    sap_stepper_destroy(s.stepper);
  }
}

/* Pairs have MuJoCo's parameters for two geoms, by hand. */
static void pairs_have_the_parameters_of_their_geoms(void) {
  static const struct {
    int priority[2];
    double mix[2];
    double solref[2]; /* first of each */
    int dim;
    double ref, imp, friction, adhesion;
  } cases[] = {{{0, 0}, {1, 3}, {0.4, 0.8}, 4, 0.7, 0.7, 0.9, 5},
               {{0, 0}, {0, 3}, {0.4, 0.8}, 4, 0.8, 0.8, 0.9, 5},
               {{0, 0}, {0, 0}, {0.4, 0.8}, 4, 0.6, 0.6, 0.9, 5},
               {{0, 0}, {1, 3}, {-4, 0.8}, 4, -4, 0.7, 0.9, 5},
               {{1, 0}, {1, 3}, {-4, 0.8}, 3, -4, 0.4, 0.9, 2},
               {{0, 1}, {1, 3}, {-4, 0.8}, 4, 0.8, 0.8, 0.3, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct setting s;
    sap_mujoco_world world;
    make_cubes(&s, &world, -10.0);
    const int g[2] = {1, 4};
    for (int k = 0; k < 2; ++k) {
      s.geom_priority[g[k]] = cases[i].priority[k];
      s.geom_solmix[g[k]] = cases[i].mix[k];
      s.geom_solref[2 * g[k]] = cases[i].solref[k];
      s.geom_solimp[5 * g[k] + 4] = 0.4 * (k + 1);
      s.geom_condim[g[k]] = 3 + k;
      s.geom_friction[3 * g[k] + 2] = k ? 0.3 : 0.9;
      s.geom_adhesion[g[k]] = 2 + k;
      s.geom_gap[g[k]] = 0.01 * (k + 1);
      s.geom_margin[g[k]] = 0.1 * (k + 1);
    }
    s.geom_margin[4] = -0.1;
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
    const struct engine_pair *pair = engine.pair;
    while (pair->geom[0] != 1 || pair->geom[1] != 4) {
      REQUIRE(++pair < engine.pair + engine.n_pairs);
    }
    CHECK_EQUAL(pair->dim, cases[i].dim);
    CHECK_CLOSE(pair->solref[0], cases[i].ref, 1e-15);
    CHECK_CLOSE(pair->solimp[4], cases[i].imp, 1e-15);
    CHECK_CLOSE(pair->friction[4], cases[i].friction, 0);
    CHECK_CLOSE(pair->friction[3], cases[i].friction, 0);
    CHECK_CLOSE(pair->friction[2], 0, 0);
    CHECK_CLOSE(pair->adhesion, cases[i].adhesion, 0);
    CHECK_CLOSE(pair->gap, 0.03, 1e-15);
    /* that of the cube that moves is more than its own 0.1, that of the other is meant */
    CHECK_CLOSE(pair->margin, 0.0125 * (10 + 0.05) - 0.1, 1e-15);
    sap_stepper_destroy(s.stepper);
  }
}

/* Two geoms that move as one are searched for contacts as far as gravity may move them. */
static void margins_are_those_of_the_relative_motion(void) {
  struct setting s;
  sap_mujoco_world world;
  make_cubes(&s, &world, 0.0);
  s.m.qvel[3] = 2.0;
  s.model.npair = 1;
  s.pair_geom1[0] = 3;
  s.pair_geom2[0] = 4;
  const double margins[] = {0.0, 0.01};
  for (int i = 0; i < 2; ++i) {
    s.pair_margin[0] = margins[i];
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
    REQUIRE(engine.n_pairs > 0 && is_looked_at(3, 4));
    CHECK_CLOSE(engine.pair[engine.n_pairs - 1].margin, i ? margins[i] : 0.0125 * 2 * 0.05, 1e-15);
  }
  sap_stepper_destroy(s.stepper);
}

/* A place of all geoms, and the margin that the engine saw last. */
struct watch {
  struct setting *setting;
  double seen;
};

static void place_cubes(struct setting *s, double distance) {
  for (int g = 0; g < GEOMS; ++g) {
    s->geom_xpos[3 * g] = s->xipos[3 * g] = distance * g;
  }
}

/* After each step it moves the cubes to the origin. */
static int gather_cubes(void *context, double now) {
  struct watch *watch = context;
  CHECK(now > 0);
  watch->seen = engine.geom_margin[5];
  place_cubes(watch->setting, 0.0);
  return 0;
}

/* A run does not take the model of the run before, even if its first step looks at no pair. */
static void runs_copy_the_model_anew(void) {
  struct setting s;
  sap_mujoco_world world;
  struct watch watch = {&s, 0.0};
  double margins[2][GEOMS] = {{0.0}, {0.0, 0.0, 0.0, 0.0, 0.0, 0.001}};
  make_cubes(&s, &world, 0.0);
  world.hooks = (sap_step_hooks){&watch, NULL, NULL, gather_cubes};
  s.data.narena = 1 << 20;
  for (int run = 0; run < 2; ++run) {
    s.model.geom_margin = margins[run];
    place_cubes(&s, 10.0);
    CHECK_EQUAL(sap_mujoco_run(&world, 4, NULL, NULL), 4);
    CHECK_CLOSE(watch.seen, margins[run][5], 0);
  }
  CHECK(world.copies->is_made[SAP_PAIRS_COPY]);
  sap_stepper_destroy(s.stepper);
}

static const check_test tests[] = {
    CHECK_TEST(what_stays_apart_does_not_meet),
    CHECK_TEST(planes_move_with_what_moves),
    CHECK_TEST(what_moves_as_one_falls_as_one),
    CHECK_TEST(bodies_that_stay_apart_are_left_out),
    CHECK_TEST(what_the_model_leaves_out_stays_out),
    CHECK_TEST(without_pairs_there_is_no_model),
    CHECK_TEST(explicit_pairs_are_looked_at),
    CHECK_TEST(pairs_have_the_parameters_of_their_geoms),
    CHECK_TEST(margins_are_those_of_the_relative_motion),
    CHECK_TEST(runs_copy_the_model_anew),
};
CHECK_FILE(test_pairs, tests);
