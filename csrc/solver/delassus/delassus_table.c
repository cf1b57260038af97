/* Carves the memory of a Delassus problem, and selects the variant of delassus_newton.c, which is
 * compiled once per instruction set. */
#include <stddef.h>

#include "solver/delassus/delassus_newton.h"

sap_impulses_function sap_impulses_find_baseline;
#ifdef SAP_MULTI_ISA
sap_impulses_function sap_impulses_find_avx2, sap_impulses_find_avx512;
#endif

sap_impulses_function *sap_impulses_of(int32_t set) {
#ifdef SAP_MULTI_ISA
  sap_impulses_function *const functions[] = {sap_impulses_find_baseline, sap_impulses_find_avx2,
                                              sap_impulses_find_avx512};
  return functions[set];
#else
  return set == 0 ? sap_impulses_find_baseline : NULL;
#endif
}

void sap_impulses_carve(struct sap_impulses *p, struct sap_arena *arena, size_t contacts, size_t m,
                        size_t rows) {
  const size_t ld = (size_t)sap_impulses_stride((int32_t)m);
  p->first = sap_arena_take(arena, contacts + 1, sizeof(int32_t));
  p->W = sap_arena_take(arena, ld * m, sizeof(double));
  p->u = sap_arena_take(arena, ld, sizeof(double));
  p->mu = sap_arena_take(arena, contacts, sizeof(double));
  p->lower = sap_arena_take(arena, rows, sizeof(double));
  p->upper = sap_arena_take(arena, rows, sizeof(double));
  p->gamma = sap_arena_take(arena, ld, sizeof(double));
  p->diagonal = sap_arena_take(arena, ld, sizeof(double));
  p->inverse = sap_arena_take(arena, ld, sizeof(double));
  p->trace = sap_arena_take(arena, contacts, sizeof(double));
  p->inverse_trace = sap_arena_take(arena, contacts, sizeof(double));
  p->before = sap_arena_take(arena, 2 * m, sizeof(double));
  p->residual = sap_arena_take(arena, ld, sizeof(double));
  p->kind = sap_arena_take(arena, m, 1);
  p->factored = sap_arena_take(arena, m, 1);
  p->listed = sap_arena_take(arena, m + 1, sizeof(int32_t));
  p->panel = sap_arena_take(arena, ld * m, sizeof(double));
  p->K = sap_arena_take(arena, ld * m, sizeof(double));
  p->slides = sap_arena_take(arena, contacts, sizeof(int32_t));
  p->slide = sap_arena_take(arena, contacts, sizeof *p->slide);
  p->system = sap_arena_take(arena, ld * m, sizeof(double));
  p->solution = sap_arena_take(arena, m, sizeof(double));
  p->times = sap_arena_take(arena, 2 * m, sizeof(double));
  p->step = sap_arena_take(arena, 2 * ld, sizeof(double));
}
