# One function per kind of thing we build. All of them take explicit file lists: a file that is not
# listed is not built, and script/lint says so.

include_guard(GLOBAL)
include(GoogleTest)

# A library from a list of files, or an interface library while the list is empty.
# Sets <kind> to PUBLIC or INTERFACE: the keyword for what users of the library inherit.
function(_waybill_library target kind)
    if(ARGN)
        add_library(${target} STATIC ${ARGN})
        waybill_flags(${target})
        set(${kind} PUBLIC PARENT_SCOPE)
    else()
        add_library(${target} INTERFACE)
        set(${kind} INTERFACE PARENT_SCOPE)
    endif()
endfunction()

function(_waybill_no_strays function)
    if(ARGN)
        message(FATAL_ERROR "${function}: unknown arguments: ${ARGN}")
    endif()
endfunction()

# waybill_room(<name> [SOURCES file...] [LINK target...] [PACKAGES "package args"...])
#
# Makes the target waybill::<name>, installable as a component of the same name. Other rooms in LINK
# (waybill::core) are passed on to the users of the room; everything else is its own affair. PACKAGES
# are the find_package() arguments an installed room needs: "OpenSSL 3.0 COMPONENTS Crypto".
function(waybill_room name)
    cmake_parse_arguments(PARSE_ARGV 1 room "" "" "SOURCES;LINK;PACKAGES")
    _waybill_no_strays(waybill_room ${room_UNPARSED_ARGUMENTS})
    set(target waybill_${name})
    _waybill_library(${target} kind ${room_SOURCES})
    add_library(waybill::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    target_compile_features(${target} ${kind} cxx_std_20)
    target_include_directories(${target} ${kind}
        "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
        "$<INSTALL_INTERFACE:include>")
    if(room_SOURCES)
        target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    endif()

    set(needs "")
    foreach(item IN LISTS room_LINK)
        if(item MATCHES "^waybill::(.+)$")
            list(APPEND needs ${CMAKE_MATCH_1})
            target_link_libraries(${target} ${kind} ${item})
        elseif(room_SOURCES)
            target_link_libraries(${target} PRIVATE ${item})
        else()
            target_link_libraries(${target} INTERFACE ${item})
        endif()
    endforeach()
    if(WAYBILL_INSTALL)
        waybill_install_room(${name} NEEDS ${needs} PACKAGES ${room_PACKAGES})
    endif()
endfunction()

# waybill_test_library(<name> [SOURCES file...] [LINK target...])
#
# Code shared by tests: fakes, decorators, fixtures. Sees src/ and tests/ on its include path.
function(waybill_test_library name)
    cmake_parse_arguments(PARSE_ARGV 1 lib "" "" "SOURCES;LINK")
    _waybill_no_strays(waybill_test_library ${lib_UNPARSED_ARGUMENTS})
    _waybill_library(${name} kind ${lib_SOURCES})
    target_include_directories(${name} ${kind}
        "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${name} ${kind} ${lib_LINK} GTest::gmock GTest::gtest)
endfunction()

# waybill_test(<name> SOURCES file... LABELS label... [LINK target...] [TIMEOUT seconds]
#              [ENVIRONMENT NAME=value...] [TOGETHER parameter] [NO_MAIN])
#
# A GoogleTest program; each of its tests becomes a ctest test with these labels (one or more of
# unit, conformance, simulation, integration, fault). TIMEOUT is per test, 60 unless said, and four
# times that under a sanitizer. Those with the parameter TOGETHER (or ALL) are one test of their own, in
# one process: what they need is too dear to be started for each. NO_MAIN when the sources have a main() of
# their own.
function(waybill_test name)
    cmake_parse_arguments(PARSE_ARGV 1 test
        "NO_MAIN" "TIMEOUT;TOGETHER" "SOURCES;LABELS;LINK;ENVIRONMENT")
    _waybill_no_strays(waybill_test ${test_UNPARSED_ARGUMENTS})
    if(NOT test_SOURCES)
        return()
    endif()
    if(NOT test_LABELS)
        message(FATAL_ERROR "waybill_test(${name}): give it LABELS, such as unit")
    endif()
    if(NOT test_TIMEOUT)
        set(test_TIMEOUT 60)
    endif()
    math(EXPR timeout "${test_TIMEOUT} * ${WAYBILL_TIMEOUT_SCALE}")

    add_executable(${name} ${test_SOURCES})
    waybill_test_flags(${name})
    target_include_directories(${name} PRIVATE
        "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${name} PRIVATE ${test_LINK} GTest::gmock)
    if(test_NO_MAIN)
        target_link_libraries(${name} PRIVATE GTest::gtest)
    else()
        target_link_libraries(${name} PRIVATE GTest::gtest_main)
    endif()

    set(filter "")
    if(test_TOGETHER)
        set(together "*/${test_TOGETHER}")
        if(test_TOGETHER STREQUAL "ALL")
            set(together "*")
        endif()
        set(filter TEST_FILTER "-${together}")
        add_test(NAME ${name}.${test_TOGETHER}
            COMMAND ${name} "--gtest_filter=${together}" --gtest_brief=1
            WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
        math(EXPR together_timeout "${timeout} * 4")
        set_tests_properties(${name}.${test_TOGETHER} PROPERTIES
            LABELS "${test_LABELS}" ENVIRONMENT "${test_ENVIRONMENT}" TIMEOUT ${together_timeout})
    endif()
    gtest_discover_tests(${name}
        ${filter}
        DISCOVERY_MODE PRE_TEST
        DISCOVERY_TIMEOUT 60
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        PROPERTIES TIMEOUT ${timeout})
    # PROPERTIES flattens lists, so those with several values are set once the tests are known.
    set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
    file(CONFIGURE OUTPUT "${script}" @ONLY CONTENT [[
if(@name@_TESTS)
    set_tests_properties(${@name@_TESTS} PROPERTIES
        LABELS "@test_LABELS@" ENVIRONMENT "@test_ENVIRONMENT@")
endif()
]])
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

# waybill_bench(<name> SOURCES file... [LINK target...] [NO_MAIN])
#
# A Google Benchmark program that script/bench runs. Sees src/ and bench/ on its include path.
# NO_MAIN when the sources have a main() of their own (it must take Google Benchmark's flags). It has the
# allocator of the program waybill, and so has the raw side.
function(waybill_bench name)
    cmake_parse_arguments(PARSE_ARGV 1 bench "NO_MAIN" "" "SOURCES;LINK")
    _waybill_no_strays(waybill_bench ${bench_UNPARSED_ARGUMENTS})
    if(NOT bench_SOURCES)
        return()
    endif()
    add_executable(${name} ${bench_SOURCES})
    waybill_flags(${name})
    target_include_directories(${name} PRIVATE
        "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/bench")
    target_link_libraries(${name} PRIVATE ${bench_LINK} benchmark::benchmark)
    waybill_allocator(${name})
    if(NOT bench_NO_MAIN)
        target_link_libraries(${name} PRIVATE benchmark::benchmark_main)
    endif()
    set_property(GLOBAL APPEND PROPERTY WAYBILL_BENCHES ${name})
endfunction()

# waybill_example(<name> SOURCES file... [LINK target...] [ARGS argument...] [TIMEOUT seconds]
#                 [WITH program] [NO_TEST])
#
# One idea, built as a user would build it (public headers only) and run as the ctest test
# example.<name> with ARGS; it passes when it exits with 0. WITH is a program that starts what it needs
# and then runs it. NO_TEST builds it only.
function(waybill_example name)
    cmake_parse_arguments(PARSE_ARGV 1 example "NO_TEST" "TIMEOUT;WITH" "SOURCES;LINK;ARGS")
    _waybill_no_strays(waybill_example ${example_UNPARSED_ARGUMENTS})
    if(NOT example_SOURCES)
        return()
    endif()
    if(NOT example_TIMEOUT)
        set(example_TIMEOUT 30)
    endif()
    math(EXPR timeout "${example_TIMEOUT} * ${WAYBILL_TIMEOUT_SCALE}")
    add_executable(${name} ${example_SOURCES})
    waybill_flags(${name})
    target_link_libraries(${name} PRIVATE ${example_LINK})
    if(NOT example_NO_TEST)
        add_test(NAME example.${name} COMMAND ${example_WITH} $<TARGET_FILE:${name}> ${example_ARGS})
        set_tests_properties(example.${name} PROPERTIES LABELS example TIMEOUT ${timeout})
    endif()
endfunction()
