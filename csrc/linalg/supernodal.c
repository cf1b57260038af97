#include "linalg/supernodal.h"

/* position of the node that holds a scalar of supernode s */
static int32_t node_of_scalar(const struct sap_junction_tree *tree, const struct sap_supernode *s,
                              int32_t scalar) {
  int32_t node = s->node_begin;
  while (tree->node_scalar[node + 1] <= scalar) {
    ++node;
  }
  return node;
}

int32_t sap_supernodal_factor(const struct sap_junction_tree *tree,
                              const struct sap_component *component,
                              const struct sap_kernels *kernels, double *values) {
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    double *panel = values + s->values;
    const int32_t done = kernels->factor(s->ld, s->n_cols, panel, s->ld);
    if (done < s->n_cols) {
      return node_of_scalar(tree, s, s->scalar + done);
    }
    /* H_rc -= B_r B_c^T for every pair of rows above */
    for (int32_t u = s->update_begin; u < s->update_end; ++u) {
      const struct sap_update *update = &tree->update[u];
      kernels->multiply(update->n_rows, update->n_cols, s->n_cols, -1, panel + update->row, s->ld,
                        panel + update->col, s->ld, values + update->target, update->target_ld,
                        update->row == update->col);
    }
  }
  return -1;
}

void sap_supernodal_solve(const struct sap_junction_tree *tree,
                          const struct sap_component *component, const struct sap_kernels *kernels,
                          const double *values, double *x, double *scratch) {
  /* L y = x */
  for (int32_t i = component->supernode_begin; i < component->supernode_end; ++i) {
    const struct sap_supernode *s = &tree->supernode[i];
    kernels->solve_forward(s->ld, s->n_cols, values + s->values, s->ld, x + s->scalar, scratch);
    const double *t = scratch;
    for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
      double *rows = x + tree->segment[g].scalar;
      for (int32_t k = 0; k < tree->segment[g].length; ++k) {
        rows[k] -= *t++;
      }
    }
  }
  /* L^T x = y */
  for (int32_t i = component->supernode_end - 1; i >= component->supernode_begin; --i) {
    const struct sap_supernode *s = &tree->supernode[i];
    double *t = scratch;
    for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
      const double *rows = x + tree->segment[g].scalar;
      for (int32_t k = 0; k < tree->segment[g].length; ++k) {
        *t++ = rows[k];
      }
    }
    kernels->solve_backward(s->ld, s->n_cols, values + s->values, s->ld, x + s->scalar, scratch);
  }
}
