# cmake --install: library, header, find_package(sapwood) files, pkg-config file, licences.
# The wheel takes the component "python" only.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sapwood")

install(TARGETS sapwood_library EXPORT sapwoodTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT library)
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
  cmake/FindAMD.cmake
  DESTINATION "${package_dir}" COMPONENT library)

# pkg-config: what a static library needs is named; paths follow the file, wherever it is installed
set(SAPWOOD_LIBRARIES "")
set(SAPWOOD_CFLAGS "")
if(BUILD_SHARED_LIBS)
  set(SAPWOOD_CFLAGS -DSAP_SHARED)
else()
  set(SAPWOOD_LIBRARIES "-lamd -lsuitesparseconfig -lm -pthread")
endif()
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH SAPWOOD_TO_PREFIX
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
foreach(dir LIBDIR INCLUDEDIR)
  set(SAPWOOD_${dir} "\${prefix}")
  cmake_path(APPEND SAPWOOD_${dir} "${CMAKE_INSTALL_${dir}}")
endforeach()
configure_file(cmake/sapwood.pc.in "${PROJECT_BINARY_DIR}/sapwood.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sapwood.pc"
  DESTINATION "${pkgconfig_dir}" COMPONENT library)
