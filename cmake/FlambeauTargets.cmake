# One folder, one target; the links are the arrows of docs/architecture.md.
#
#   flambeau_folder(ir LINKS flambeau_diag)
#
# makes the library flambeau_ir of all *.cpp in the folder (and below, with
# RECURSE), and of its *_test.cpp the test program ir_tests.
add_library(flambeau_build_flags INTERFACE)
target_compile_features(flambeau_build_flags INTERFACE cxx_std_20)
target_compile_options(flambeau_build_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
# Clang counts the characters of PyTorch's schemas as steps of one constant expression.
target_compile_options(flambeau_build_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fconstexpr-steps=100000000>)
target_include_directories(flambeau_build_flags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
if(FLAMBEAU_SANITIZE)
  # What is empty, or beyond the end, is read within allocated memory often enough.
  target_compile_definitions(flambeau_build_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_compile_options(flambeau_build_flags INTERFACE -fsanitize=${FLAMBEAU_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(flambeau_build_flags INTERFACE -fsanitize=${FLAMBEAU_SANITIZE})
endif()

set(FLAMBEAU_FOLDERS "" CACHE INTERNAL "folder targets, for the installed library")

function(flambeau_folder name)
  cmake_parse_arguments(ARG "RECURSE" "" "LINKS;PRIVATE_LINKS;TEST_LINKS" ${ARGN})
  if(ARG_RECURSE)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  else()
    file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  endif()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(flambeau_${name} OBJECT ${sources})
    target_link_libraries(flambeau_${name} PUBLIC flambeau_build_flags ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
    set_target_properties(flambeau_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                          VISIBILITY_INLINES_HIDDEN ON)
    set(FLAMBEAU_FOLDERS ${FLAMBEAU_FOLDERS} flambeau_${name} CACHE INTERNAL "")
  endif()
  if(FLAMBEAU_BUILD_TESTS AND tests)
    add_executable(${name}_tests ${tests})
    target_link_libraries(${name}_tests PRIVATE flambeau_build_flags flambeau_test_objects ${ARG_TEST_LINKS} GTest::gtest GTest::gtest_main)
    gtest_discover_tests(${name}_tests TEST_PREFIX "${name}/" DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT 300)
  endif()
endfunction()
