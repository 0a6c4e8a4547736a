#include "onnx/error_function.h"

#include <array>
#include <cmath>

#include "onnx/series.h"

namespace flambeau::onnx {

// t·e^P(2t - 1), t = 2/(2 + x).
Tensor ErfcxOfPositive(Builder& to, const Tensor& x) {
  constexpr double kP[] = {-0.67179408405669061,    0.67264322398017962,     0.047343306841417986,
                           -0.046895610418681115,   -0.0098726893426139654,  0.008824942672707262,
                           0.0017589331032680381,   -0.0023458540720140393,  -0.0001462423735224591,
                           0.00067391074078981708,  -9.3761248618608189e-05, -0.00017508628965549918,
                           7.1498465561404097e-05,  3.3420614152447094e-05,  -3.0428076386698545e-05,
                           -2.1621440053924417e-06, 8.9624080181708415e-06,  -9.5809344428278314e-07,
                           -1.7211492251897617e-06, 2.347524189817291e-07,   1.6368645041578594e-07};
  const Tensor t = to.Div(Double(to, 2), to.Add(x, Double(to, 2)));
  const Tensor u = to.Sub(to.Mul(t, Double(to, 2)), Double(to, 1));
  return to.Mul(t, to.Exp(PowerSeries(to, u, kP)));
}

// Below 2 Taylor's series, which keeps the digits of small numbers; above it
// the complement, which has vanished long before x² overflows.
Tensor ErfOfDouble(Builder& to, const Tensor& x) {
  constexpr size_t kTerms = 32;  // the next is below 1e-18
  std::array<double, kTerms> taylor;
  for (size_t n = 0; n < kTerms; ++n) {
    const double k = static_cast<double>(n);
    taylor[n] = (n % 2 == 0 ? M_2_SQRTPI : -M_2_SQRTPI) / (std::tgamma(k + 1) * (2 * k + 1));
  }
  const Tensor one = Double(to, 1), magnitude = to.Abs(x);
  const Tensor is_small = to.Less(magnitude, Double(to, 2));
  const Tensor small = to.Where(is_small, x, Double(to, 0));  // powers of large numbers would overflow
  const Tensor near = to.Mul(small, PowerSeries(to, to.Mul(small, small), taylor));
  const Tensor complement = to.Mul(to.Exp(to.Neg(to.Mul(x, x))), ErfcxOfPositive(to, magnitude));
  const Tensor far = to.Mul(to.Sign(x), to.Sub(one, complement));
  return to.Where(is_small, near, far);
}

}  // namespace flambeau::onnx
