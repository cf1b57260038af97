/* Tests that islands give the same bits for any number of threads, with failing threads and memory
 * and in forked processes. */
#define _POSIX_C_SOURCE 200809L

#include <string.h>

#include "base/system.h"
#include "check.h"
#include "child.h"
#include "counter.h"
#include "meeting.h"
#include "solver/solver_object.h"
#include "problem_of.h"

/* Free bodies on a floor, in a few heaps: neighbours touch with some contacts, and most stand on
 * the floor. */
enum { BODIES = 200, MOST_CONTACTS = 3 * BODIES, NV = 6 * BODIES };
/* under ThreadSanitizer a solve takes some 20 times as long */
#ifdef __SANITIZE_THREAD__
enum { FEWER = 3 };
#else
enum { FEWER = 1 };
#endif

struct heap {
  sap_problem problem;
  int32_t tree_nv[BODIES], tree_a[MOST_CONTACTS], tree_b[MOST_CONTACTS];
  double A[36 * BODIES], v_star[NV], J[36 * MOST_CONTACTS];
  double mu[MOST_CONTACTS], R_t[MOST_CONTACTS], R_n[MOST_CONTACTS], v_hat_n[MOST_CONTACTS];

  /* torsion of every other contact, if the problem points to it */
  sap_spin spin;
  int32_t spin_contact[MOST_CONTACTS];
  double spin_J[36 * MOST_CONTACTS], spin_mu[3 * MOST_CONTACTS];
};

static void make_spin(struct heap *h, uint64_t *seed) {
  double *J = h->spin_J;
  h->spin = (sap_spin){0, h->spin_contact, h->spin_J, h->spin_mu};
  for (int32_t i = 0; i < h->problem.n_contacts; i += 2) {
    for (int32_t k = 0; k < (h->tree_b[i] < 0 ? 18 : 36); ++k) {
      *J++ = check_random(seed, -1, 1);
    }
    for (int k = 0; k < 3; ++k) {
      h->spin_mu[3 * h->spin.n + k] = check_random(seed, 0, 0.1);
    }
    h->spin_contact[h->spin.n++] = i;
  }
}

/* Makes strips of some rows and `length` columns. */
static void make_heaps(struct heap *h, int32_t rows, int32_t length, uint64_t *seed) {
  int32_t n = 0;
  int64_t nJ = 0;
  for (int32_t t = 0; t < BODIES; ++t) {
    h->tree_nv[t] = 6;
    for (int32_t i = 0; i < 6; ++i) {
      for (int32_t j = 0; j <= i; ++j) {
        h->A[36 * t + 6 * i + j] = h->A[36 * t + 6 * j + i] =
            i == j ? check_random(seed, 1, 2) : check_random(seed, -0.1, 0.1);
      }
      h->v_star[6 * t + i] = check_random(seed, -1, 1);
    }
    /* the floor, the body before, and the one in the column before */
    const int32_t others[3] = {check_random(seed, 0, 1) < 0.7 ? -1 : -2, t % rows > 0 ? t - 1 : -2,
                               t / rows % length > 0 ? t - rows : -2};
    for (int32_t k = 0; k < 3; ++k) {
      if (others[k] >= -1) {
        h->tree_a[n] = t;
        h->tree_b[n++] = others[k];
        nJ += others[k] >= 0 ? 36 : 18;
      }
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    h->mu[i] = check_random(seed, 0.2, 1);
    h->R_t[i] = check_random(seed, 1e-5, 1e-4);
    h->R_n[i] = check_random(seed, 1e-3, 1e-2);
    h->v_hat_n[i] = check_random(seed, -0.1, 0.5);
  }
  for (int64_t i = 0; i < nJ; ++i) {
    h->J[i] = check_random(seed, -1, 1);
  }
  h->problem = PROBLEM_OF(h, h->tree_nv, BODIES, n);
  make_spin(h, seed);
}

struct results {
  sap_solution solution;
  double v[NV], gamma[3 * MOST_CONTACTS], v_c[3 * MOST_CONTACTS];
  double spin_gamma[3 * MOST_CONTACTS], spin_v_c[3 * MOST_CONTACTS];
  int8_t regions[MOST_CONTACTS];
  double R_t[MOST_CONTACTS], R_n[MOST_CONTACTS], v_hat_n[MOST_CONTACTS];
};

static sap_status solve(sap_solver *solver, const sap_problem *problem, int physical,
                        struct results *r) {
  static double phi0[MOST_CONTACTS], k[MOST_CONTACTS], tau_d[MOST_CONTACTS];
  r->solution = (sap_solution){.v = r->v,
                               .gamma = r->gamma,
                               .v_c = r->v_c,
                               .regions = r->regions,
                               .spin_gamma = r->spin_gamma,
                               .spin_v_c = r->spin_v_c};
  if (!physical) {
    return sap_solver_solve(solver, problem, NULL, &r->solution, NULL);
  }
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    phi0[i] = -1e-3 * (i % 7 - 2);
    k[i] = 1e4 * (1 + i % 5);
    tau_d[i] = 0.01;
  }
  const sap_parameters parameters = {
      .dt = 0.01, .sigma = 1e-3, .beta = 1, .phi0 = phi0, .k = k, .tau_d = tau_d};
  return sap_solver_solve_physical(solver, problem, &parameters, r->R_t, r->R_n, r->v_hat_n, NULL,
                                   &r->solution, NULL);
}

