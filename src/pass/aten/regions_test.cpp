#include "pass/aten/pass_testing.h"
#include "pass/aten/passes.h"

namespace flambeau {
namespace {

std::string Inlined(std::string_view text) {
  const auto outcome = RunOn(text, {&InlineRegions});
  return outcome->text + outcome->diagnostics;
}

std::string Cleaned(std::string_view text) {
  const auto outcome = RunOn(text, {&DropGuards, &DropDeadNodes});
  return outcome->text + outcome->diagnostics;
}

TEST(InlineRegions, NestedWrappersJoinTheirParent) {
  EXPECT_EQ(Inlined(R"(graph(%x: f32[2]) {
  %a: f32[2] = higher_order::wrap_with_set_grad_enabled(arg0=False, arg1=(%i: f32[2]) {
    %m: f32[2] = aten::mul.Tensor(self=%i, other=2)
    %n: f32[2] = higher_order::wrap(arg0=(%j: f32[2]) {
      %k: f32[2] = aten::relu(self=%j)
      return %k
    }, arg1=%m)
    %o: f32[2] = aten::neg(self=%n)
    return %o
  }, arg2=%x)
  %y: f32[2] = aten::add.Tensor(self=%a, other=%x, alpha=1)
  return %y
}
)"),
            R"(graph(%x: f32[2]) {
  %m: f32[2] = aten::mul.Tensor(self=%x, other=2)
  %k: f32[2] = aten::relu(self=%m)
  %o: f32[2] = aten::neg(self=%k)
  %y: f32[2] = aten::add.Tensor(self=%o, other=%x, alpha=1)
  return %y
}
)");
}

TEST(Autocast, CastsWhatItsTableSays) {
  EXPECT_EQ(Inlined(R"(graph(%x: f32[2, 2], %w: f32[2, 2]) {
  %a: bf16[2, 2], %b: f32[2, 2], %c: f32[] = higher_order::wrap_with_autocast(arg0="cpu", arg1=bf16, arg2=True, arg3=None, arg4=(%i: f32[2, 2], %j: f32[2, 2]) {
    %m: bf16[2, 2] = aten::mm(self=%i, mat2=%j)
    %n: bf16[2, 2] = aten::linear(input=%i, weight=%j, bias=None)
    %o: f32[2, 2] = higher_order::wrap_with_autocast(arg0="cpu", arg1=bf16, arg2=False, arg3=None, arg4=(%k: f32[2, 2]) {
      %p: f32[2, 2] = aten::mm(self=%k, mat2=%k)
      return %p
    }, arg5=%i)
    %l: f32[] = aten::mse_loss(self=%m, target=%n, reduction=1)
    return %m, %o, %l
  }, arg5=%x, arg6=%w)
  return %a, %b, %c
}
)"),
            R"(graph(%x: f32[2, 2], %w: f32[2, 2]) {
  %0: bf16[2, 2] = aten::to.dtype(self=%x, dtype=bf16, non_blocking=False, copy=False, memory_format=None)
  %1: bf16[2, 2] = aten::to.dtype(self=%w, dtype=bf16, non_blocking=False, copy=False, memory_format=None)
  %m: bf16[2, 2] = aten::mm(self=%0, mat2=%1)
  %n: bf16[2, 2] = aten::linear(input=%0, weight=%1, bias=None)
  %p: f32[2, 2] = aten::mm(self=%x, mat2=%x)
  %2: f32[2, 2] = aten::to.dtype(self=%m, dtype=f32, non_blocking=False, copy=False, memory_format=None)
  %3: f32[2, 2] = aten::to.dtype(self=%n, dtype=f32, non_blocking=False, copy=False, memory_format=None)
  %l: f32[] = aten::mse_loss(self=%2, target=%3, reduction=1)
  return %m, %p, %l
}
)");
}

TEST(Autocast, ReportsWhatItCannotExplain) {
  EXPECT_EQ(Inlined(R"(graph(%x: f32[2, 2]) {
  %a: f16[2, 2] = higher_order::wrap_with_autocast(arg0="cpu", arg1=bf16, arg2=True, arg3=None, arg4=(%i: f32[2, 2]) {
    %m: f16[2, 2] = aten::mm(self=%i, mat2=%i)
    return %m
  }, arg5=%x)
  return %a
}
)"),
            R"(bad-program: under autocast, its result is recorded as float16 and would be bfloat16
)");
}

TEST(DropGuards, AssertionsGoWithTheirConditions) {
  EXPECT_EQ(Cleaned(R"(graph(%x: f32[u0]) {
  %n: int(u0) = aten::sym_size.int(self=%x, dim=0)
  %c: bool = _operator::ge(a=%n, b=0)
  aten::_assert_scalar(self=%c, assert_msg="size")
  %d: f32[u0] = aten::detach(self=%x)
  %y: f32[u0] = aten::relu(self=%d)
  return %y
}
)"),
            R"(graph(%x: f32[u0]) {
  %y: f32[u0] = aten::relu(self=%x)
  return %y
}
)");
}

TEST(DropStateOutputs, NamesWhatIsDropped) {
  const auto outcome = RunOn(R"(graph(%x: f32[2]) {
  const %state: f32[2] = [0.0, 0.0]
  %s: f32[2] = aten::add_.Tensor(self=%state, other=%x, alpha=1)
  %y: f32[2] = aten::mul.Tensor(self=%x, other=2)
  return %y
}
)",
                             {&Functionalize, &DropStateOutputs, &DropDeadNodes});
  EXPECT_EQ(outcome->text + outcome->diagnostics, R"(graph(%x: f32[2]) {
  %y: f32[2] = aten::mul.Tensor(self=%x, other=2)
  return %y
}
ignored-mutation: the model writes 'state'; the new values are not outputs
)");
}

TEST(DropStateOutputs, NamesNothingThatIsAnOutputAsWell) {
  const auto outcome = RunOn(R"(graph(%x: f32[2], %state: f32[2]) {
  %s: f32[2] = aten::add_.Tensor(self=%state, other=%x, alpha=1)
  return %s
}
)",
                             {&Functionalize, &DropStateOutputs, &DropDeadNodes});
  EXPECT_EQ(outcome->text + outcome->diagnostics, R"(graph(%x: f32[2], %state: f32[2]) {
  %s: f32[2] = aten::add.Tensor(self=%state, other=%x, alpha=1)
  return %s
}
)");
}

}  // namespace
}  // namespace flambeau
