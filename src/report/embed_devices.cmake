# SPDX-License-Identifier: Apache-2.0
# embed_devices(OUTPUT FILE…): writes a source with the text of each JSON file and its name without
# ending, sorted by name. Editing a file configures again.
function(embed_devices output)
  set(rows "")
  list(TRANSFORM ARGN REPLACE "\\.json$" "")
  list(SORT ARGN)
  foreach(base IN LISTS ARGN)
    set(file ${base}.json)
    cmake_path(GET base FILENAME name)
    file(READ ${file} text)
    string(APPEND rows "    {\"${name}\", R\"device(${text})device\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  string(CONCAT source
    "#include \"report/device_table.h\"\n\n"
    "namespace tandem {\nnamespace {\n\n"
    "constexpr EmbeddedDevice kDevices[] = {\n${rows}};\n\n"
    "}  // namespace\n\n"
    "std::span<const EmbeddedDevice> embedded_devices() { return kDevices; }\n\n"
    "}  // namespace tandem\n")
  file(GENERATE OUTPUT ${output} CONTENT "${source}")
endfunction()
