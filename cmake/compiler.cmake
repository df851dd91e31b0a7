# SPDX-License-Identifier: Apache-2.0
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Contraction would fuse a multiply and an add where the reference has two roundings.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wswitch -ffp-contract=off
                    -fno-omit-frame-pointer)
# Designated initializers name what differs from a default; the rest is meant to be left out.
add_compile_options(-Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees an overlap in std::string's own operator+ (GCC bug 105651).
  add_compile_options(-Wno-restrict)
endif()
if(TANDEM_WERROR)
  add_compile_options(-Werror)
endif()
if(TANDEM_SANITIZE)
  add_compile_options(-fsanitize=${TANDEM_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TANDEM_SANITIZE})
endif()
# __FILE__ and sites are relative to the source tree, so that reports don't carry build paths.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
