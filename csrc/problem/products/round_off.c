/* Bounds on the rounding errors of J^T gamma, patch by patch, from those of v_c: see
 * certificate.h. */
#include <math.h>
#include <string.h>

#include "problem/products/round_off.h"
#include "problem/products/packed_rows.h"

/* ---- patches that are short: by the largest entries, of tangential and of normal rows ---- */

/* adds peak^T r of one side */
INLINE void add_reach(const struct side *side, const double *peak, const double *r, simd sum[2]) {
  for (int k = 0; k < SHORT_VECTORS; ++k, peak += SIMD_WIDTH) {
    const simd r_k = simd_load_part(r + side->scalar + k * SIMD_WIDTH, part_of(side->n, k));
    sum[0] += simd_load(peak) * r_k;
    sum[1] += simd_load(peak + SAP_SHORT) * r_k;
  }
}

/* e += peak error of one side */
INLINE void add_peaks(const struct side *side, const double *peak, const simd error[2], double *e) {
  for (int k = 0; k < SHORT_VECTORS; ++k, peak += SIMD_WIDTH) {
    const simd_mask part = part_of(side->n, k);
    double *to = e + side->scalar + k * SIMD_WIDTH;
    simd_store_part(to,
                    simd_load_part(to, part) + error[0] * simd_load(peak) +
                        error[1] * simd_load(peak + SAP_SHORT),
                    part);
  }
}

INLINE void bound_short(const struct sap_jacobian *J, const struct sap_patch *patch,
                        const struct sap_pool *pool, const double *r, double roundings,
                        double terms, double *e) {
  const int n_sides = patch->high < 0 ? 1 : 2;
  const struct side low = side_of(J, patch, 0), high = side_of(J, patch, n_sides - 1);
  const double *peak_low = peak_of(J, patch, 0), *peak_high = peak_of(J, patch, 1);
  simd reach[2] = {simd_zero(), simd_zero()}, sum[2] = {simd_zero(), simd_zero()};
  add_reach(&low, peak_low, r, reach);
  if (n_sides == 2) {
    add_reach(&high, peak_high, r, reach);
  }
  /* d: error of v_hat - v_c; that of gamma is d_t/R_t + d_n/sqrt(R_t R_n) along t, and likewise
   * along n. The projection and the sums of J^T gamma have round-off of their own. */
  const double row = (low.n + high.n + 6 + roundings) * sap_u;
  const simd v_t = simd_all(row * simd_sum(reach[0])), v_n = simd_all(row * simd_sum(reach[1]));
  const simd target = simd_all(4 * sap_u), impulse = simd_all((16 + terms) * sap_u);
  for (int32_t i = patch->begin; i < patch->end; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(patch->end - i);
    const simd inverse_R_t = simd_load_part(pool->contact.inverse_R_t + i, part);
    const simd inverse_R_n = simd_load_part(pool->contact.inverse_R_n + i, part);
    const simd mixed = simd_sqrt(inverse_R_t * inverse_R_n);
    const simd d_t = v_t + target * (simd_abs(simd_load_part(pool->v_hat[0] + i, part)) +
                                     simd_abs(simd_load_part(pool->v_hat[1] + i, part)));
    const simd d_n = v_n + target * simd_abs(simd_load_part(pool->v_hat[2] + i, part));
    const simd gamma_t = simd_abs(simd_load_part(pool->gamma[0] + i, part)) +
                         simd_abs(simd_load_part(pool->gamma[1] + i, part));
    const simd gamma_n = simd_abs(simd_load_part(pool->gamma[2] + i, part));
    sum[0] += inverse_R_t * d_t + mixed * d_n + impulse * gamma_t;
    sum[1] += inverse_R_n * d_n + mixed * d_t + impulse * gamma_n;
  }
  const simd error[2] = {simd_all(simd_sum(sum[0])), simd_all(simd_sum(sum[1]))};
  add_peaks(&low, peak_low, error, e);
  if (n_sides == 2) {
    add_peaks(&high, peak_high, error, e);
  }
}

/* ---- all others: entry by entry ---- */

/* |J| r of the rows of triple i, counted from the first of its patch */
INLINE void reach_of_rows(const struct side *side, int32_t i, const double *r, simd sum[3]) {
  const double *J = side->J + 3 * (int64_t)i * side->stride;
  for (uint64_t left = side->chunks[i]; left != 0; left &= left - 1) {
    const int32_t c = __builtin_ctzll(left);
    for (int32_t k = first_vector(side->n, c); k < last_vector(side->n, c); ++k) {
      const simd r_k = simd_load_part(r + side->scalar + k * SIMD_WIDTH, part_of(side->n, k));
      for (int row = 0; row < 3; ++row) {
        const double *at = J + row * (int64_t)side->stride + k * SIMD_WIDTH;
        sum[row] += simd_abs(simd_load(at)) * r_k;
      }
    }
  }
}

