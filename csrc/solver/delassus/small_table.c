/* Carves the memory of a small problem, and selects the variant of small_problem.c, which is
 * compiled once per instruction set. */
#include "solver/delassus/small_problem.h"

#define DECLARE(isa)                                    \
  sap_small_function sap_small_solve_##isa;             \
  sap_small_operator_function sap_small_operator_##isa; \
  sap_small_multiply_function sap_small_multiply_##isa;
#define LIST(isa) {sap_small_solve_##isa, sap_small_operator_##isa, sap_small_multiply_##isa}

DECLARE(baseline)
#ifdef SAP_MULTI_ISA
DECLARE(avx2)
DECLARE(avx512)
#endif

static const struct sap_small_loops loops[] = {
    LIST(baseline),
#ifdef SAP_MULTI_ISA
    LIST(avx2),
    LIST(avx512),
#endif
};

const struct sap_small_loops *sap_small_loops_of(int32_t set) {
  return set < (int32_t)(sizeof loops / sizeof *loops) ? &loops[set] : NULL;
}

void sap_small_carve(struct sap_small_problem *p, struct sap_arena *arena) {
  const size_t n = SAP_SMALL_STRIDE;
  double **const vectors[] = {&p->q,    &p->mu,       &p->gamma, &p->u,     &p->step, &p->change,
                              &p->best, &p->solution, &p->rho,   &p->sharp, &p->slip};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    *vectors[i] = sap_arena_take(arena, n, sizeof(double));
  }
  p->times = sap_arena_take(arena, 2 * n, sizeof(double));
  p->inverse = sap_arena_take(arena, 9 * SAP_SMALL_MOST, sizeof(double));
  p->M = sap_arena_take(arena, n * SAP_SMALL_UNKNOWNS, sizeof(double));
  p->rows = sap_arena_take(arena, n * SAP_SMALL_UNKNOWNS, sizeof(double));
  p->system = sap_arena_take(arena, n * n, sizeof(double));
  p->listed = sap_arena_take(arena, SAP_SMALL_MOST, sizeof(int32_t));
  p->first = sap_arena_take(arena, SAP_SMALL_MOST, sizeof(int32_t));
}
