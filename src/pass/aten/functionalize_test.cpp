#include "pass/aten/pass_testing.h"
#include "pass/aten/passes.h"

namespace flambeau {
namespace {

std::string Functional(std::string_view text) {
  const auto outcome = RunOn(text, {&Functionalize, &DropDeadNodes});
  return outcome->text + outcome->diagnostics;
}

TEST(Functionalize, InPlaceOperatorBecomesPure) {
  EXPECT_EQ(Functional(R"(graph(%x: f32[4]) {
  %a: f32[4] = aten::mul.Tensor(self=%x, other=2)
  %b: f32[4] = aten::add_.Tensor(self=%a, other=%x, alpha=1)
  %c: f32[4] = aten::relu(self=%a)
  return %b, %c
}
)"),
            R"(graph(%x: f32[4]) {
  %a: f32[4] = aten::mul.Tensor(self=%x, other=2)
  %b: f32[4] = aten::add.Tensor(self=%a, other=%x, alpha=1)
  %c: f32[4] = aten::relu(self=%b)
  return %b, %c
}
)");
}

TEST(Functionalize, WriteThroughViewsIsPutBack) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[4, 3]) {
  %a: f32[4, 3] = aten::clone(self=%x, memory_format=None)
  %row: f32[3] = aten::select.int(self=%a, dim=0, index=1)
  %part: f32[2] = aten::slice.Tensor(self=%row, dim=0, start=0, end=2, step=1)
  %t: f32[3, 4]{1, 3} = aten::t(self=%a)
  %w: f32[2] = aten::mul_.Tensor(self=%part, other=2)
  return %t, %row
}
)"),
            R"(strides known
graph(%x: f32[4, 3]) {
  %a: f32[4, 3] = aten::clone(self=%x, memory_format=None)
  %row: f32[3] = aten::select.int(self=%a, dim=0, index=1)
  %part: f32[2] = aten::slice.Tensor(self=%row, dim=0, start=0, end=2, step=1)
  %w: f32[2] = aten::mul.Tensor(self=%part, other=2)
  %0: f32[3] = aten::slice_scatter(self=%row, src=%w, dim=0, start=0, end=2, step=1)
  %1: f32[4, 3] = aten::select_scatter(self=%a, src=%0, dim=0, index=1)
  %2: f32[3, 4]{1, 3} = aten::t(self=%1)
  return %2, %0
}
)");
}

TEST(Functionalize, BufferBecomesOutput) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[2]) {
  const %count: i64[] = [0]
  const %state: f32[2] = [0.0, 0.0]
  %n: i64[] = aten::add_.Tensor(self=%count, other=1, alpha=1)
  %s: f32[2] = aten::copy_(self=%state, src=%x, non_blocking=False)
  %y: f32[2] = aten::add.Tensor(self=%state, other=%count, alpha=1)
  return %y
}
)"),
            R"(strides known
graph(%x: f32[2]) {
  const %count: i64[] = [0]
  %n: i64[] = aten::add.Tensor(self=%count, other=1, alpha=1)
  %y: f32[2] = aten::add.Tensor(self=%x, other=%n, alpha=1)
  return %y, %n, %x
}
)");
}

TEST(Functionalize, ChangedShapeIsSeenByEachName) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[4, 3]) {
  %a: f32[4, 3] = aten::relu(self=%x)
  %t: f32[3, 4]{1, 3} = aten::t_(self=%a)
  %z: f32[3, 4]{1, 3} = aten::mul_.Scalar(self=%a, other=2)
  %u: f32[3, 4]{1, 3} = aten::relu(self=%t)
  return %u
}
)"),
            R"(strides known
graph(%x: f32[4, 3]) {
  %a: f32[4, 3] = aten::relu(self=%x)
  %0: f32[3, 4]{1, 3} = aten::t(self=%a)
  %z: f32[3, 4]{1, 3} = aten::mul.Scalar(self=%0, other=2)
  %u: f32[3, 4]{1, 3} = aten::relu(self=%z)
  return %u
}
)");
}

TEST(Functionalize, OutArgumentVanishes) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[4, 3], %o: f32[4]) {
  %s: f32[4] = aten::sum.IntList_out(self=%x, dim=[1], keepdim=False, dtype=None, out=%o)
  return %s
}
)"),
            R"(strides known
graph(%x: f32[4, 3], %o: f32[4]) {
  %s: f32[4] = aten::sum.dim_IntList(self=%x, dim=[1], keepdim=False, dtype=f32)
  return %s, %s
}
)");
}