/* Are all bits of two results equal, except times? */
static int equal_bits(const sap_problem *problem, const struct results *a,
                      const struct results *b) {
  const sap_solution *s = &a->solution, *t = &b->solution;
  const size_t n = (size_t)problem->n_contacts;
  return memcmp(a->v, b->v, sizeof a->v) == 0 && memcmp(a->gamma, b->gamma, 3 * n * 8) == 0 &&
         memcmp(a->spin_gamma, b->spin_gamma, sizeof a->spin_gamma) == 0 &&
         memcmp(a->spin_v_c, b->spin_v_c, sizeof a->spin_v_c) == 0 &&
         memcmp(a->v_c, b->v_c, 3 * n * 8) == 0 && memcmp(a->regions, b->regions, n) == 0 &&
         s->outcome == t->outcome && s->tree == t->tree && s->iterations == t->iterations &&
         s->total_iterations == t->total_iterations &&
         s->line_search_trials == t->line_search_trials && s->n_islands == t->n_islands &&
         s->momentum_error == t->momentum_error &&
         memcmp(&s->coulomb_error, &t->coulomb_error, sizeof s->coulomb_error) == 0 &&
         s->complementarity_error == t->complementarity_error &&
         s->velocity_error_bound == t->velocity_error_bound &&
         s->cost_gap_bound == t->cost_gap_bound && s->cost == t->cost;
}

static struct heap heap;
static struct results results[2];
/* Rows and columns make few large islands, many small ones, and one that others are done long
 * before. */
static const int32_t shapes[][2] = {{3, 20}, {7, 12}, {6, 1}, {1, 1}, {3, 100}};

static sap_solver *make_solver_of(int32_t threads, sap_friction friction) {
  sap_settings settings = sap_settings_default();
  settings.friction = friction;
  settings.threads = threads;
  settings.record_history = 1;
  if (friction == SAP_FRICTION_COULOMB) {
    settings.max_iterations = 40;
  }
  sap_solver *solver = NULL;
  CHECK_EQUAL(sap_solver_create(&solver, &settings, NULL, NULL), SAP_OK);
  return solver;
}

static sap_solver *make_solver(int32_t threads) {
  return make_solver_of(threads, SAP_FRICTION_CONVEX);
}

