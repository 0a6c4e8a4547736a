// stft and istft: transforms of windows that a signal is cut into.
#include "lower/op.h"
#include "lower/ops/arithmetic.h"
#include "lower/ops/complex.h"
#include "lower/ops/fourier.h"
#include "lower/ops/geometry.h"
#include "lower/ops/padding.h"
#include "lower/ops/views.h"
#include "onnx/complex.h"

namespace flambeau::lower {
namespace {

// How frames lie on a signal.
struct Frames {
  int64_t length;  // n_fft
  Dim hop;
  int64_t window;  // the length of the window, in the middle of each frame

  Frames(Lowering& to, int64_t n_fft, std::optional<Dim> hop_length, std::optional<int64_t> win_length)
      : length(n_fft), hop(hop_length.value_or(to.Of(n_fft / 4))), window(win_length.value_or(n_fft)) {}
};

constexpr Restriction kAlignToWindow = {
    "align_to_window", "torch.stft(x, 16, center=False, align_to_window=True, return_complex=True)"};

// The window filled up with zeros to the frames' length, in its own dtype; absent if it is all ones, which are of `dtype`.
Tensor FullWindow(Lowering& to, const Frames& frames, std::optional<Tensor> window, DType dtype) {
  if (!window && frames.window == frames.length) return {};
  const int64_t one = 1;
  const double unit[] = {1.0};
  const Tensor full = window ? *window : to.ExpandTo(to.ConstantFloats(unit, dtype, {&one, 1}), Dims{to.Of(frames.window)});
  const int64_t left = (frames.length - frames.window) / 2;
  return Pad(to, full, {to.Of(left), to.Of(frames.length - frames.window - left)}, "constant", std::nullopt);
}

Tensor Stft(Lowering& to, Tensor self, int64_t n_fft, std::optional<Dim> hop_length,
            std::optional<int64_t> win_length, std::optional<Tensor> window, bool normalized,
            std::optional<bool> onesided, std::optional<bool> return_complex, std::optional<bool> align_to_window) {
  if (align_to_window.value_or(false)) return to.Unsupported(kAlignToWindow);
  const Frames frames(to, n_fft, hop_length, win_length);
  Tensor cut = Unfold(to, self, -1, to.Of(frames.length), frames.hop);
  const DType part = RealDtype(self);
  if (const Tensor weights = FullWindow(to, frames, window, part)) cut = Mul(to, cut, weights);
  const Normalization norm = normalized ? Normalization::kByRoot : Normalization::kNone;
  const Tensor spectra = cut.is_complex() ? FourierC2c(to, cut, {-1}, norm, true)
                                          : FourierR2c(to, cut, {-1}, norm, onesided.value_or(true));
  const Tensor result = TransposeInt(to, spectra, -2, -1);
  return return_complex.value_or(false) ? result : onnx::Pairs(to, result);
}

Tensor StftCenter(Lowering& to, Tensor self, int64_t n_fft, std::optional<Dim> hop_length,
                  std::optional<int64_t> win_length, std::optional<Tensor> window, bool center,
                  std::string_view pad_mode, bool normalized, std::optional<bool> onesided,
                  std::optional<bool> return_complex, std::optional<bool> align_to_window) {
  if (center) self = Pad(to, self, {to.Of(n_fft / 2), to.Of(n_fft / 2)}, pad_mode, std::nullopt);
  return Stft(to, self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window);
}

// The sums of frames [count, length, …] where they overlap: [count·hop + rest, …].
Tensor OverlapAdd(Lowering& to, const Frames& frames, Tensor cut, Dim total) {
  const Dim count = cut.size(0), length = to.Of(frames.length);
  const Tensor positions = StridedPositions(to, {count, length}, {frames.hop, to.Of(1)}, to.Of(0));
  Dims sizes = cut.sizes();
  sizes.erase(sizes.begin());
  sizes[0] = total;
  const Tensor silence = to.Full(sizes, 0.0, cut.dtype());
  return Sized(to, to.ScatterND(silence, to.UnsqueezeAt(positions, {2}), cut, {.reduction = "add"}), sizes);
}

Tensor Istft(Lowering& to, Tensor self, int64_t n_fft, std::optional<Dim> hop_length,
             std::optional<int64_t> win_length, std::optional<Tensor> window, bool center, bool normalized,
             std::optional<bool> onesided, std::optional<Dim> length, bool return_complex) {
  if (!self.is_complex() && self.rank() > 2 && to.AsConstant(self.size(-1)) == 2) self = onnx::OfPairs(to, self);  // before torch 2.0
  if (!self.is_complex() || (self.rank() != 2 && self.rank() != 3)) throw onnx::BadOperand("takes a complex spectrum of two or three dimensions");
  const Frames frames(to, n_fft, hop_length, win_length);
  const Tensor spectra = TransposeInt(to, self, -2, -1);  // [batch?, frames, frequencies]
  const Normalization norm = normalized ? Normalization::kByRoot : Normalization::kByCount;
  const bool real = onesided.value_or(!return_complex);
  Tensor cut;
  if (return_complex) {
    cut = FourierC2c(to, spectra, {-1}, norm, false);
  } else {
    const Tensor half = real ? spectra : to.SliceAxis(spectra, spectra.rank() - 1, to.Of(0), to.Of(n_fft / 2 + 1));
    cut = FourierC2r(to, half, {-1}, norm, to.Of(n_fft));
  }
  const DType part = onnx::PartDtype(self.dtype());
  Tensor weights = FullWindow(to, frames, window, part);
  if (!weights) weights = to.Full(Dims{to.Of(n_fft)}, 1.0, part);
  cut = Mul(to, cut, weights);
  // Frames and their elements lead, the batch follows.
  if (cut.rank() == 3) cut = to.Permute(cut, {1, 2, 0});
  const Dim count = cut.size(0);
  const Dim total = to.Plus(to.Times(to.Minus(count, to.Of(1)), frames.hop), to.Of(n_fft));
  const Tensor squares = to.ExpandTo(to.Mul(weights, weights), Dims{count, to.Of(n_fft)});
  Tensor envelope = OverlapAdd(to, frames, squares, total), sum = OverlapAdd(to, frames, cut, total);

  const Dim start = to.Of(center ? n_fft / 2 : 0);
  const Dim end = length ? to.Plus(start, *length) : center ? to.Minus(total, to.Of(n_fft / 2)) : total;
  auto kept = [&](const Tensor& tensor) { return to.SliceAxis(tensor, 0, start, end); };
  sum = kept(sum);
  envelope = kept(envelope);
  if (sum.rank() == 2) envelope = to.UnsqueezeAt(envelope, {1});
  Tensor signal = Div(to, sum, envelope);
  if (signal.rank() == 2) signal = to.Transpose(signal, {.perm = {1, 0}});
  // What the frames do not reach is silence.
  const Dim beyond = to.Minus(end, total);
  const auto missing = to.AsConstant(beyond);
  if (length && missing.value_or(1) > 0)
    signal = PadEnd(to, signal, signal.rank() - 1, {to.exprs().Max(beyond.expr, to.exprs().Constant(0))});
  return Sized(to, signal, WithSize(signal.sizes(), signal.rank() - 1, to.Minus(end, start)));
}

constexpr OpRow kRows[] = {
    Op<Istft>("aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
              "bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool "
              "return_complex=False) -> Tensor"),
    Op<Stft>("aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
             "normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
             &kAlignToWindow),
    Op<StftCenter>("aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
                   "window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, bool? "
                   "onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
                   &kAlignToWindow),
};

}  // namespace

std::span<const OpRow> Spectrograms() { return kRows; }

}  // namespace flambeau::lower
