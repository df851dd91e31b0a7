# SPDX-License-Identifier: Apache-2.0
# tandem_layer(NAME SOURCES a.cc … TESTS a_test.cc … DEPS layer … LIBS library …)
#
# One static library per layer (object code only if there are sources), one test program per layer.
function(tandem_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;TESTS;DEPS;LIBS;TEST_LIBS" ${ARGN})
  set(target tandem_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(${target} PUBLIC tandem_${dep})
  endforeach()
  target_link_libraries(${target} PUBLIC ${ARG_LIBS})
  if(TANDEM_BUILD_TESTS AND ARG_TESTS)
    tandem_test(${name}_test SOURCES ${ARG_TESTS} LIBS ${target} ${ARG_TEST_LIBS})
  endif()
endfunction()

# tandem_test(NAME SOURCES … LIBS … [TIMEOUT seconds] [LABELS …]): each TEST is one ctest entry.
function(tandem_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