static void same_bits_for_any_number_of_threads(void) {
  uint64_t seed = 71;
  int32_t shared = 0;
  for (size_t shape = 0; shape < CHECK_COUNT(shapes); ++shape) {
    make_heaps(&heap, shapes[shape][0], shapes[shape][1], &seed);
    for (int32_t variant = 0; variant < 5; ++variant) {
      const int physical = variant == 1;
      const sap_friction friction = variant == 3   ? SAP_FRICTION_LAGGED
                                    : variant == 4 ? SAP_FRICTION_COULOMB
                                                   : SAP_FRICTION_CONVEX;
      heap.problem.spin = variant % 2 == 0 && variant > 0 ? &heap.spin : NULL;
      sap_solver *dense = make_solver_of(1, friction);
      REQUIRE(dense);
      REQUIRE(solve(dense, &heap.problem, physical, &results[0]) == SAP_OK);
      /* through random Jacobians there may be no way to Coulomb's friction: 40 iterations of
       * trying */
      if (friction != SAP_FRICTION_COULOMB) {
        CHECK_EQUAL(results[0].solution.outcome, SAP_CONVERGED);
      }
      int32_t n_records;
      const sap_iteration *records = sap_solver_history(dense, &n_records);
      for (int32_t threads = FEWER > 1 ? 5 : 2; threads <= 5; threads += 3) {
        sap_solver *solver = make_solver_of(threads, friction);
        REQUIRE(solver);
        for (int32_t repeat = 0; repeat < 2; ++repeat) {
          REQUIRE(solve(solver, &heap.problem, physical, &results[1]) == SAP_OK);
          CHECK(equal_bits(&heap.problem, &results[0], &results[1]));
        }
        int32_t n;
        const sap_iteration *others = sap_solver_history(solver, &n);
        CHECK_EQUAL(n, n_records);
        CHECK(n == n_records && memcmp(records, others, (size_t)n * sizeof *records) == 0);
        shared += sap_threads_helpers(solver->threads);
        sap_solver_destroy(solver);
      }
      sap_solver_destroy(dense);
    }
  }
  /* helpers came, or nothing was tested */
  CHECK(shared > 0);
}

/* Statistics are the largest number of iterations, sums of all others, and the worst outcome. */
static void statistics_are_those_of_all_islands(void) {
  uint64_t seed = 79;
  make_heaps(&heap, 1, 1, &seed);
  for (int32_t i = 0; i < heap.problem.n_contacts; ++i) { /* none of them is rigid */
    heap.R_t[i] = 1e-3;
    heap.R_n[i] = 1e-2;
  }
  for (int32_t threads = 1; threads <= 3; threads += 2) {
    sap_solver *solver = make_solver(threads);
    REQUIRE(solver);
    REQUIRE(solve(solver, &heap.problem, 0, &results[0]) == SAP_OK);
    const sap_solution *solution = &results[0].solution;
    int32_t n, most = 0, total = 0, trials = 0, last_of_all = 0;
    double cost = 0;
    const sap_iteration *history = sap_solver_history(solver, &n);
    for (int32_t k = 0; k < n; ++k) {
      const int last = k + 1 == n || history[k + 1].island != history[k].island;
      most = history[k].iteration > most ? history[k].iteration : most;
      total += last ? history[k].iteration : 0;
      cost += last ? history[k].cost : 0;
      trials += history[k].trials;
      last_of_all = history[k].iteration;
    }
    CHECK(most > last_of_all); /* the largest number is not the last island's */
    CHECK_EQUAL(solution->iterations, most);
    CHECK_EQUAL(solution->total_iterations, total);
    CHECK_EQUAL(solution->line_search_trials, trials);
    CHECK_CLOSE(solution->cost, cost, 1e-12 * cost);
    CHECK_EQUAL(solution->outcome, SAP_CONVERGED);
    sap_solver_destroy(solver);
    /* the limit is enough for most islands, not for all */
    sap_settings settings = sap_settings_default();
    settings.threads = threads;
    settings.max_iterations = most - 1;
    solver = NULL;
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    REQUIRE(solve(solver, &heap.problem, 0, &results[0]) == SAP_OK);
    CHECK_EQUAL(solution->outcome, SAP_ITERATION_LIMIT);
    sap_solver_destroy(solver);
  }
}

/* Every third contact with a core starts too deep. It counts once, whatever thread solves it, in
 * every solve. */
