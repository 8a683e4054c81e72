# Install rules: program, plugin headers, scripts, configs, man pages, CMake package and pkg-config file.
install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY core/include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY scripts/ DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/scripts)
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/configs)
install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
