// Functions of complex numbers by functions of their parts.
#pragma once

#include <string_view>

#include "onnx/complex.h"

namespace flambeau::onnx {

// True where the sign bit is set, also of -0.
Tensor HasSign(Builder& to, const Tensor& x);
// The angle of (x, y): atan2(y, x).
Tensor Angle(Builder& to, const Tensor& y, const Tensor& x);

// The operators that stand for functions of complex numbers; nullptr for others.
using UnaryFunction = Parts (*)(Builder& to, const Parts& z);
using BinaryFunction = Parts (*)(Builder& to, const Parts& a, const Parts& b);
UnaryFunction ComplexFunction(std::string_view op);
BinaryFunction ComplexOperation(std::string_view op);
// |z|, without overflow on the way.
Tensor Magnitude(Builder& to, const Parts& z);

}  // namespace flambeau::onnx
