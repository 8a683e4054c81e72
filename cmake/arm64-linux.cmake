# Cross build for arm64 Linux on Debian, run under qemu-user: used by the bit-identity tests.
#   cmake -S . -B build/arm64 -DCMAKE_TOOLCHAIN_FILE=cmake/arm64-linux.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(ASSAY_TESTS OFF CACHE BOOL "the tests drive this build from outside")