static void deep_contacts_are_counted_once(void) {
  static int8_t barrier[MOST_CONTACTS];
  static double kappa[MOST_CONTACTS], scale[MOST_CONTACTS];
  uint64_t seed = 72;
  make_heaps(&heap, 3, 20, &seed);
  memset(barrier, SAP_BARRIER_LOG, sizeof barrier);
  for (int32_t i = 0; i < heap.problem.n_contacts; ++i) {
    heap.v_hat_n[i] = i % 3 == 0 ? 2e-3 : -1e-3;
    kappa[i] = 1e-6 / heap.R_n[i];
  }
  heap.problem.barrier = barrier;
  heap.problem.kappa = kappa;
  int32_t shared = 0;
  for (int32_t threads = 1; threads <= 3; threads += FEWER > 1 ? 2 : 1) {
    sap_solver *solver = make_solver(threads);
    REQUIRE(solver);
    for (int32_t repeat = 0; repeat < 6 / FEWER; ++repeat) {
      sap_solution solution = {
          .v = results[0].v, .gamma = results[0].gamma, .barrier_scale = scale};
      int32_t deep = 0;
      REQUIRE(sap_solver_solve(solver, &heap.problem, NULL, &solution, NULL) == SAP_OK);
      for (int32_t i = 0; i < heap.problem.n_contacts; ++i) {
        deep += scale[i] > 1;
      }
      CHECK(deep >= heap.problem.n_contacts / 3);
      CHECK_EQUAL(solution.n_deep, deep);
    }
    shared += threads > 1 ? sap_threads_helpers(solver->threads) : 0;
    sap_solver_destroy(solver);
  }
  CHECK(shared > 0);
}

static void wrong_numbers_are_found_wherever_they_are(void) {
  uint64_t seed = 73;
  make_heaps(&heap, 3, 20, &seed);
  sap_solver *solver = make_solver(3), *dense = make_solver(1);
  REQUIRE(solver && dense);
  static double guess[NV];
  double *const arrays[] = {heap.A,   heap.J,       heap.mu,     heap.R_t,
                            heap.R_n, heap.v_hat_n, heap.v_star, guess};
  const int32_t n = heap.problem.n_contacts;
  const int32_t sizes[] = {36 * BODIES, 18 * n, n, n, n, n, NV, NV};
  static int8_t barrier[MOST_CONTACTS];
  static double kappa[MOST_CONTACTS];
  memset(barrier, SAP_BARRIER_LOG, sizeof barrier);
  for (int32_t i = 0; i < n; ++i) {
    kappa[i] = 1 / heap.R_n[i];
  }
  heap.problem.kappa = kappa;
  static struct results untouched;
  memset(&untouched, 0x55, sizeof untouched);
  sap_solver *const solvers[] = {dense, solver};
  for (size_t a = 0; a < CHECK_COUNT(arrays); ++a) {
    for (int32_t repeat = 0; repeat < 6 / FEWER; ++repeat) {
      const int32_t i = (int32_t)(check_random_bits(&seed) % (uint64_t)sizes[a]);
      const double before = arrays[a][i];
      arrays[a][i] = NAN;
      const double *v_guess = repeat % 2 > 0 || arrays[a] == guess ? guess : NULL;
      heap.problem.barrier = repeat > 3 ? barrier : NULL;
      sap_error errors[2] = {{0}, {0}};
      for (int k = 0; k < 2; ++k) {
        memcpy(&results[k], &untouched, sizeof untouched);
        sap_solution solution = {.v = results[k].v,
                                 .gamma = results[k].gamma,
                                 .v_c = results[k].v_c,
                                 .regions = results[k].regions};
        CHECK_EQUAL(sap_solver_solve(solvers[k], &heap.problem, v_guess, &solution, &errors[k]),
                    SAP_INVALID_ARGUMENT);
        CHECK(memcmp(&results[k], &untouched, sizeof untouched) == 0);
      }
      CHECK_STRING(errors[0].argument, errors[1].argument);
      CHECK_EQUAL(errors[0].index, errors[1].index);
      arrays[a][i] = before;
    }
  }
  heap.problem.barrier = NULL;
  REQUIRE(solve(solver, &heap.problem, 0, &results[0]) == SAP_OK);
  CHECK_EQUAL(results[0].solution.outcome, SAP_CONVERGED);
  sap_solver_destroy(solver);
  sap_solver_destroy(dense);
}

