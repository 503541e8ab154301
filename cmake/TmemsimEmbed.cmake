# tmemsim_embed(TARGET NAME FILE): `const char* const NAME` in namespace tmemsim::emit holds the text of FILE, without the lines
# that only serve it as a header of this repository (#pragma once, #include "..."): it is put into other programs.
function(tmemsim_embed target name file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REGEX REPLACE "#pragma once\n+" "" text "${text}")
  string(REGEX REPLACE "#include \"[^\"]*\"\n+" "" text "${text}")
  tmemsim_embed_text(${target} tmemsim::emit ${name} "${text}")
endfunction()

# tmemsim_embed_page(TARGET NAME FILE): the same in namespace tmemsim::report for an HTML page; a line /*{{other.js}}*/ in it stands
# for the text of that file, which lies beside the page.
function(tmemsim_embed_page target name file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  get_filename_component(folder ${file} DIRECTORY)
  string(REGEX MATCHALL "{{[a-z_]+\\.[a-z]+}}" parts "${text}")
  foreach(part IN LISTS parts)
    string(REGEX REPLACE "[{}]" "" part "${part}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${part})
    file(READ ${folder}/${part} part_text)
    string(REPLACE "/*{{${part}}}*/" "${part_text}" text "${text}")
  endforeach()
  tmemsim_embed_text(${target} tmemsim::report ${name} "${text}")
endfunction()

function(tmemsim_embed_text target namespace name text)
  # In pieces: compilers limit the length of one literal.
  string(LENGTH "${text}" length)
  set(pieces "")
  foreach(begin RANGE 0 ${length} 8000)
    string(SUBSTRING "${text}" ${begin} 8000 piece)
    string(APPEND pieces "R\"embedded(${piece})embedded\"\n")
  endforeach()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.cpp)
  set(source "namespace ${namespace} {\nextern const char* const ${name};\nconst char* const ${name} =\n${pieces};\n}  // namespace ${namespace}\n")
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT "@source@")  # what is put in is not looked through for @...@ again
  target_sources(${target} PRIVATE ${output})
endfunction()

# tmemsim_embed_folder(TARGET NAME FOLDER PATTERN): the files of a folder as the table report::NAME of report/embedded.hpp, in
# order of their names.
function(tmemsim_embed_folder target name folder pattern)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/${pattern})
  list(SORT files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(rows "")
  foreach(path IN LISTS files)
    file(READ ${path} text)
    cmake_path(GET path FILENAME file)
    string(APPEND rows "    {\"${file}\", R\"embedded(${text})embedded\"},\n")
  endforeach()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.cpp)
  set(source "#include \"report/embedded.hpp\"

namespace tmemsim::report {
namespace {
constexpr EmbeddedFile table[]{
${rows}};
}  // namespace
std::span<const EmbeddedFile> ${name}() { return table; }
}  // namespace tmemsim::report
")
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT "@source@")
  target_sources(${target} PRIVATE ${output})
endfunction()
