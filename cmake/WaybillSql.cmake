# SQL lives in .sql files (docs/adr/0004) and is compiled in: nothing is read at run time, and a
# statement that does not exist is a build error.

include_guard(GLOBAL)

# waybill_embed_sql(<room> NAMESPACE name QUERIES file... MIGRATIONS file...)
#
# Generates sql.hpp with a Query per named statement, and gives it to the room's sources.
function(waybill_embed_sql room)
    cmake_parse_arguments(PARSE_ARGV 1 sql "" "NAMESPACE" "QUERIES;MIGRATIONS")
    list(TRANSFORM sql_QUERIES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    list(TRANSFORM sql_MIGRATIONS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    list(JOIN sql_QUERIES "|" queries)
    list(JOIN sql_MIGRATIONS "|" migrations)
    set(out "${CMAKE_CURRENT_BINARY_DIR}/generated/${room}/sql.hpp")
    set(script "${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake")
    add_custom_command(OUTPUT "${out}"
        COMMAND "${CMAKE_COMMAND}"
            -D "OUT=${out}" -D "NAMESPACE=${sql_NAMESPACE}"
            -D "QUERIES=${queries}" -D "MIGRATIONS=${migrations}" -P "${script}"
        DEPENDS ${sql_QUERIES} ${sql_MIGRATIONS} "${script}"
        VERBATIM
        COMMENT "Embedding the SQL of ${room}")
    target_sources(waybill_${room} PRIVATE "${out}")
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/generated/${room}")
    target_include_directories(waybill_${room} PRIVATE "${folder}")
    # For tests that look inside.
    set_target_properties(waybill_${room} PROPERTIES WAYBILL_GENERATED "${folder}")
endfunction()
