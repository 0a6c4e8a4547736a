# What `cmake --install` puts in place for C++ users: the library, its headers,
# and the package by which find_package(flambeau CONFIG) gives flambeau::flambeau.
include(CMakePackageConfigHelpers)

set(FLAMBEAU_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/flambeau)
install(TARGETS flambeau EXPORT flambeauTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/flambeau DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT flambeauTargets NAMESPACE flambeau:: DESTINATION ${FLAMBEAU_PACKAGE_DIR} COMPONENT development)
configure_package_config_file(cmake/flambeauConfig.cmake.in ${CMAKE_BINARY_DIR}/flambeauConfig.cmake
                              INSTALL_DESTINATION ${FLAMBEAU_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/flambeauConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/flambeauConfig.cmake ${CMAKE_BINARY_DIR}/flambeauConfigVersion.cmake
        DESTINATION ${FLAMBEAU_PACKAGE_DIR} COMPONENT development)
