# Finds CHOLMOD of SuiteSparse (a factorization to compare with) and defines SuiteSparse::CHOLMOD.

find_package(CHOLMOD CONFIG QUIET)

if(TARGET SuiteSparse::CHOLMOD)
  set(CHOLMOD_FOUND TRUE)
else()
  include(FindPackageHandleStandardArgs)
  find_path(CHOLMOD_INCLUDE_DIR cholmod.h PATH_SUFFIXES suitesparse)
  find_library(CHOLMOD_LIBRARY NAMES cholmod)
  mark_as_advanced(CHOLMOD_INCLUDE_DIR CHOLMOD_LIBRARY)
  find_package_handle_standard_args(CHOLMOD
    REQUIRED_VARS CHOLMOD_LIBRARY CHOLMOD_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "\n   Debian, Ubuntu: apt-get install libsuitesparse-dev, or SAPWOOD_CHOLMOD=OFF\n")
  if(CHOLMOD_FOUND)
    add_library(SuiteSparse::CHOLMOD UNKNOWN IMPORTED)
    set_target_properties(SuiteSparse::CHOLMOD PROPERTIES
      IMPORTED_LOCATION "${CHOLMOD_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${CHOLMOD_INCLUDE_DIR}")
  endif()
endif()
