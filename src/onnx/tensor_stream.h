// A tensor's row-major bytes in pieces of bounded size, from wherever they lie.
//
// Memory is flat whatever the tensor's size: contiguous bytes pass in pieces,
// and strided ones are gathered box by box, reading only the runs of the source
// that a box touches. No whole extent is read or mapped.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "ir/tensor_data.h"

namespace flambeau::onnx {

// Calls `take` for each piece in order. False as soon as a read fails or `take`
// does. Strided tensors of sub-byte types can't be read.
bool StreamBytes(const TensorData& data, const std::function<bool(std::span<const std::byte>)>& take);

}  // namespace flambeau::onnx
