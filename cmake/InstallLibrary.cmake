# cmake --install: library, header, find_package(sapwood) files, pkg-config file, licences.
# The wheel takes the component "python" only.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sapwood")

install(TARGETS sapwood_library EXPORT sapwoodTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
install(DIRECTORY csrc/include/
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT library)
install(FILES LICENSE licenses/AMD.txt
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT library)

# find_package(sapwood)
install(EXPORT sapwoodTargets NAMESPACE sapwood::
  DESTINATION "${package_dir}" COMPONENT library)
configure_package_config_file(cmake/sapwoodConfig.cmake.in
  "${PROJECT_BINARY_DIR}/sapwoodConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sapwoodConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/sapwoodConfig.cmake" "${PROJECT_BINARY_DIR}/sapwoodConfigVersion.cmake"
  cmake/FindAMD.cmake cmake/FindCHOLMOD.cmake
  DESTINATION "${package_dir}" COMPONENT library)

# pkg-config: a static library, so what it needs is named
set(SAPWOOD_LIBRARIES -lamd -lsuitesparseconfig)
if(SAPWOOD_WITH_LAPACK)
  list(PREPEND SAPWOOD_LIBRARIES -llapack -lblas)
endif()
if(SAPWOOD_CHOLMOD)
  list(PREPEND SAPWOOD_LIBRARIES -lcholmod)
endif()
list(APPEND SAPWOOD_LIBRARIES -lm -pthread)
list(JOIN SAPWOOD_LIBRARIES " " SAPWOOD_LIBRARIES)
configure_file(cmake/sapwood.pc.in "${PROJECT_BINARY_DIR}/sapwood.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sapwood.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)