TEST(Functionalize, ComparisonKeepsTheDtype) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[4]) {
  %a: f32[4] = aten::relu(self=%x)
  %b: f32[4] = aten::gt_.Scalar(self=%a, other=0)
  return %b
}
)"),
            R"(strides known
graph(%x: f32[4]) {
  %a: f32[4] = aten::relu(self=%x)
  %b: bool[4] = aten::gt.Scalar(self=%a, other=0)
  %0: f32[4] = aten::to.dtype(self=%b, dtype=f32, non_blocking=False, copy=False, memory_format=None)
  return %0
}
)");
}

TEST(Functionalize, BatchNormInTrainingUpdatesItsStatistics) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[4, 2]) {
  const %mean: f32[2] = [0.0, 0.0]
  const %var: f32[2] = [1.0, 1.0]
  %y: f32[4, 2] = aten::batch_norm(input=%x, weight=None, bias=None, running_mean=%mean, running_var=%var, training=True, momentum=0.1, eps=1e-05, cudnn_enabled=True)
  return %y
}
)"),
            R"(strides known
graph(%x: f32[4, 2]) {
  const %mean: f32[2] = [0.0, 0.0]
  const %var: f32[2] = [1.0, 1.0]
  %y: f32[4, 2], %0: f32[2], %1: f32[2], %2: f32[2], %3: f32[2] = aten::_native_batch_norm_legit_functional(input=%x, weight=None, bias=None, running_mean=%mean, running_var=%var, training=True, momentum=0.1, eps=1e-05)
  return %y, %2, %3
}
)");
}

TEST(Functionalize, StridesDecideWhetherReshapeIsAView) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[4, 3]) {
  %a: f32[4, 3] = aten::relu(self=%x)
  %t: f32[3, 4]{1, 3} = aten::t(self=%a)
  %copy: f32[12] = aten::reshape(self=%t, shape=[-1])
  %view: f32[12] = aten::reshape(self=%a, shape=[-1])
  %w: f32[12] = aten::zero_(self=%view)
  return %copy, %a
}
)"),
            R"(strides known
graph(%x: f32[4, 3]) {
  %a: f32[4, 3] = aten::relu(self=%x)
  %t: f32[3, 4]{1, 3} = aten::t(self=%a)
  %copy: f32[12] = aten::reshape(self=%t, shape=[-1])
  %view: f32[12] = aten::reshape(self=%a, shape=[-1])
  %w: f32[12] = aten::zero(self=%view)
  %0: f32[4, 3] = aten::reshape(self=%w, shape=[4, 3])
  return %copy, %0
}
)");
}

TEST(Functionalize, UnknownAliasingIsReported) {
  EXPECT_EQ(
      Functional(R"(strides known
graph(%x: f32[4]) {
  %a: f32[4] = aten::relu(self=%x)
  %b: f32[4] = mylib::op(arg0=%a)
  %w: f32[4] = aten::zero_(self=%b)
  return %a
}
)"),
      R"(unknown-aliasing: reads 'a', which may share its memory with a tensor that was written since; the capture does not say whether it does
)");
}

TEST(Functionalize, AsStridedSeesTheMemory) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[2, 3]) {
  %a: f32[2, 3] = aten::relu(self=%x)
  %row: f32[3] = aten::select.int(self=%a, dim=0, index=1)
  %s: f32[2] = aten::as_strided(self=%row, size=[2], stride=[2], storage_offset=None)
  %w: f32[2] = aten::fill_.Scalar(self=%s, value=1)
  return %a
}
)"),
            R"(strides known
graph(%x: f32[2, 3]) {
  %a: f32[2, 3] = aten::relu(self=%x)
  %s: f32[2] = aten::as_strided(self=%a, size=[2], stride=[2], storage_offset=3)
  %w: f32[2] = aten::fill.Scalar(self=%s, value=1)
  %0: f32[2, 3] = aten::as_strided_scatter(self=%a, src=%w, size=[2], stride=[2], storage_offset=3)
  return %0
}
)");
}

