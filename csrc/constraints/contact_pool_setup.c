#include "constraints/contact_pool.h"

#include <stddef.h>

extern const struct sap_pool_loops sap_pool_loops_baseline;
#ifdef SAP_MULTI_ISA
extern const struct sap_pool_loops sap_pool_loops_avx2;
extern const struct sap_pool_loops sap_pool_loops_avx512;
#endif

const struct sap_pool_loops *sap_pool_loops_of(int32_t set) {
#ifdef SAP_MULTI_ISA
  const struct sap_pool_loops *const loops[] = {&sap_pool_loops_baseline, &sap_pool_loops_avx2,
                                                &sap_pool_loops_avx512};
  return loops[set];
#else
  return set == 0 ? &sap_pool_loops_baseline : NULL;
#endif
}

void sap_pool_carve(struct sap_contact_pool *pool, struct sap_arena *arena, int32_t n) {
  double **const arrays[] = {
      &pool->mu,       &pool->R_t,      &pool->R_n,      &pool->inverse_R_t, &pool->inverse_R_n,
      &pool->mu_hat,   &pool->share,    &pool->v_hat[0], &pool->v_hat[1],    &pool->v_hat[2],
      &pool->y[0],     &pool->y[1],     &pool->y[2],     &pool->v_c[0],      &pool->v_c[1],
      &pool->v_c[2],   &pool->dv_c[0],  &pool->dv_c[1],  &pool->dv_c[2],     &pool->gamma[0],
      &pool->gamma[1], &pool->gamma[2], &pool->slip[0],  &pool->slip[1],     &pool->G[0],
      &pool->G[1],     &pool->G[2],     &pool->G[3],     &pool->G[4],        &pool->G[5],
      &pool->dual[0],  &pool->dual[1],  &pool->dual[2],
  };
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
    *arrays[i] = sap_arena_take(arena, (size_t)n, sizeof(double));
  }
  pool->region = sap_arena_take(arena, (size_t)n, sizeof(int8_t));
}
