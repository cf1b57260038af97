#include "linalg/kernels/kernels.h"

#include "linalg/kernels/isa.h"

#define SAP_PANELS(name)                                                       \
  {name(sap_factor_panel_), name(sap_push_updates_), name(sap_push_solution_), \
   name(sap_pull_solution_)}

const struct sap_kernels SAP_OF_ISA(sap_kernels_);
const struct sap_kernels SAP_OF_ISA(sap_kernels_) = {
    SAP_TEXT(SAP_ISA),
    SAP_OF_ISA(sap_multiply_),
    SAP_OF_ISA(sap_factor_),
    SAP_OF_ISA(sap_solve_forward_),
    SAP_OF_ISA(sap_solve_backward_),
    {SAP_PANELS(SAP_OF_ISA), SAP_PANELS(SAP_OF_SINGLE)},
    {SAP_OF_ISA(sap_factor_lu_), SAP_OF_ISA(sap_push_lu_updates_),
     SAP_OF_ISA(sap_push_lu_solution_), SAP_OF_ISA(sap_pull_lu_solution_),
     SAP_OF_ISA(sap_push_columns_), SAP_OF_ISA(sap_add_columns_product_)},
};