/* e += |J|^T x of one side of a patch */
INLINE void add_side(const struct side *side, int32_t n_triples, double *const x[3], int32_t first,
                     double *e) {
  for (int32_t k = 0; k < vectors_of(side->n); ++k) {
    const simd_mask part = part_of(side->n, k);
    const int32_t c = k * SIMD_WIDTH / sap_chunk(side->n);
    double *to = e + side->scalar + k * SIMD_WIDTH;
    const double *J = side->J + k * SIMD_WIDTH;
    simd sum[3] = {simd_load_part(to, part), simd_zero(), simd_zero()};
    for (int32_t i = 0; i < n_triples; ++i, J += 3 * (int64_t)side->stride) {
      if (!(side->chunks[i] >> c & 1)) {
        continue;
      }
      for (int r = 0; r < 3; ++r) {
        sum[r] += simd_abs(simd_load(J + r * (int64_t)side->stride)) * simd_all(x[r][first + i]);
      }
    }
    simd_store_part(to, sum[0] + (sum[1] + sum[2]), part);
  }
}

INLINE void bound_long(const struct sap_jacobian *J, const struct sap_patch *patch,
                       struct sap_pool *pool, const double *r, double roundings, double terms,
                       double *e) {
  const int n_sides = patch->high < 0 ? 1 : 2;
  const struct side low = side_of(J, patch, 0), high = side_of(J, patch, n_sides - 1);
  double *const *error = pool->dv_c;
  for (int32_t i = patch->begin; i < patch->end; ++i) {
    simd sum[3] = {simd_zero(), simd_zero(), simd_zero()};
    reach_of_rows(&low, i - patch->begin, r, sum);
    if (n_sides == 2) {
      reach_of_rows(&high, i - patch->begin, r, sum);
    }
    simd_sum_three(sum, error[0] + i, error[1] + i, error[2] + i);
  }
  sap_laws[patch->law]->bound(pool, patch->begin, patch->end,
                              (low.n + high.n + 2 + roundings) * sap_u, terms * sap_u);
  add_side(&low, patch->end - patch->begin, error, patch->begin, e);
  if (n_sides == 2) {
    add_side(&high, patch->end - patch->begin, error, patch->begin, e);
  }
}

/* ---- rows of one entry ---- */

INLINE void bound_diagonal(const struct sap_jacobian *J, const struct sap_patch *patch,
                           struct sap_pool *pool, const double *r, double roundings, double terms,
                           double *e) {
  double *const *error = pool->dv_c;
  for (int row = 0; row < 3; ++row) {
    for (int32_t i = patch->begin; i < patch->end; ++i) {
      error[row][i] = fabs(J->entry[row][i]) * r[J->scalar[row][i]];
    }
  }
  sap_laws[patch->law]->bound(pool, patch->begin, patch->end, (3 + roundings) * sap_u,
                              terms * sap_u);
  for (int row = 0; row < 3; ++row) {
    for (int32_t i = patch->begin; i < patch->end; ++i) {
      e[J->scalar[row][i]] += fabs(J->entry[row][i]) * error[row][i];
    }
  }
}

void SAP_OF_ISA(sap_bound_impulse_)(const struct sap_jacobian *J, const struct sap_island *island,
                                    struct sap_pool *pool, const double *reach, int32_t n_steps,
                                    double *e) {
  const double roundings = 2.0 * n_steps; /* of v and v_c */
  /* terms that are summed into one velocity */
  const double terms = 3.0 * (island->triple_end - island->triple_begin) + 2;
  memset(e + island->scalar_begin, 0,
         (size_t)(island->scalar_end - island->scalar_begin) * sizeof *e);
  for (int32_t p = island->patch_begin; p < island->patch_end; ++p) {
    const struct sap_patch *patch = &J->graph->patch[p];
    if (patch->is_diagonal) {
      bound_diagonal(J, patch, pool, reach, roundings, terms, e);
    } else if (is_short(J, patch)) {
      bound_short(J, patch, pool, reach, roundings, terms, e);
    } else {
      bound_long(J, patch, pool, reach, roundings, terms, e);
    }
  }
}
