// protozero, made safe for input that is not trusted: a field of the wrong wire
// type, which protozero takes for a bug of its caller (an assert), throws like
// everything else that is malformed. Include protozero through here only, lest
// two definitions of its inline functions meet.
#pragma once

#include <protozero/exception.hpp>

#define protozero_assert(condition) \
  ((condition) ? static_cast<void>(0) : throw ::protozero::unknown_pbf_wire_type_exception())

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>