/* ---- solvers, threads, processes ------------------------------------------------------------- */

struct client {
  struct heap heap;
  struct results results, expected;
  sap_solver *solver;
  int same;
};

static void solve_again_and_again(void *context) {
  struct client *client = context;
  client->same = 1;
  for (int32_t repeat = 0; repeat < 3; ++repeat) {
    client->same &= solve(client->solver, &client->heap.problem, 0, &client->results) == SAP_OK &&
                    equal_bits(&client->heap.problem, &client->expected, &client->results);
  }
}

static void two_solvers_work_in_two_threads(void) {
  static struct client clients[2];
  uint64_t seed = 74;
  struct sap_thread threads[2];
  for (int k = 0; k < 2; ++k) {
    make_heaps(&clients[k].heap, 3, 20, &seed);
    sap_solver *dense = make_solver(1);
    REQUIRE(dense);
    REQUIRE(solve(dense, &clients[k].heap.problem, 0, &clients[k].expected) == SAP_OK);
    sap_solver_destroy(dense);
    clients[k].solver = make_solver(3);
    REQUIRE(clients[k].solver);
  }
  for (int k = 0; k < 2; ++k) {
    REQUIRE(sap_thread_start(&threads[k], solve_again_and_again, &clients[k]));
  }
  for (int k = 0; k < 2; ++k) {
    sap_thread_join(&threads[k]);
    CHECK(clients[k].same);
    sap_solver_destroy(clients[k].solver);
  }
}

#ifdef CHECK_CHILDREN
#define FORK_TEST CHECK_TEST(a_solver_works_on_in_a_child_process),

static int solve_in_child(void *context) {
  sap_solver *solver = context;
  const int same = solve(solver, &heap.problem, 0, &results[1]) == SAP_OK &&
                   equal_bits(&heap.problem, &results[0], &results[1]);
  sap_solver_destroy(solver);
  return same;
}

static void a_solver_works_on_in_a_child_process(void) {
  uint64_t seed = 75;
  make_heaps(&heap, 3, 20, &seed);
  sap_solver *solver = make_solver(3);
  REQUIRE(solver);
  REQUIRE(solve(solver, &heap.problem, 0, &results[0]) == SAP_OK);
  CHECK_EQUAL(threads_that_meet(solver->threads), 3);
  CHECK(holds_in_child(solve_in_child, solver));
  REQUIRE(solve(solver, &heap.problem, 0, &results[1]) == SAP_OK);
  CHECK(equal_bits(&heap.problem, &results[0], &results[1]));
  sap_solver_destroy(solver);
}
#else
#define FORK_TEST
#endif

/* ---- interruptions ---- */

struct impatience {
  int asked, patience; /* how often; 1 is answered from `patience` on */
  int others;          /* that were asked */
  const char *caller;  /* its here() */
};

/* Returns an address that no other thread has. */
static const char *here(void) {
  static _Thread_local char place;
  return &place;
}

static int lose_patience(void *context) {
  struct impatience *i = context;
  i->others += here() != i->caller;
  return ++i->asked >= i->patience;
}

