#include "constraints/pool.h"

void sap_pool_take(struct sap_arena *arena, int32_t n, size_t count, double **const arrays[]) {
  for (size_t i = 0; i < count; ++i) {
    *arrays[i] = sap_arena_take(arena, (size_t)n, sizeof(double));
  }
}

void sap_pool_carve_common(struct sap_pool *pool, struct sap_arena *arena, int32_t n) {
  struct sap_contacts *contact = &pool->contact;
  double **const arrays[] = {
      &contact->mu,          &contact->R_t,    &contact->R_n,     &contact->inverse_R_t,
      &contact->inverse_R_n, &contact->mu_hat, &contact->share,   &pool->v_hat[0],
      &pool->v_hat[1],       &pool->v_hat[2],  &pool->y[0],       &pool->y[1],
      &pool->y[2],           &pool->v_c[0],    &pool->v_c[1],     &pool->v_c[2],
      &pool->dv_c[0],        &pool->dv_c[1],   &pool->dv_c[2],    &pool->gamma[0],
      &pool->gamma[1],       &pool->gamma[2],  &contact->slip[0], &contact->slip[1],
      &pool->G[0],           &pool->G[1],      &pool->G[2],       &pool->G[3],
      &pool->G[4],           &pool->G[5],      &pool->dual[0],    &pool->dual[1],
      &pool->dual[2],        &contact->bound,  &contact->given,
  };
  sap_pool_take(arena, n, sizeof arrays / sizeof *arrays, arrays);
  contact->region = sap_arena_take(arena, (size_t)n, sizeof(int8_t));
}
