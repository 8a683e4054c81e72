# The rules that parity, dead_path and sensitivity share: a static library with hidden symbols, linked into each of them.
if(NOT TARGET assay_similarity)
  file(GLOB ASSAY_SIMILARITY_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
  add_library(assay_similarity STATIC ${ASSAY_SIMILARITY_SOURCES})
  target_include_directories(assay_similarity PUBLIC ${CMAKE_CURRENT_LIST_DIR})
  target_link_libraries(assay_similarity PUBLIC assay::plugin m)
endif()