TEST(Functionalize, ChunksAreSlices) {
  EXPECT_EQ(Functional(R"(strides known
symbol n in [2, 100]
graph(%x: f32[n, 6]) {
  %a: f32[n, 6] = aten::relu(self=%x)
  %p: f32[n, 2]{6, 1}, %q: f32[n, 4]{6, 1} = aten::split_with_sizes(self=%a, split_sizes=[2, 4], dim=1)
  %w: f32[n, 4]{6, 1} = aten::neg_(self=%q)
  return %a, %p
}
)"),
            R"(strides known
symbol n in [2, 100]
graph(%x: f32[n, 6]) {
  %a: f32[n, 6] = aten::relu(self=%x)
  %p: f32[n, 2]{6, 1}, %q: f32[n, 4]{6, 1} = aten::split_with_sizes(self=%a, split_sizes=[2, 4], dim=1)
  %w: f32[n, 4]{6, 1} = aten::neg(self=%q)
  %0: f32[n, 6] = aten::slice_scatter(self=%a, src=%w, dim=1, start=2, end=6, step=1)
  %1: f32[n, 2]{6, 1} = aten::slice.Tensor(self=%0, dim=1, start=0, end=2, step=1)
  return %0, %1
}
)");
}

TEST(Functionalize, OneOfSeveralNamesOfAnElementIsPutByPosition) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[1, 2]) {
  %a: f32[1, 2] = aten::relu(self=%x)
  %e: f32[3, 2]{0, 1} = aten::expand(self=%a, size=[3, 2], implicit=False)
  %r: f32[2] = aten::select.int(self=%e, dim=0, index=2)
  %w: f32[2] = aten::neg_(self=%r)
  return %e
}
)"),
            R"(strides known
graph(%x: f32[1, 2]) {
  %a: f32[1, 2] = aten::relu(self=%x)
  %e: f32[3, 2]{0, 1} = aten::expand(self=%a, size=[3, 2], implicit=False)
  %r: f32[2] = aten::select.int(self=%e, dim=0, index=2)
  %w: f32[2] = aten::neg(self=%r)
  %0: i64[2]{?} = aten::arange(end=2, dtype=i64, layout=None, device=None, pin_memory=None)
  %1: i64[1, 2]{?} = aten::reshape(self=%0, shape=[1, 2])
  %2: i64[3, 2]{?} = aten::expand(self=%1, size=[3, 2], implicit=False)
  %3: i64[2]{?} = aten::select.int(self=%2, dim=0, index=2)
  %4: f32[1, 2] = aten::put(self=%a, index=%3, source=%w, accumulate=False)
  %5: f32[3, 2]{0, 1} = aten::expand(self=%4, size=[3, 2], implicit=False)
  return %5
}
)");
}

TEST(Functionalize, ListsAreWrittenElementByElement) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[2], %y: f32[3]) {
  %a: f32[2] = aten::relu(self=%x)
  %b: f32[3] = aten::relu(self=%y)
  aten::_foreach_mul_.Scalar(self=[%a, %b], scalar=2)
  return %a, %b
}
)"),
            R"(strides known
graph(%x: f32[2], %y: f32[3]) {
  %a: f32[2] = aten::relu(self=%x)
  %b: f32[3] = aten::relu(self=%y)
  %0: f32[2], %1: f32[3] = aten::_foreach_mul.Scalar(self=[%a, %b], scalar=2)
  return %0, %1
}
)");
}

TEST(Functionalize, PermutedMemoryIsPutInOrderForAsStrided) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[3, 2]{1, 3}) {
  %s: f32[2] = aten::as_strided(self=%x, size=[2], stride=[1], storage_offset=1)
  %w: f32[2] = aten::zero_(self=%s)
  return %x
}
)"),
            R"(strides known
graph(%x: f32[3, 2]{1, 3}) {
  %0: f32[2, 3]{?} = aten::permute(self=%x, dims=[1, 0])
  %s: f32[2] = aten::as_strided(self=%0, size=[2], stride=[1], storage_offset=1)
  %w: f32[2] = aten::zero(self=%s)
  %1: f32[2, 3]{?} = aten::permute(self=%x, dims=[1, 0])
  %2: f32[2, 3]{?} = aten::as_strided_scatter(self=%1, src=%w, size=[2], stride=[1], storage_offset=1)
  %3: f32[3, 2]{1, 3} = aten::permute(self=%2, dims=[1, 0])
  return %3, %3
}
)");
}

TEST(Functionalize, BodiesMayWriteOnlyTheirOwn) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[2], %p: bool[]) {
  %y: f32[2] = higher_order::cond(arg0=%p, arg1=(%i: f32[2]) {
    %j: f32[2] = aten::zero_(self=%i)
    return %j
  }, arg2=(%k: f32[2]) {
    %l: f32[2] = aten::clone(self=%k, memory_format=None)
    %m: f32[2] = aten::neg_(self=%l)
    return %l
  }, arg3=[%x])
  return %y
}
)"),
            R"(unsupported-form: writes to an input of a nested graph
)");
}

