/* Tests the division of runs among threads: each run goes to one thread, and all threads have about
 * the same work. */
#include "base/system.h"
#include "check.h"
#include "solver/islands/sharing.h"

enum { MOST_RUNS = 200, MOST_THREADS = 24 };

struct room {
  struct sap_sharing sharing;
  struct sap_run run[MOST_RUNS];
  struct sap_queue queue[MOST_THREADS];
  int32_t order[MOST_RUNS], home[MOST_RUNS];
};

/* Makes so many runs; the first ones are expensive. */
static void make_room(struct room *room, int32_t n_threads, int32_t n_runs, int32_t n_expensive,
                      uint64_t *seed) {
  memset(room, 0, sizeof *room);
  room->sharing = (struct sap_sharing){.n_threads = n_threads,
                                       .run = room->run,
                                       .home = room->home,
                                       .queue = room->queue,
                                       .order = room->order,
                                       .n_runs = n_runs,
                                       .n_expensive = n_expensive};
  for (int32_t r = 0; r < n_runs; ++r) {
    const double work = check_random(seed, 1, 2);
    room->run[r] =
        (struct sap_run){.begin = r, .end = r + 1, .work = r < n_expensive ? 20 * work : work};
  }
}

/* Returns the run that a thread takes next, or -1. */
static int32_t take(struct room *room, int32_t thread) {
  const struct sap_run *run = sap_sharing_take(&room->sharing, thread);
  return run ? run->begin : -1;
}

/* Threads take turns by chance. */
static void each_run_comes_to_one_thread(void) {
  uint64_t seed = 1;
  static struct room room;
  for (int trial = 0; trial < 300; ++trial) {
    const int32_t n_threads = 1 + (int32_t)check_random(&seed, 0, MOST_THREADS);
    const int32_t n_runs = (int32_t)check_random(&seed, 0, MOST_RUNS);
    const int32_t n_expensive = (int32_t)check_random(&seed, 0, n_runs < 9 ? n_runs : 9);
    make_room(&room, n_threads, n_runs, n_expensive, &seed);
    sap_sharing_divide(&room.sharing);
    int taken[MOST_RUNS] = {0}, left = n_threads;
    while (left > 0) {
      const int32_t run = take(&room, (int32_t)check_random(&seed, 0, n_threads));
      if (run >= 0) {
        ++taken[run];
      } else {
        --left;
      }
    }
    for (int32_t r = 0; r < n_runs; ++r) {
      CHECK(taken[r] == 1);
    }
  }
}

/* Cheap runs balance the queues after expensive ones. */
static void threads_have_as_much_to_do(void) {
  uint64_t seed = 1;
  static struct room room;
  for (int trial = 0; trial < 300; ++trial) {
    const int32_t n_threads = 2 + (int32_t)check_random(&seed, 0, MOST_THREADS - 1);
    make_room(&room, n_threads, MOST_RUNS, (int32_t)check_random(&seed, 0, n_threads + 1), &seed);
    sap_sharing_divide(&room.sharing);
    double least = INFINITY, most = 0, sum = 0, all = 0;
    for (int32_t k = 0; k < n_threads; ++k) {
      const struct sap_queue *queue = &room.queue[k];
      const int32_t n = (int32_t)(queue->left & UINT32_MAX) - (int32_t)(queue->left >> 32);
      least = fmin(least, queue->work);
      most = n > queue->n_expensive ? fmax(most, queue->work) : most;
      sum += queue->work;
    }
    for (int32_t r = 0; r < MOST_RUNS; ++r) {
      all += room.run[r].work;
    }
    CHECK_CLOSE(sum, all, 1e-12 * all);
    /* each border is within half a run, 1, of where it should be; without cheap runs there may be
     * more */
    CHECK(most - least <= 4);
  }
}

/* The same costs lead to the same division: a thread takes its own runs in the order of their
 * islands. */
static void neighbours_stay_together(void) {
  uint64_t seed = 1;
  static struct room room;
  make_room(&room, 2, 64, 0, &seed);
  for (int again = 0; again < 2; ++again) {
    sap_sharing_divide(&room.sharing);
    const int32_t middle = (int32_t)(room.queue[0].left & UINT32_MAX);
    CHECK(28 < middle && middle < 36);
    for (int32_t r = 0; r < 64; ++r) {
      CHECK(take(&room, r >= middle) == r);
    }
    CHECK(take(&room, 0) == -1 && take(&room, 1) == -1);
  }
}

/* Rounding of sums must not go on for ever. */
static void queues_that_tie_are_filled(void) {
  const double expensive[] = {0x1.6236b20cbe699p+4, 0x1.6236b20cbe698p+5, 0x1.6236b20cbe698p+5,
                              0x1.6236b20cbe699p+5, 0x1.1b5ef4d6febadp+2};
  uint64_t seed = 1;
  static struct room room;
  make_room(&room, 5, 6, 5, &seed);
  for (int32_t r = 0; r < 5; ++r) {
    room.run[r].work = expensive[r];
  }
  room.run[5].work = 0x1.efe62c783dc71p+5;
  sap_sharing_divide(&room.sharing);
  double sum = 0;
  for (int32_t k = 0; k < 5; ++k) {
    sum += room.queue[k].work;
  }
  CHECK(sum > 200);
}

