#include "ir/print.h"

#include <gtest/gtest.h>

#include "ir/parse.h"

namespace flambeau {
namespace {

std::string Reprint(std::string_view text) {
  Context context;
  Sink sink;
  const Result<Graph> graph = ParseGraph(text, context, sink);
  if (!graph) {
    const Diagnostic& d = sink.diagnostics().at(0);
    return d.location.source + ": " + d.message;
  }
  return PrintGraph(*graph);
}

// Texts in the printer's own form.
constexpr std::string_view kTexts[] = {
    R"(graph() {
  return
}
)",
    R"(strides known
symbol batch in [1, 1024]
symbol n unbacked in [-3, oo]
graph(%x: f32[batch, 64], %n: int(n), %"odd/name": f16[2]{?}) {
  const %w: f32[8, 64] = data("model.pt2", 4096)
  const %v: f32[8, 64] = f32[8, 64]{1, 8} data("model.pt2:1", 0)
  const %b: f32[2] = [0.5, inf]
  const %h: f16[2] = hex 003c00bc
  const %i: i64[2]=(3, -4) = [3, -4]
  %0: f32[64, 8]{1, 64} = aten::t(self=%w)  # fc1, model.py:17
  %y: f32[batch, 8] = aten::addmm(self=%b, mat1=%x, mat2=%0, beta=1, alpha=1.0)  # fc1, model.py:17
  %1: f32[n + 2] = aten::view(self=%y, size=[%n, None, 4])  # "a, b"
  %a: f32[*], %c: unknown = foo @"my node"(%h, _, %v, %"odd/name", x=None, y=True, z=nan)
  aten::_assert(self=%i)  # model.py:3
  return %1, _
}
)",
    R"(graph(%p: bool(?0), %t: token, %s: seq(f32[*]), %m: optional(f32[2]), %n: optional(seq(f32[*])), %o: object, %f: float, %str: string, %none: none) {
  %0: f32[2] = aten::cond(pred=%p, then=(%1: f32[2], %2: i64[]=(?1)) {
    %3: f32[2] = If(%p, then_branch=() {
      return %1
    }, else_branch=(%4: f32[2]) {
      %5: f32[2] = Neg(%4)  # inner
      return %5
    })
    return %3
  }, else=() {
    return %f
  }, more=3)  # outer, m.py:1
  bar(a=[1, 2], b=[], c=floats[], d=[1.5, -inf], e=bools[], f=[True], g=strings[], h=["x\n\"", "\xff"], i=operands[1, True], j=f32, k=strided, l=channels_last_3d, m=device("cuda:0"), n=complex(0.0, -1.5), o=tensor(bool[2], [True, False]), p=[%f, None], q=1e-300, t=type(optional(seq(f32[2]))), "r s"=-9223372036854775808)
  return %0
}
)",
    R"(graph(%x: f32[2*a + b - 1, floor((a + 1)/2), -Mod(a, b), Max(1, a), a**9, "my dim", Eq(a, b), Select(Lt(a, b), a, b)]) {
  return %x
}
)",
};

TEST(Print, ParsedTextPrintsTheSame) {
  for (std::string_view text : kTexts) EXPECT_EQ(Reprint(text), text);
}

}  // namespace
}  // namespace flambeau
