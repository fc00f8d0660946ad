# find_package(waybill COMPONENTS ...): every room is installed with a small file of its own that
# finds what the room needs, so that a user of core + sqlite never looks for libpq.

include_guard(GLOBAL)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(WAYBILL_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/waybill")

# waybill_install_room(<name> [NEEDS room...] [PACKAGES "package args"...]): called by waybill_room.
function(waybill_install_room name)
    cmake_parse_arguments(PARSE_ARGV 1 room "" "" "NEEDS;PACKAGES")
    install(TARGETS waybill_${name} EXPORT waybill-${name}
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(EXPORT waybill-${name}
        NAMESPACE waybill::
        FILE waybill-${name}-targets.cmake
        DESTINATION "${WAYBILL_PACKAGE_DIR}")

    set(text "include(CMakeFindDependencyMacro)\n")
    foreach(package IN LISTS room_PACKAGES)
        string(APPEND text "find_dependency(${package})\n")
    endforeach()
    foreach(need IN LISTS room_NEEDS)
        string(APPEND text "include(\"\${CMAKE_CURRENT_LIST_DIR}/waybill-${need}.cmake\")\n")
    endforeach()
    string(APPEND text "include(\"\${CMAKE_CURRENT_LIST_DIR}/waybill-${name}-targets.cmake\")\n")
    set(room_file "${PROJECT_BINARY_DIR}/package/waybill-${name}.cmake")
    file(CONFIGURE OUTPUT "${room_file}" CONTENT "${text}" @ONLY)
    install(FILES "${room_file}" DESTINATION "${WAYBILL_PACKAGE_DIR}")
    set_property(GLOBAL APPEND PROPERTY WAYBILL_ROOMS ${name})
endfunction()

# waybill_install_headers(<header>...): public headers, named relative to include/.
function(waybill_install_headers)
    foreach(header IN LISTS ARGN)
        cmake_path(GET header PARENT_PATH folder)
        install(FILES "${PROJECT_SOURCE_DIR}/include/${header}"
            DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${folder}")
    endforeach()
endfunction()

# waybill_install_package(): the package's front door; call it after all rooms.
function(waybill_install_package)
    get_property(rooms GLOBAL PROPERTY WAYBILL_ROOMS)
    list(JOIN rooms " " WAYBILL_ROOMS)
    set(package "${PROJECT_BINARY_DIR}/package")
    configure_package_config_file(
        "${PROJECT_SOURCE_DIR}/cmake/waybillConfig.cmake.in" "${package}/waybillConfig.cmake"
        INSTALL_DESTINATION "${WAYBILL_PACKAGE_DIR}"
        NO_SET_AND_CHECK_MACRO)
    write_basic_package_version_file("${package}/waybillConfigVersion.cmake"
        COMPATIBILITY SameMinorVersion)
    install(FILES "${package}/waybillConfig.cmake" "${package}/waybillConfigVersion.cmake"
        DESTINATION "${WAYBILL_PACKAGE_DIR}")
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endfunction()
