# assay::plugin is all that a plugin may use: headers and the floating-point contract, no library.
add_library(assay_plugin INTERFACE)
set_target_properties(assay_plugin PROPERTIES EXPORT_NAME plugin)
add_library(assay::plugin ALIAS assay_plugin)
target_include_directories(assay_plugin INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/core/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_options(assay_plugin INTERFACE -ffp-contract=off)

# A plugin cannot link to the core: undefined symbols are refused at link time (not in sanitizer builds).
function(assay_plugin_target name kind)
  set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/${kind})
  target_link_libraries(${name} PRIVATE assay::plugin)
  if(NOT ASSAY_SANITIZE)
    if(APPLE)
      target_link_options(${name} PRIVATE -Wl,-undefined,error)
    else()
      target_link_options(${name} PRIVATE -Wl,-z,defs)
    endif()
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/assay/${kind})
endfunction()

# assay_add_gate(NAME source... [LIBS target...]): one gate = one shared object bin/gates/NAME.so
function(assay_add_gate name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_library(assay_gate_${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(assay_gate_${name} PROPERTIES OUTPUT_NAME ${name} SUFFIX .so)
  assay_plugin_target(assay_gate_${name} gates)
  # The gate's self-test cases stand beside it, built and installed.
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/cases)
    add_custom_command(TARGET assay_gate_${name} POST_BUILD COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/bin/gates/${name}.cases
      COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_CURRENT_SOURCE_DIR}/cases ${CMAKE_BINARY_DIR}/bin/gates/${name}.cases VERBATIM)
    install(DIRECTORY cases/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/assay/gates/${name}.cases)
  endif()
  if(ARG_LIBS)
    target_link_libraries(assay_gate_${name} PRIVATE ${ARG_LIBS})
  endif()
endfunction()

# assay_add_backend(NAME source... [LIBS target...])
function(assay_add_backend name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_library(assay_backend_${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(assay_backend_${name} PROPERTIES OUTPUT_NAME ${name} SUFFIX .so)
  assay_plugin_target(assay_backend_${name} backends)
  if(ARG_LIBS)
    target_link_libraries(assay_backend_${name} PRIVATE ${ARG_LIBS})
  endif()
endfunction()

# assay_collect(OUT name VAR sources...): writes a table of the symbols PREFIX_<file stem>, so that adding a file is
# all it takes to add an op family or a subcommand.
function(assay_generate_table out type prefix)
  set(decl "")
  set(rows "")
  foreach(src ${ARGN})
    get_filename_component(stem ${src} NAME_WE)
    string(APPEND decl "extern ${type} ${prefix}${stem};\n")
    string(APPEND rows "  &${prefix}${stem},\n")
  endforeach()
  set(ASSAY_DECL "${decl}")
  set(ASSAY_ROWS "${rows}")
  set(ASSAY_TYPE "${type}")
  set(ASSAY_PREFIX "${prefix}")
  configure_file(${CMAKE_SOURCE_DIR}/cmake/table.c.in ${out} @ONLY)
endfunction()
