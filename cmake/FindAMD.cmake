# Finds AMD, the approximate minimum degree ordering of SuiteSparse, and defines AMD::AMD.
# The static archive is preferred, so that what we build carries AMD with it.
#
# SuiteSparse 7.4 and later has a config package; older ones (Debian 12: 5.12) are searched for here.

find_package(AMD CONFIG QUIET)

if(TARGET SuiteSparse::AMD_static)
  set(AMD_LIBRARY SuiteSparse::AMD_static)
elseif(TARGET SuiteSparse::AMD)
  set(AMD_LIBRARY SuiteSparse::AMD)
else()
  find_path(AMD_INCLUDE_DIR amd.h PATH_SUFFIXES suitesparse)
  find_library(AMD_LIBRARY NAMES libamd.a amd)
  find_library(AMD_CONFIG_LIBRARY NAMES libsuitesparseconfig.a suitesparseconfig)
  mark_as_advanced(AMD_INCLUDE_DIR AMD_LIBRARY AMD_CONFIG_LIBRARY)
  set(amd_required AMD_INCLUDE_DIR AMD_CONFIG_LIBRARY)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(AMD
  REQUIRED_VARS AMD_LIBRARY ${amd_required}
  REASON_FAILURE_MESSAGE "
   sapwood needs the AMD library of SuiteSparse.
   Debian, Ubuntu:  apt-get install libsuitesparse-dev
   Fedora:          dnf install suitesparse-devel
   conda:           conda install -c conda-forge suitesparse
   macOS:           brew install suite-sparse
")

if(AMD_FOUND AND NOT TARGET AMD::AMD)
  add_library(AMD::AMD INTERFACE IMPORTED)
  target_link_libraries(AMD::AMD INTERFACE ${AMD_LIBRARY} ${AMD_CONFIG_LIBRARY})
  if(UNIX)
    target_link_libraries(AMD::AMD INTERFACE m)
  endif()
  if(AMD_INCLUDE_DIR)
    target_include_directories(AMD::AMD INTERFACE "${AMD_INCLUDE_DIR}")
  endif()
endif()
