# How our own code is compiled. Warnings go on our targets one by one (waybill_flags), so that a
# project which adds us as a subdirectory keeps its own; sanitizers and hardening must agree in every
# translation unit of a link, so they are set for the whole directory.

include_guard(GLOBAL)
include(CheckCXXCompilerFlag)
include(CheckPIESupported)

if(PROJECT_IS_TOP_LEVEL)
    find_program(WAYBILL_CCACHE ccache)
    if(WAYBILL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
        set(CMAKE_CXX_COMPILER_LAUNCHER "${WAYBILL_CCACHE}")
    endif()
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    check_pie_supported(LANGUAGES CXX)
endif()

set(WAYBILL_WARNINGS
    -Wall -Wextra -Wpedantic
    -Wcast-align -Wcast-qual -Wconversion -Wdouble-promotion -Wextra-semi -Wformat=2
    -Wimplicit-fallthrough -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wshadow
    -Wsign-conversion -Wundef -Wunused -Wvla
    # Options are passed as designated initialisers: what is left out has its default.
    -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND WAYBILL_WARNINGS
        -Wduplicated-cond -Wlogical-op -Wredundant-decls -Wsuggest-override)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        # False alarms of GCC 12 on std::string (PR 105329, PR 105651).
        list(APPEND WAYBILL_WARNINGS -Wno-restrict)
    endif()
    if(WAYBILL_SANITIZE)
        # Instrumented code misleads GCC's flow analysis; dev and release still check these.
        list(APPEND WAYBILL_WARNINGS
            -Wno-array-bounds -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
endif()
if(WAYBILL_WERROR)
    list(APPEND WAYBILL_WARNINGS -Werror)
endif()

# The presets of the sanitizers compile the files of a target together, twelve at a time, which saves
# two fifths of the time; release does it with tests only. What that hides (a missing include) or sees in error (a
# local name that is also in another file), dev checks file by file, and release for all that is shipped. Shadowing is
# checked in what is shipped alone.
set(WAYBILL_UNITY_WARNINGS -Wno-shadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND WAYBILL_UNITY_WARNINGS -Wno-subobject-linkage)
endif()
if(CMAKE_UNITY_BUILD)
    list(APPEND WAYBILL_WARNINGS ${WAYBILL_UNITY_WARNINGS})
endif()

# waybill_flags(<target>): C++20 without extensions, and our warnings.
function(waybill_flags target)
    target_compile_options(${target} PRIVATE ${WAYBILL_WARNINGS})
    set_target_properties(${target} PROPERTIES
        CXX_STANDARD 20
        CXX_STANDARD_REQUIRED ON
        CXX_EXTENSIONS OFF)
endfunction()

# waybill_test_flags(<target>): the same for test code, which runs once: to optimise GoogleTest's macros takes
# GCC two to three times as long as to compile them. What is tested is optimised.
# Warnings are the same in every preset: what CI lets pass must not stop somebody's first `script/test`.
function(waybill_test_flags target)
    waybill_flags(${target})
    target_compile_options(${target} PRIVATE ${WAYBILL_UNITY_WARNINGS})
    if(WAYBILL_SANITIZE)
        target_compile_options(${target} PRIVATE -O0)
    elseif(WAYBILL_HARDEN)
        target_compile_options(${target} PRIVATE -O0 -U_FORTIFY_SOURCE)  # fortified code must be optimised
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    endif()
endfunction()

# waybill_allocator(<program>): jemalloc where it is installed (WAYBILL_JEMALLOC). What one thread allocates another one
# frees, all the time: glibc's allocator takes a lock for that, and deliveries are an eighth slower with it. Only for programs: a library
# leaves the choice to whoever links it. The sanitizers have allocators of their own.
function(waybill_allocator target)
    if(NOT WAYBILL_JEMALLOC OR WAYBILL_SANITIZE)
        return()
    endif()
    find_library(WAYBILL_JEMALLOC_LIBRARY jemalloc)
    if(WAYBILL_JEMALLOC_LIBRARY)
        # It is called by nobody by name.
        target_link_libraries(${target} PRIVATE
            "-Wl,--push-state,--no-as-needed" ${WAYBILL_JEMALLOC_LIBRARY} "-Wl,--pop-state")
    endif()
endfunction()

set(WAYBILL_SANITIZE_FLAGS "")
set(WAYBILL_TIMEOUT_SCALE 1)
if(WAYBILL_SANITIZE)
    set(WAYBILL_SANITIZE_FLAGS
        -fsanitize=${WAYBILL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    set(WAYBILL_TIMEOUT_SCALE 4)
    add_compile_options(${WAYBILL_SANITIZE_FLAGS})
    add_link_options(${WAYBILL_SANITIZE_FLAGS})
endif()
if(WAYBILL_LIBFUZZER)
    # Everything tells the fuzzer where it has been; only the targets link its main().
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(WAYBILL_HARDEN)
    add_compile_options(
        -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -D_GLIBCXX_ASSERTIONS -fstack-protector-strong)
    foreach(flag IN ITEMS -fstack-clash-protection -fcf-protection)
        string(MAKE_C_IDENTIFIER "WAYBILL_HAS${flag}" has_flag)
        check_cxx_compiler_flag(${flag} ${has_flag})
        if(${has_flag})
            add_compile_options(${flag})
        endif()
    endforeach()
    add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()
