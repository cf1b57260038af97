/* This module defines the inside of a mesh. */
#ifndef SAPWOOD_FEM_MESH_H
#define SAPWOOD_FEM_MESH_H

#include "base/memory.h"
#include "sapwood/fem.h"

struct fem_mesh {
  sap_allocator allocator;
  struct sap_block block;
  fem_arrays arrays; /* views of the pieces below */
  double *vertices, *gradients, *volume;
  int32_t *tetrahedra, *tetra_pairs, *pairs;
};

#endif
