# Faster builds where the tools for it are installed; nothing here changes what is built.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TMEMSIM_CCACHE ccache)
  mark_as_advanced(TMEMSIM_CCACHE)
  if(TMEMSIM_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${TMEMSIM_CCACHE})
  endif()
endif()

find_program(TMEMSIM_MOLD ld.mold)
mark_as_advanced(TMEMSIM_MOLD)
if(TMEMSIM_MOLD AND (CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1))
  add_link_options(-fuse-ld=mold)
endif()
