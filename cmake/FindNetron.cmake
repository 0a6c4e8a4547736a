# The Python package netron, two files of which lay out and draw the graph of an
# HTML report: Netron_DIR is its folder. They are no public interface, so the
# version is exact. It is taken from FLAMBEAU_NETRON_DIR, from Python, or fetched by pip.
set(Netron_VERSION 9.3.3)
set(FLAMBEAU_NETRON_DIR "" CACHE PATH "the folder netron of the Python package netron ${Netron_VERSION}; empty: Python's own, or fetched by pip")

function(flambeau_find_netron result)
  set(${result} "" PARENT_SCOPE)
  find_program(FLAMBEAU_PYTHON DOC "the Python whose netron is taken" NAMES python python3 HINTS ${PROJECT_SOURCE_DIR}/.venv/bin)
  foreach(python IN ITEMS ${Python_EXECUTABLE} ${FLAMBEAU_PYTHON})
    execute_process(
      COMMAND ${python} -c "import importlib.metadata as m; d = m.distribution('netron'); print(d.version, d.locate_file('netron'), sep=';')"
      OUTPUT_VARIABLE found ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(POP_FRONT found version)
    if(version STREQUAL Netron_VERSION AND EXISTS "${found}/dagre.js")
      set(${result} "${found}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(folder ${CMAKE_BINARY_DIR}/netron-${Netron_VERSION})
  if(NOT EXISTS ${folder}/netron/dagre.js)
    message(STATUS "Fetching netron ${Netron_VERSION}, which draws the graphs of reports, by pip")
    execute_process(COMMAND ${FLAMBEAU_PYTHON} -m pip install -q --disable-pip-version-check --no-deps --only-binary :all: --target ${folder} netron==${Netron_VERSION})
  endif()
  if(EXISTS ${folder}/netron/dagre.js)
    set(${result} ${folder}/netron PARENT_SCOPE)
  endif()
endfunction()

if(FLAMBEAU_NETRON_DIR)
  set(Netron_DIR ${FLAMBEAU_NETRON_DIR})
else()
  flambeau_find_netron(Netron_DIR)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Netron REQUIRED_VARS Netron_DIR VERSION_VAR Netron_VERSION
  REASON_FAILURE_MESSAGE "the HTML report needs the Python package netron ${Netron_VERSION}: python3 -m pip install netron==${Netron_VERSION}, or -DFLAMBEAU_NETRON_DIR=<its folder netron>")
