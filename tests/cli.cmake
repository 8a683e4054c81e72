# One ctest entry per folder of tests/cli/cases; the folder's parts are described in tests/cli/run.sh.
file(GLOB ASSAY_CLI_CASES CONFIGURE_DEPENDS LIST_DIRECTORIES true cli/cases/*)
foreach(dir ${ASSAY_CLI_CASES})
  get_filename_component(name ${dir} NAME)
  add_test(NAME cli.${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/run.sh ${dir} $<TARGET_FILE:assay>)
  set(labels cli)
  if(name STREQUAL exec_reject)
    list(APPEND labels unit)              # so that the sanitizers' run has it too
  endif()
  set_tests_properties(cli.${name} PROPERTIES LABELS "${labels}" TIMEOUT 240 SKIP_RETURN_CODE 77)
endforeach()
