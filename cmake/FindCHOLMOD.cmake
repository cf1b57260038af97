# Finds CHOLMOD of SuiteSparse, a factorization to compare with, and defines SuiteSparse::CHOLMOD.

find_package(CHOLMOD CONFIG QUIET)

if(TARGET SuiteSparse::CHOLMOD)
  set(CHOLMOD_LIBRARY SuiteSparse::CHOLMOD)
else()
  find_path(CHOLMOD_INCLUDE_DIR cholmod.h PATH_SUFFIXES suitesparse)
  find_library(CHOLMOD_LIBRARY NAMES cholmod)
  mark_as_advanced(CHOLMOD_INCLUDE_DIR CHOLMOD_LIBRARY)
  set(cholmod_required CHOLMOD_INCLUDE_DIR)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CHOLMOD
  REQUIRED_VARS CHOLMOD_LIBRARY ${cholmod_required}
  REASON_FAILURE_MESSAGE "
   CHOLMOD was asked for by SAPWOOD_CHOLMOD=ON.
   Debian, Ubuntu:  apt-get install libsuitesparse-dev
")

if(CHOLMOD_FOUND AND NOT TARGET SuiteSparse::CHOLMOD)
  add_library(SuiteSparse::CHOLMOD INTERFACE IMPORTED)
  target_link_libraries(SuiteSparse::CHOLMOD INTERFACE ${CHOLMOD_LIBRARY})
  target_include_directories(SuiteSparse::CHOLMOD INTERFACE "${CHOLMOD_INCLUDE_DIR}")
endif()
