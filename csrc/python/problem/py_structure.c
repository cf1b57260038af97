/* sap_structure_find for Python: the structure as arrays. */
#include "python/parts.h"
#include "problem/graph/structure.h"

#include "python/errors.h"
#include "python/problem/py_problem.h"

/* Returns a new array (n, columns). */
static PyArrayObject *table(int32_t n, int columns) {
  return sapwood_new(NPY_INT32, SAPWOOD_SHAPE(n, columns));
}

/* Returns a new dict with order (n_nodes, 1), supernodes (n, 3), rows (n, 2) and edges (n, 2). */
static PyObject *structure_dict(const struct sap_graph *graph) {
  const struct sap_junction_tree *tree = &graph->tree;
  PyArrayObject *order = table(graph->n_nodes, 1), *supernodes = table(tree->n_supernodes, 3);
  PyArrayObject *rows = table(tree->n_row_nodes, 2), *edges = table(graph->n_edges, 2);
  PyObject *dict = NULL;
  if (order != NULL && supernodes != NULL && rows != NULL && edges != NULL) {
    for (int32_t i = 0; i < graph->n_nodes; i++) {
      sapwood_int32s(order)[i] = graph->node_tree[i];
    }
    int32_t *supernode = sapwood_int32s(supernodes), *row = sapwood_int32s(rows);
    for (int32_t i = 0; i < tree->n_components; i++) {
      const struct sap_component *island = &tree->component[i];
      for (int32_t k = island->supernode_begin; k < island->supernode_end; k++) {
        const struct sap_supernode *s = &tree->supernode[k];
        *supernode++ = s->node_begin;
        *supernode++ = s->node_end;
        *supernode++ = i;
        for (int32_t r = s->row_begin; r < s->row_end; r++) {
          *row++ = k;
          *row++ = tree->row_node[r];
        }
      }
    }
    for (int32_t i = 0; i < graph->n_edges; i++) {
      sapwood_int32s(edges)[2 * i] = graph->edge_low[i];
      sapwood_int32s(edges)[2 * i + 1] = graph->edge_high[i];
    }
    dict = Py_BuildValue("{s:O,s:O,s:O,s:O}", "order", order, "supernodes", supernodes, "rows",
                         rows, "edges", edges);
  }
  Py_XDECREF(order);
  Py_XDECREF(supernodes);
  Py_XDECREF(rows);
  Py_XDECREF(edges);
  return dict;
}

PyDoc_STRVAR(structure_doc,
             "structure(problem, /)\n--\n\n"
             "Dict with order, the trees as they are eliminated; supernodes (begin, end, island); "
             "rows (supernode, tree below it); edges, pairs of trees with a block of H. Trees but "
             "for those of order are positions in it. See sapwood.problem.structure.");

static PyObject *structure(PyObject *module, PyObject *argument) {
  sapwood_problem *problem = sapwood_as_problem(sapwood_state_of_module(module), argument);
  if (problem == NULL) {
    return NULL;
  }
  struct sap_structure found = {0};
  sap_error error = {0};
  sap_status status;
  Py_BEGIN_ALLOW_THREADS
  status = sap_structure_find(&found, &problem->problem, NULL, &error);
  Py_END_ALLOW_THREADS
  PyObject *dict = sapwood_raise(status, &error) < 0 ? NULL : structure_dict(&found.graph);
  sap_structure_release(&found, NULL);
  return dict;
}

static PyMethodDef methods[] = {{"structure", structure, METH_O, structure_doc},
                                {NULL, NULL, 0, NULL}};

int sapwood_add_structure(PyObject *module) { return PyModule_AddFunctions(module, methods); }
