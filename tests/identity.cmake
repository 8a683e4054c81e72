# Bit identity between levels, thread counts and processors: tests/identity/run.sh.
add_executable(digests identity/digests.c identity/digests_latency.c)
target_link_libraries(digests PRIVATE assay_parts_latency assay_kernels assay_core)
set_target_properties(digests PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME identity COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/identity/run.sh $<TARGET_FILE:digests> ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
set_tests_properties(identity PROPERTIES LABELS unit TIMEOUT 300)
add_test(NAME identity.receipts COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/identity/receipts.sh $<TARGET_FILE:assay> $<TARGET_FILE:digests>
  ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
set_tests_properties(identity.receipts PROPERTIES LABELS cli TIMEOUT 300)
add_test(NAME identity.arm64 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/identity/arm64.sh $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
set_tests_properties(identity.arm64 PROPERTIES LABELS cli TIMEOUT 500 SKIP_RETURN_CODE 77 COST 1000)   # the longest: first, so that it does not run alone at the end
