# Faster builds where the tools for it are installed; nothing here changes what is built.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TMEMSIM_CCACHE ccache)
  mark_as_advanced(TMEMSIM_CCACHE)
  if(TMEMSIM_CCACHE AND DEFINED ENV{CCACHE_SLOPPINESS})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${TMEMSIM_CCACHE})
  elseif(TMEMSIM_CCACHE)  # which keeps no object that used a precompiled header, unless told so
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TMEMSIM_CCACHE})
  endif()
endif()

find_program(TMEMSIM_MOLD ld.mold)
mark_as_advanced(TMEMSIM_MOLD)
if(TMEMSIM_MOLD AND (CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1))
  add_link_options(-fuse-ld=mold)
endif()

# tmemsim_precompile(TARGET headers... | REUSE_FROM other): the headers that nearly every source of the target includes are parsed
# once. Only with TMEMSIM_PRECOMPILE and g++: a build without it, and one with clang, show when a source lacks an #include.
option(TMEMSIM_PRECOMPILE "Precompile the headers that most sources include (g++)" OFF)
function(tmemsim_precompile target)
  if(NOT TMEMSIM_PRECOMPILE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # what ccache preprocesses names the precompiled header
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} ${ARGN})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
