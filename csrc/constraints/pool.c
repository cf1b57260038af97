#include "constraints/pool.h"

#include "constraints/clamp.h"
#include "constraints/contact_law.h"
#include "constraints/barrier_law.h"

#define DECLARE(law)                                      \
  extern const struct sap_law_loops sap_##law##_baseline; \
  extern const struct sap_law_loops sap_##law##_avx2;     \
  extern const struct sap_law_loops sap_##law##_avx512;
DECLARE(contact_loops)
DECLARE(barrier_loops)
DECLARE(clamp_loops)

#ifdef SAP_MULTI_ISA
#define VARIANTS(law) {&sap_##law##_baseline, &sap_##law##_avx2, &sap_##law##_avx512}
#else
#define VARIANTS(law) {&sap_##law##_baseline, NULL, NULL}
#endif

const struct sap_law sap_laws[SAP_N_LAWS] = {
    [SAP_LAW_CONTACT] = {VARIANTS(contact_loops), sap_contacts_difference, sap_contacts_stick,
                         sap_contacts_bound, sap_contacts_complementarity, NULL, NULL},
    [SAP_LAW_BARRIER] = {VARIANTS(barrier_loops), sap_barriers_difference, sap_barriers_stick,
                         sap_barriers_bound, sap_barriers_complementarity, sap_barriers_wall,
                         sap_barriers_fit},
    [SAP_LAW_CLAMP] = {VARIANTS(clamp_loops), sap_clamps_difference, sap_clamps_stick,
                       sap_clamps_bound, sap_clamps_complementarity, NULL, NULL},
};

static void take(struct sap_arena *arena, int32_t n, size_t count, double **const arrays[]) {
  for (size_t i = 0; i < count; ++i) {
    *arrays[i] = sap_arena_take(arena, (size_t)n, sizeof(double));
  }
}

void sap_pool_carve(struct sap_pool *pool, struct sap_arena *arena, int32_t n, int any_barriers,
                    int any_clamped) {
  double **const all[] = {
      &pool->mu,       &pool->R_t,      &pool->R_n,      &pool->inverse_R_t, &pool->inverse_R_n,
      &pool->mu_hat,   &pool->share,    &pool->v_hat[0], &pool->v_hat[1],    &pool->v_hat[2],
      &pool->y[0],     &pool->y[1],     &pool->y[2],     &pool->v_c[0],      &pool->v_c[1],
      &pool->v_c[2],   &pool->dv_c[0],  &pool->dv_c[1],  &pool->dv_c[2],     &pool->gamma[0],
      &pool->gamma[1], &pool->gamma[2], &pool->slip[0],  &pool->slip[1],     &pool->G[0],
      &pool->G[1],     &pool->G[2],     &pool->G[3],     &pool->G[4],        &pool->G[5],
      &pool->dual[0],  &pool->dual[1],  &pool->dual[2],
  };
  double **const clamped[] = {
      &pool->R[0],         &pool->R[1],         &pool->R[2],     &pool->inverse_R[0],
      &pool->inverse_R[1], &pool->inverse_R[2], &pool->lower[0], &pool->lower[1],
      &pool->lower[2],     &pool->upper[0],     &pool->upper[1], &pool->upper[2],
  };
  double **const barriers[] = {&pool->kappa_problem, &pool->kappa_given,    &pool->kappa,
                               &pool->inverse_kappa, &pool->barrier_lambda, &pool->dual_size};
  take(arena, n, sizeof all / sizeof *all, all);
  take(arena, any_barriers ? n : 0, sizeof barriers / sizeof *barriers, barriers);
  take(arena, any_clamped ? n : 0, sizeof clamped / sizeof *clamped, clamped);
  pool->region = sap_arena_take(arena, (size_t)n, sizeof(int8_t));
}
