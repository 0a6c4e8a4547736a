// Exponentials and logarithms that keep their digits where the result is near 0. Of float64.
#pragma once

#include "onnx/series.h"

namespace flambeau::onnx {

// log(1 + u): the rounding of 1 + u is made good for.
inline Tensor Log1p(Builder& to, const Tensor& u) {
  const Tensor one = Double(to, 1), w = to.Add(u, one), gained = to.Sub(w, one);
  const Tensor as_it_is = to.Or(to.Equal(gained, Double(to, 0)), to.IsInf(u, {.detect_negative = 0}));
  return to.Where(as_it_is, u, to.Mul(to.Log(w), to.Div(u, to.Where(as_it_is, one, gained))));
}

// exp(u) - 1: by how much the rounding of exp(u) moved u, the difference is made larger.
inline Tensor Expm1(Builder& to, const Tensor& u) {
  const Tensor one = Double(to, 1), w = to.Exp(u), gained = to.Sub(w, one), is_one = to.Equal(gained, Double(to, 0));
  const Tensor near = to.Mul(gained, to.Div(u, to.Log(to.Where(is_one, Double(to, 2), w))));
  return to.Where(to.Less(to.Abs(u), one), to.Where(is_one, u, near), gained);
}

}  // namespace flambeau::onnx
