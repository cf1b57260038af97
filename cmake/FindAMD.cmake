# Finds AMD, the approximate minimum degree ordering of SuiteSparse, and defines SuiteSparse::AMD.
# The static archive is preferred, so that what we build carries AMD with it.
#
# SuiteSparse 7.4 and later has a config package; older ones (Debian 12: 5.12) are searched for here.

find_package(AMD CONFIG QUIET)
if(TARGET SuiteSparse::AMD_static AND NOT TARGET SuiteSparse::AMD)
  add_library(SuiteSparse::AMD ALIAS SuiteSparse::AMD_static)
endif()

include(FindPackageHandleStandardArgs)
set(amd_advice "sapwood needs the AMD library of SuiteSparse.
   Debian, Ubuntu:  apt-get install libsuitesparse-dev
   Fedora:          dnf install suitesparse-devel
   conda:           conda install -c conda-forge suitesparse
   macOS:           brew install suite-sparse")

if(TARGET SuiteSparse::AMD)
  set(AMD_FOUND TRUE)
else()
  find_path(AMD_INCLUDE_DIR amd.h PATH_SUFFIXES suitesparse)
  find_library(AMD_LIBRARY NAMES libamd.a amd)
  find_library(AMD_CONFIG_LIBRARY NAMES libsuitesparseconfig.a suitesparseconfig)
  mark_as_advanced(AMD_INCLUDE_DIR AMD_LIBRARY AMD_CONFIG_LIBRARY)
  find_package_handle_standard_args(AMD
    REQUIRED_VARS AMD_LIBRARY AMD_CONFIG_LIBRARY AMD_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "\n   ${amd_advice}\n")
  if(AMD_FOUND)
    add_library(SuiteSparse::AMD UNKNOWN IMPORTED)
    set_target_properties(SuiteSparse::AMD PROPERTIES
      IMPORTED_LOCATION "${AMD_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${AMD_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES "${AMD_CONFIG_LIBRARY};$<$<PLATFORM_ID:Linux>:m>")
  endif()
endif()
