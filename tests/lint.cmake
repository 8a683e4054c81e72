# Rules a compiler does not know. Each is a script that takes the source folder; NAME_test.sh shows that it can fail.
file(GLOB ASSAY_LINTS CONFIGURE_DEPENDS lint/*.sh)
foreach(src ${ASSAY_LINTS})
  get_filename_component(name ${src} NAME_WE)
  add_test(NAME lint.${name} COMMAND sh ${src} ${CMAKE_SOURCE_DIR})
  set_tests_properties(lint.${name} PROPERTIES LABELS "unit;lint" TIMEOUT 120)
endforeach()
