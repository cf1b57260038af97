# Interface targets with the compiler options: sapwood_options for every source file of ours,
# sapwood_arithmetic for the library outside its dense kernels.

add_library(sapwood_options INTERFACE)
target_compile_features(sapwood_options INTERFACE c_std_17)

add_library(sapwood_arithmetic INTERFACE)

if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(sapwood_options INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wvla
    -fno-math-errno -fno-trapping-math)
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    # constants are enumerations, in sums of doubles too
    target_compile_options(sapwood_options INTERFACE -Wno-enum-float-conversion)
  endif()
  # equal inputs give equal bits whatever the compiler makes of a*b + c
  target_compile_options(sapwood_arithmetic INTERFACE -ffp-contract=off)
  # not for the extension module: Python's entry points have no prototype
  set(SAPWOOD_LIBRARY_WARNINGS -Wmissing-prototypes)
  if(SAPWOOD_WERROR)
    target_compile_options(sapwood_options INTERFACE -Werror)
  endif()
  if(SAPWOOD_SANITIZE)
    set(sanitizers -fsanitize=address,undefined)
    if(SAPWOOD_SANITIZE STREQUAL "THREADS")
      set(sanitizers -fsanitize=thread)
    endif()
    target_compile_options(sapwood_options INTERFACE
      ${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(sapwood_options INTERFACE ${sanitizers})
  endif()
  if(SAPWOOD_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
      message(FATAL_ERROR "SAPWOOD_FUZZ needs Clang, not ${CMAKE_C_COMPILER_ID}")
    endif()
    target_compile_options(sapwood_options INTERFACE -fsanitize=fuzzer-no-link)
  endif()
  if(SAPWOOD_COVERAGE)
    target_compile_options(sapwood_options INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(sapwood_options INTERFACE --coverage)
  endif()
elseif(SAPWOOD_SANITIZE OR SAPWOOD_WERROR OR SAPWOOD_FUZZ OR SAPWOOD_COVERAGE)
  message(FATAL_ERROR "SAPWOOD_SANITIZE, SAPWOOD_WERROR, SAPWOOD_FUZZ and SAPWOOD_COVERAGE need GCC "
    "or Clang, not ${CMAKE_C_COMPILER_ID}")
endif()

if(SAPWOOD_OLD_GLIBC)
  target_compile_options(sapwood_options INTERFACE
    "SHELL:-include \"${PROJECT_SOURCE_DIR}/cmake/old_glibc.h\"")
endif()

# -O3 in release builds, debug checks elsewhere
string(REPLACE "-O2" "-O3" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")

# the dense kernels are compiled once per instruction set where the compiler can; not for the fuzzer,
# whose instrumentation of the wide ones takes minutes and finds what the others have, nor to look for
# races, which kernels have none of
set(SAPWOOD_MULTI_ISA OFF)
if(NOT SAPWOOD_ONE_ISA AND NOT SAPWOOD_FUZZ AND NOT SAPWOOD_SANITIZE STREQUAL "THREADS"
   AND CMAKE_C_COMPILER_ID MATCHES "GNU|Clang"
   AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(SAPWOOD_MULTI_ISA ON)
endif()
