# cmake --install, and the package files that let another project say find_package(tmemsim CONFIG).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tmemsim)
get_property(installed GLOBAL PROPERTY tmemsim_installed)
install(TARGETS ${installed} EXPORT tmemsim-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT tmemsim-targets NAMESPACE tmemsim:: DESTINATION ${package_dir})

# Headers keep their folders: #include "ir/kernel/kernel.hpp" reads the same here and there.
foreach(folder ir lower sim emit)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tmemsim FILES_MATCHING PATTERN *.hpp)
endforeach()

configure_package_config_file(cmake/tmemsim-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tmemsim-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tmemsim-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tmemsim-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tmemsim-config-version.cmake
  cmake/TmemsimYaml.cmake DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