/* Who is done helps from the end, which its owner comes to last. */
static void others_take_from_the_end(void) {
  uint64_t seed = 1;
  static struct room room;
  make_room(&room, 2, 64, 0, &seed);
  sap_sharing_divide(&room.sharing);
  const int32_t middle = (int32_t)(room.queue[0].left & UINT32_MAX);
  for (int32_t r = 0; r < middle; ++r) {
    CHECK(take(&room, 0) == r);
  }
  CHECK(take(&room, 0) == 63);
  CHECK(take(&room, 1) == middle);
  CHECK(take(&room, 0) == 62);
}

/* Expensive runs come first in their queues, and to those that have least. */
static void expensive_runs_come_first(void) {
  uint64_t seed = 1;
  static struct room room;
  make_room(&room, 3, 60, 4, &seed);
  for (int32_t r = 0; r < 4; ++r) {
    room.run[r].work = 100 - r;
  }
  sap_sharing_divide(&room.sharing);
  CHECK(take(&room, 0) == 0);
  CHECK(take(&room, 1) == 1);
  CHECK(take(&room, 2) == 2);
  CHECK(take(&room, 2) == 3); /* 98 is the least of three */
  CHECK(take(&room, 0) == 4);
  CHECK(4 < take(&room, 2) && room.queue[2].work == 98 + 97); /* all that is cheap went to others */
}

enum { ISLANDS = 500 };

/* Islands that are estimated by their triples alone. */
static void runs_cover_the_islands(void) {
  uint64_t seed = 2;
  static struct sap_island island[ISLANDS];
  static struct sap_component component[ISLANDS];
  static double work[ISLANDS];
  static struct sap_run run[ISLANDS];
  for (int trial = 0; trial < 50; ++trial) {
    const int32_t n = 1 + (int32_t)check_random(&seed, 0, ISLANDS - 1);
    struct sap_graph graph = {.n_islands = n, .island = island, .tree = {.component = component}};
    struct sap_sharing sharing = {
        .n_threads = 2 + (int32_t)check_random(&seed, 0, 6), .work = work, .run = run};
    for (int32_t i = 0; i < n; ++i) {
      const int32_t triples = check_random(&seed, 0, 1) < 0.02 ? 2000 : 4;
      island[i].triple_begin = i > 0 ? island[i - 1].triple_end : 0;
      island[i].triple_end = island[i].triple_begin + triples;
    }
    sap_sharing_plan(&sharing, &graph);
    int covered[ISLANDS] = {0};
    double total = 0;
    for (int32_t r = 0; r < sharing.n_runs; ++r) {
      total += run[r].work;
      for (int32_t i = run[r].begin; i < run[r].end; ++i) {
        ++covered[i];
      }
      const int expensive = run[r].work >= sharing.total / sharing.n_threads / 4;
      CHECK(expensive == (r < sharing.n_expensive));
      if (r > 0 && r < sharing.n_expensive) {
        CHECK(run[r].work < 2 * run[r - 1].work);
      } else if (r > sharing.n_expensive) {
        CHECK(run[r].begin >= run[r - 1].end);
      }
    }
    for (int32_t i = 0; i < n; ++i) {
      CHECK(covered[i] == 1);
    }
    CHECK_CLOSE(total, sharing.total, 1e-9 * total);
    CHECK(sap_sharing_pays(&sharing) ==
          (total - fmax(sharing.longest, total / sharing.n_threads) > fmax(6e5, 0.05 * total)));
  }
}

struct taker {
  struct room *room;
  int32_t thread;
  int32_t n;
  int32_t taken[MOST_RUNS];
};

static void take_all(void *context) {
  struct taker *taker = context;
  for (int32_t run; (run = take(taker->room, taker->thread)) >= 0;) {
    taker->taken[taker->n++] = run;
  }
}

static void threads_take_at_the_same_time(void) {
  uint64_t seed = 3;
  static struct room room;
  static struct taker takers[4];
  for (int trial = 0; trial < 200; ++trial) {
    make_room(&room, 4, MOST_RUNS, 3, &seed);
    sap_sharing_divide(&room.sharing);
    struct sap_thread threads[4];
    for (int32_t k = 0; k < 4; ++k) {
      takers[k] = (struct taker){.room = &room, .thread = k};
      REQUIRE(sap_thread_start(&threads[k], take_all, &takers[k]));
    }
    int taken[MOST_RUNS] = {0};
    for (int32_t k = 0; k < 4; ++k) {
      sap_thread_join(&threads[k]);
      for (int32_t j = 0; j < takers[k].n; ++j) {
        ++taken[takers[k].taken[j]];
      }
    }
    for (int32_t r = 0; r < MOST_RUNS; ++r) {
      CHECK(taken[r] == 1);
    }
  }
}

static const check_test tests[] = {
    CHECK_TEST(each_run_comes_to_one_thread), CHECK_TEST(threads_have_as_much_to_do),
    CHECK_TEST(neighbours_stay_together),     CHECK_TEST(others_take_from_the_end),
    CHECK_TEST(expensive_runs_come_first),    CHECK_TEST(queues_that_tie_are_filled),
    CHECK_TEST(runs_cover_the_islands),       CHECK_TEST(threads_take_at_the_same_time),
};
CHECK_FILE(test_sharing, tests);