/* An interrupted solve asks only the calling thread, and does not affect the next solve. */
static void an_interrupted_solver_works_on(void) {
  uint64_t seed = 77;
  sap_settings settings = sap_settings_default();
  settings.line_search = SAP_LINE_SEARCH_BACKTRACKING;
  settings.armijo_rho = 1 - 1e-9; /* practically endless */
  settings.line_search_max_trials = 1000000;
  for (settings.threads = 1; settings.threads <= 4; ++settings.threads) {
    make_heaps(&heap, 3, settings.threads % 2 ? 20 : 100, &seed);
    sap_solver *solver = NULL;
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    for (int patience = 1; patience <= 3; ++patience) {
      struct impatience impatience = {0, patience, 0, here()};
      sap_solver_set_interrupt(solver, &(sap_interrupt){lose_patience, &impatience, 1e-4});
      CHECK_EQUAL(solve(solver, &heap.problem, 0, &results[0]), SAP_INTERRUPTED);
      CHECK_EQUAL(impatience.asked, patience);
      CHECK_EQUAL(impatience.others, 0);
    }
    sap_settings usual = sap_settings_default();
    usual.threads = settings.threads;
    REQUIRE(sap_solver_reset(solver, &usual, NULL) == SAP_OK); /* asks nobody */
    REQUIRE(solve(solver, &heap.problem, 0, &results[0]) == SAP_OK);
    sap_solver *fresh = make_solver(1);
    REQUIRE(fresh);
    REQUIRE(solve(fresh, &heap.problem, 0, &results[1]) == SAP_OK);
    CHECK(equal_bits(&heap.problem, &results[0], &results[1]));
    sap_solver_destroy(fresh);
    sap_solver_destroy(solver);
  }
}

/* The callback is not called before the interval is over, and never in a shorter solve. */
static void nobody_is_asked_too_early(void) {
  uint64_t seed = 78;
  make_heaps(&heap, 3, 20, &seed);
  sap_solver *solver = make_solver(2);
  REQUIRE(solver);
  struct impatience impatience = {0, 1, 0, here()};
  sap_solver_set_interrupt(solver, &(sap_interrupt){lose_patience, &impatience, 1e9});
  CHECK_EQUAL(solve(solver, &heap.problem, 0, &results[0]), SAP_OK);
  CHECK_EQUAL(impatience.asked, 0);
  sap_solver_set_interrupt(solver, &(sap_interrupt){lose_patience, &impatience, 0});
  CHECK_EQUAL(solve(solver, &heap.problem, 0, &results[0]), SAP_INTERRUPTED);
  sap_solver_set_interrupt(solver, NULL);
  CHECK_EQUAL(solve(solver, &heap.problem, 0, &results[0]), SAP_OK);
  CHECK_EQUAL(impatience.asked, 1);
  sap_solver_destroy(solver);
}

static void every_failed_allocation_is_a_clean_error(void) {
  uint64_t seed = 76;
  make_heaps(&heap, 3, 20, &seed);
  sap_settings settings = sap_settings_default();
  settings.threads = 3;
  long failures = 0;
  for (sap_status status = SAP_OUT_OF_MEMORY; status != SAP_OK; ++failures) {
    struct counter counter = {0, 0, failures};
    const sap_allocator allocator = {counting_allocate, counting_release, &counter};
    sap_solver *solver = NULL;
    status = sap_solver_create(&solver, &settings, &allocator, NULL);
    if (status == SAP_OK) {
      status = solve(solver, &heap.problem, 0, &results[0]);
    }
    CHECK(status == SAP_OK || status == SAP_OUT_OF_MEMORY);
    if (status == SAP_OK) {
      /* once it stands, nothing is allocated: the threads neither */
      const long standing = counter.allocations;
      CHECK_EQUAL(solve(solver, &heap.problem, 0, &results[0]), SAP_OK);
      CHECK_EQUAL(counter.allocations, standing);
    }
    sap_solver_destroy(solver);
    CHECK_EQUAL(counter.live, 0);
    REQUIRE(failures < 100);
  }
  /* the solver, its threads, and the blocks of the workspace */
  CHECK(failures > 4);
}

static const check_test tests[] = {
    CHECK_TEST(same_bits_for_any_number_of_threads),
    CHECK_TEST(statistics_are_those_of_all_islands),
    CHECK_TEST(deep_contacts_are_counted_once),
    CHECK_TEST(wrong_numbers_are_found_wherever_they_are),
    CHECK_TEST(two_solvers_work_in_two_threads),
    CHECK_TEST(an_interrupted_solver_works_on),
    CHECK_TEST(nobody_is_asked_too_early),
    FORK_TEST CHECK_TEST(every_failed_allocation_is_a_clean_error),
};
CHECK_FILE(test_islands, tests);
