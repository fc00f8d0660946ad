# The seeds CI runs, and one test per planted bug: the checker is checked.

math(EXPR seeds_timeout "180 * ${WAYBILL_TIMEOUT_SCALE}")
math(EXPR catches_timeout "60 * ${WAYBILL_TIMEOUT_SCALE}")

# WAYBILL_SIM_SEEDS in the environment says how many; 2,000 unless told. One seed in a hundred runs
# twice and must leave the same history.
add_test(NAME simulation.seeds COMMAND waybill_simulation --jobs 2)
set_tests_properties(simulation.seeds PROPERTIES
    LABELS simulation TIMEOUT ${seeds_timeout} PROCESSORS 2)

# What longer looks found once.
add_test(NAME simulation.what_was_started_alone_is_not_blamed_for_what_ran_beside_it
    COMMAND waybill_simulation --seed 43586)
set_tests_properties(simulation.what_was_started_alone_is_not_blamed_for_what_ran_beside_it PROPERTIES
    LABELS simulation TIMEOUT ${catches_timeout})

# Before a release: cmake --build build/release --target simulation_long
add_custom_target(simulation_long
    COMMAND waybill_simulation --seeds 0..49999 --jobs 2
    USES_TERMINAL VERBATIM)

# That a bug is caught does not depend on the sanitizer; the seeds above run under it.
if(WAYBILL_SANITIZE)
    return()
endif()

# The names are read from their source, so that no planted bug can be left out.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/mutation.cpp" lines REGEX "MutationInfo{M::")
set_property(DIRECTORY APPEND PROPERTY
    CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/mutation.cpp")
foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*M::([a-z0-9_]+).*" "\\1" mutation "${line}")
    add_test(NAME simulation.catches.${mutation}
        COMMAND waybill_simulation --mutation ${mutation} --seeds 0..499 --expect-violation)
    set_tests_properties(simulation.catches.${mutation} PROPERTIES
        LABELS simulation TIMEOUT ${catches_timeout})
endforeach()
