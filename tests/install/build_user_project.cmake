# cmake -P: install BUILD_DIR into a fresh prefix, then configure, build and run PROJECT against it.
# With EXPECT_ERROR the configuration must fail and say so.

function(step)
    execute_process(COMMAND ${ARGN}
        RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT status EQUAL 0)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command}\nfailed (${status}):\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
set(prefix "${WORK_DIR}/prefix")
step("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")

list(JOIN CXX_FLAGS " " flags)
set(configure
    "${CMAKE_COMMAND}" -S "${PROJECT}" -B "${WORK_DIR}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${flags}" "-DCMAKE_PREFIX_PATH=${prefix}")

if(EXPECT_ERROR)
    execute_process(COMMAND ${configure}
        RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    # CMake wraps long messages: compare without line breaks.
    string(REGEX REPLACE "[ \n]+" " " flat "${output}")
    string(FIND "${flat}" "${EXPECT_ERROR}" found)
    if(status EQUAL 0 OR found EQUAL -1)
        message(FATAL_ERROR "expected to fail with: ${EXPECT_ERROR}\nstatus ${status}:\n${output}")
    endif()
    return()
endif()

step(${configure})
step("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
step("${WORK_DIR}/build/consumer")