TEST(Functionalize, ResizingHasNoPureForm) {
  EXPECT_EQ(Functional(R"(graph(%x: f32[2]) {
  %a: f32[2] = aten::relu(self=%x)
  %b: f32[4] = aten::set_(self=%a)
  return %b
}
)"),
            R"(unsupported-form: writes to its argument, and has no pure counterpart
)");
}

TEST(Functionalize, ATensorThatIsReturnedAsItIsFollowsChangesOfShape) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[2, 3]) {
  %a: f32[2, 3] = aten::relu(self=%x)
  %b: f32[2, 3] = aten::to.dtype(self=%a, dtype=f32, non_blocking=False, copy=False, memory_format=None)
  %v: f32[2, 3] = aten::view(self=%a, size=[2, 3])
  %c: f32[3, 2]{1, 3} = aten::t_(self=%a)
  return %b, %v
}
)"),
            R"(strides known
graph(%x: f32[2, 3]) {
  %a: f32[2, 3] = aten::relu(self=%x)
  %v: f32[2, 3] = aten::view(self=%a, size=[2, 3])
  %0: f32[3, 2]{1, 3} = aten::t(self=%a)
  return %0, %v
}
)");
}

TEST(Functionalize, ATensorIsSetToAnothersMemory) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[2, 3]) {
  %a: f32[2, 3] = aten::relu(self=%x)
  %b: f32[3] = aten::sin(self=%x)
  %c: f32[2, 3] = aten::set_.source_Tensor(self=%b, source=%a)
  %d: f32[2, 3] = aten::zero_(self=%b)
  return %a, %b
}
)"),
            R"(strides known
graph(%x: f32[2, 3]) {
  %a: f32[2, 3] = aten::relu(self=%x)
  %d: f32[2, 3] = aten::zero(self=%a)
  return %d, %d
}
)");
}

TEST(Functionalize, ResizingSeesTheSameMemory) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[2, 3]) {
  %a: f32[2, 3] = aten::relu(self=%x)
  %b: f32[4] = aten::resize_(self=%a, size=[4], memory_format=None)
  %c: f32[4] = aten::zero_(self=%b)
  return %a
}
)"),
            R"(strides known
graph(%x: f32[2, 3]) {
  %a: f32[2, 3] = aten::relu(self=%x)
  %0: f32[4] = aten::as_strided(self=%a, size=[4], stride=[1], storage_offset=0)
  %c: f32[4] = aten::zero(self=%0)
  return %c
}
)");
  EXPECT_EQ(Functional(R"(graph(%x: f32[2]) {
  %a: f32[2] = aten::relu(self=%x)
  %b: f32[4] = aten::resize_(self=%a, size=[4], memory_format=None)
  return %b
}
)"),
            R"(unsupported-form: resize_ to more elements than the memory has: the new ones are undefined
)");
}

TEST(Functionalize, StridesAreThoseOfTheCaptureNotOfWhatWasCopied) {
  EXPECT_EQ(Functional(R"(strides known
graph(%x: f32[3, 2], %y: f32[2, 3]) {
  %a: f32[3, 2] = aten::relu(self=%x)
  %t: f32[2, 3]{1, 2} = aten::t(self=%a)
  %w: f32[2, 3]{1, 2} = aten::copy_(self=%t, src=%y, non_blocking=False)
  %c: f32[2, 3] = aten::contiguous(self=%w, memory_format=contiguous)
  %z: f32[2, 3] = aten::zero_(self=%c)
  return %t, %c
}
)"), R"(strides known
graph(%x: f32[3, 2], %y: f32[2, 3]) {
  %c: f32[2, 3] = aten::contiguous(self=%y, memory_format=contiguous)
  %z: f32[2, 3] = aten::zero(self=%c)
  return %y, %z
}
)");
}

TEST(Functionalize, TimeIsLinearInWritesAndReads) {
  std::string text = "strides known\ngraph(%x: f32[4000]) {\n  %a: f32[4000] = aten::relu(self=%x)\n";
  for (int i = 0; i < 4000; ++i) {
    const std::string n = std::to_string(i);
    text += "  %v" + n + ": f32[] = aten::select.int(self=%a, dim=0, index=" + n + ")\n";
    text += "  %w" + n + ": f32[] = aten::neg_(self=%v" + n + ")\n";
  }
  const auto outcome = RunOn(text + "  return %a\n}\n", {&Functionalize});
  EXPECT_EQ(outcome->diagnostics, "");
  // One select, one neg and one scatter each: no view is derived again.
  EXPECT_EQ(outcome->program.graph.live_nodes(), 1u + 3 * 4000);
}

}  // namespace
}  // namespace flambeau
