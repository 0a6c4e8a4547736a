#include "onnx/infer/infer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "onnx/infer/sizes.h"
#include "onnx/operator_table.h"

namespace flambeau::onnx {
namespace {

class InferTest : public ::testing::Test {
 protected:
  ExprPool& exprs() { return context_.exprs(); }
  Expr N(int64_t value) { return exprs().Constant(value); }
  Expr S(std::string_view name) { return exprs().Symbolic(name); }

  static Type Float(std::vector<Expr> sizes) { return Type::OfTensor(DType::kFloat32, std::move(sizes)); }
  // A 1-D int64 tensor of known elements.
  Type List(std::vector<Expr> elements) {
    Type type = Type::OfTensor(DType::kInt64, {N(static_cast<int64_t>(elements.size()))});
    type.contents = std::move(elements);
    return type;
  }
  Type List(std::initializer_list<int64_t> elements) {
    std::vector<Expr> list;
    for (int64_t e : elements) list.push_back(N(e));
    return List(std::move(list));
  }
  Type Scalar(Expr value) {
    Type type = Type::OfTensor(DType::kInt64, {});
    type.contents = std::vector<Expr>{value};
    return type;
  }

  std::vector<Type> InferAll(std::string_view op, const std::vector<Type>& operands,
                             std::vector<AttributeList::Item> attributes = {}, size_t results = 1) {
    std::vector<const Type*> pointers;
    for (const Type& type : operands) pointers.push_back(type.kind == TypeKind::kNone ? nullptr : &type);
    std::vector<Type> out(results);
    InferContext context(context_, opset_, pointers, attributes, out);
    InferTypes(op, context);
    return out;
  }
  Type Infer(std::string_view op, const std::vector<Type>& operands, std::vector<AttributeList::Item> attributes = {}) {
    return InferAll(op, operands, std::move(attributes)).front();
  }
  std::string Text(const std::vector<Expr>& list) {
    std::string text;
    for (Expr e : list) text += (text.empty() ? "" : ", ") + exprs().Text(e);
    return "[" + text + "]";
  }
  std::string SizesText(const Type& type) { return type.ranked ? Text(type.sizes) : "unranked"; }
  std::string ContentsText(const Type& type) { return type.contents ? Text(*type.contents) : "unknown"; }

  Context context_;
  int opset_ = 18;
};

TEST_F(InferTest, ComparisonsAreBool) {
  const Type type = Infer("Less", {Float({S("b"), N(1)}), Float({N(3)})});
  EXPECT_EQ(type.dtype, DType::kBool);
  EXPECT_EQ(SizesText(type), "[b, 3]");
}

TEST_F(InferTest, BroadcastOfDifferentSymbolsIsAnonymous) {
  const Type type = Infer("Add", {Float({S("a"), S("c")}), Float({S("b"), S("c")})});
  ASSERT_TRUE(type.ranked);
  EXPECT_TRUE(exprs().HasAnonymous(type.sizes[0]));
  EXPECT_EQ(type.sizes[1], S("c"));
}

TEST_F(InferTest, ShapeFlowsThroughGatherConcatReshape) {
  const Type x = Float({S("b"), S("s"), N(768)});
  const Type shape = Infer("Shape", {x});
  const Type batch = Infer("Gather", {shape, List({0})});
  const Type length = Infer("Slice", {shape, List({1}), List({2})});
  const Type target = Infer("Concat", {batch, length, List({12, -1})}, {{"axis", int64_t{0}}});
  EXPECT_EQ(ContentsText(target), "[b, s, 12, -1]");
  EXPECT_EQ(SizesText(Infer("Reshape", {x, target})), "[b, s, 12, 64]");
}

TEST_F(InferTest, ReshapeCancelsProducts) {
  const Type x = Float({S("b"), S("h"), S("w"), N(6)});
  EXPECT_EQ(SizesText(Infer("Reshape", {x, List({-1, 3})})), "[2*b*h*w, 3]");
  EXPECT_EQ(SizesText(Infer("Reshape", {x, List({exprs().Mul(S("b"), S("h")), N(-1)})})), "[b*h, 6*w]");
  EXPECT_EQ(SizesText(Infer("Reshape", {x, List({0, 0, -1})})), "[b, h, 6*w]");
  const Type sum = Float({exprs().Add(S("s"), N(1)), S("b")});
  const Type flat = Infer("Reshape", {sum, List({-1})});
  EXPECT_EQ(SizesText(Infer("Reshape", {flat, List({S("b"), N(-1)})})), "[b, s + 1]");
}

TEST_F(InferTest, ReshapeToUnknownContentsKeepsTheRank) {
  const Type shape = Type::OfTensor(DType::kInt64, {N(3)});
  EXPECT_EQ(Infer("Reshape", {Float({S("a")}), shape}).sizes.size(), 3u);
}

TEST_F(InferTest, SliceOfSymbolicSize) {
  const Type x = Float({S("s")});
  const auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return SizesText(Infer("Slice", {x, List({start}), List({end}), List({0}), List({step})}));
  };
  EXPECT_EQ(slice(0, INT64_MAX, 1), "[s]");
  EXPECT_EQ(slice(-1, INT64_MIN, -1), "[s]");
  EXPECT_EQ(slice(0, INT64_MAX, 2), Text({exprs().CeilDiv(S("s"), N(2))}));
  EXPECT_EQ(slice(-3, INT64_MAX, 1), Text({exprs().Min(S("s"), N(3))}));
  EXPECT_EQ(slice(0, 3, 1), Text({exprs().Min(S("s"), N(3))}));
  EXPECT_EQ(slice(0, -1, 1), Text({exprs().Max(N(0), exprs().Sub(S("s"), N(1)))}));
  EXPECT_EQ(slice(5, 5, 1), "[0]");
}

TEST_F(InferTest, SliceOfContents) {
  const Type list = List({1, 2, 3, 4, 5});
  EXPECT_EQ(ContentsText(Infer("Slice", {list, List({-1}), List({INT64_MIN}), List({0}), List({-2})})), "[5, 3, 1]");
  EXPECT_EQ(ContentsText(Infer("Slice", {list, List({1}), List({-1})})), "[2, 3, 4]");
  EXPECT_EQ(ContentsText(Infer("Slice", {list, List({7}), List({9})})), "[]");
}

TEST_F(InferTest, IntegerDivisionTruncates) {
  EXPECT_EQ(ContentsText(Infer("Div", {List({-7}), List({2})})), "[-3]");
  EXPECT_EQ(ContentsText(Infer("Div", {List(std::vector{S("s")}), List({2})})), "[floor(s/2)]");
  const Type unknown = Infer("Div", {List(std::vector{exprs().Sub(S("s"), N(3))}), List({2})});
  ASSERT_TRUE(unknown.contents);
  EXPECT_TRUE(exprs().HasAnonymous(unknown.contents->front()));
  EXPECT_LT(exprs().RangeOf(unknown.contents->front()).min, 0);
}

TEST_F(InferTest, WhereChoosesContents) {
  const Type shape = List({N(2), N(-1), S("s")});
  const Type is_open = Infer("Equal", {shape, List({-1})});
  EXPECT_EQ(is_open.dtype, DType::kBool);
  EXPECT_EQ(ContentsText(is_open), "[0, 1, 0]");
  EXPECT_EQ(ContentsText(Infer("Where", {is_open, List({1}), shape})), "[2, 1, s]");
}

TEST_F(InferTest, ReduceProdOfAShape) {
  const Type shape = Infer("Shape", {Float({S("b"), N(2), N(3)})});
  const Type count = Infer("ReduceProd", {shape, List({0})}, {{"keepdims", int64_t{0}}});
  EXPECT_EQ(SizesText(count), "[]");
  EXPECT_EQ(ContentsText(count), "[6*b]");
}

TEST_F(InferTest, RangeOfSymbolicLimit) {
  EXPECT_EQ(SizesText(Infer("Range", {Scalar(N(0)), Scalar(S("n")), Scalar(N(1))})), "[n]");
  const Type down = Infer("Range", {Scalar(N(5)), Scalar(N(0)), Scalar(N(-2))});
  EXPECT_EQ(ContentsText(down), "[5, 3, 1]");
}

TEST_F(InferTest, ConvolutionOfSymbolicSizes) {
  const Type weight = Float({N(8), N(3), N(3), N(3)});
  const Type out = Infer("Conv", {Float({S("b"), N(3), S("h"), N(32)}), weight},
                         {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  EXPECT_EQ(SizesText(out),
            "[b, 8, " + exprs().Text(exprs().Add(N(1), exprs().FloorDiv(exprs().Sub(S("h"), N(1)), N(2)))) + ", 16]");
  const Type same = Infer("Conv", {Float({S("b"), N(3), S("h"), N(32)}), weight}, {{"pads", Ints{1, 1, 1, 1}}});
  EXPECT_EQ(SizesText(same), "[b, 8, h, 32]");
}

TEST_F(InferTest, NonsenseIsUnranked) {
  EXPECT_FALSE(Infer("Transpose", {Float({S("a")})}, {{"perm", Ints{5, 1}}}).ranked);
  EXPECT_FALSE(Infer("Gemm", {Float({}), Float({})}).ranked);
  EXPECT_FALSE(Infer("MatMul", {Float({}), Float({S("a")})}).ranked);
  EXPECT_FALSE(Infer("Concat", {Float({}), Float({S("a")})}, {{"axis", int64_t{0}}}).ranked);
  EXPECT_FALSE(Infer("Add", {Type::OfNone(), Type::Unranked(DType::kInt64)}).ranked);
}

// What Python's range says of a slice.
int64_t CountOfSlice(int64_t size, int64_t start, int64_t end, int64_t step) {
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  auto bound = [&](int64_t value) { return std::clamp(value < 0 ? value + size : value, low, high); };
  int64_t count = 0;
  for (int64_t i = bound(start); step > 0 ? i < bound(end) : i > bound(end); i += step) ++count;
  return count;
}

TEST_F(InferTest, SliceSizesAreThoseOfPython) {
  const Expr size = S("s");
  for (int64_t start = -6; start <= 6; ++start) {
    for (int64_t end = -6; end <= 6; ++end) {
      for (int64_t step : {-3, -1, 1, 2}) {
        const Type symbolic = Infer("Slice", {Float({size}), List({start}), List({end}), List({0}), List({step})});
        for (int64_t n = 0; n <= 5; ++n) {
          const int64_t expected = CountOfSlice(n, start, end, step);
          const Type fixed = Infer("Slice", {Float({N(n)}), List({start}), List({end}), List({0}), List({step})});
          EXPECT_EQ(exprs().AsConstant(fixed.sizes[0]), expected) << n << " " << start << ":" << end << ":" << step;
          EXPECT_EQ(exprs().Evaluate(symbolic.sizes[0], {{size, n}}), expected)
              << exprs().Text(symbolic.sizes[0]) << " for " << n << " " << start << ":" << end << ":" << step;
        }
      }
    }
  }
}

TEST_F(InferTest, PoolsInCeilModeNeverStartInThePadding) {
  const Expr size = S("s");
  for (int64_t pad : {0, 1, 2}) {
    const Type type =
        Infer("MaxPool", {Float({N(1), N(1), size})},
              {{"kernel_shape", Ints{4}}, {"strides", Ints{3}}, {"pads", Ints{pad, pad}}, {"ceil_mode", int64_t{1}}});
    for (int64_t n = 6; n < 20; ++n) {
      int64_t expected = (n + 2 * pad - 4 + 2) / 3 + 1;
      if ((expected - 1) * 3 >= n + pad) --expected;
      EXPECT_EQ(exprs().Evaluate(type.sizes[2], {{size, n}}), expected) << exprs().Text(type.sizes[2]) << " for " << n;
    }
  }
}

TEST_F(InferTest, ContentsFollowReshapingOperators) {
  const Type matrix = Infer("Reshape", {List({1, 2, 3, 4, 5, 6}), List({2, 3})});
  EXPECT_EQ(ContentsText(Infer("Transpose", {matrix})), "[1, 4, 2, 5, 3, 6]");
  EXPECT_EQ(ContentsText(Infer("Expand", {List({7, 8}), List({2, 2})})), "[7, 8, 7, 8]");
  EXPECT_EQ(ContentsText(Infer("Tile", {List({7, 8}), List({2})})), "[7, 8, 7, 8]");
  EXPECT_EQ(ContentsText(InferAll("Split", {List({1, 2, 3}), List({1, 2})}, {}, 2)[1]), "[2, 3]");
  EXPECT_EQ(ContentsText(Infer("CumSum", {List({1, 2, 3}), Scalar(N(0))}, {{"reverse", int64_t{1}}})), "[6, 5, 3]");
}

TEST_F(InferTest, ContentsOfPartsUnknownElsewhere) {
  const Type joined = Infer("Concat", {List({1}), Type::OfTensor(DType::kInt64, {N(1)})}, {{"axis", int64_t{0}}});
  ASSERT_TRUE(joined.contents);
  EXPECT_EQ(joined.contents->at(0), N(1));
  EXPECT_LT(exprs().RangeOf(joined.contents->at(1)).min, 0);
  const Type reshaped = Infer("Reshape", {Float({S("a")}), joined});
  EXPECT_EQ(reshaped.sizes.at(0), N(1));
  EXPECT_GE(exprs().RangeOf(reshaped.sizes.at(1)).min, 0);
}

TEST_F(InferTest, ElementsOfASequenceShareNoAnonymousSize) {
  const Type list = Infer("SequenceConstruct", {Float({S("a"), N(2)}), Float({S("b"), N(2)})});
  EXPECT_EQ(list.kind, TypeKind::kSequence);
  const Type first = Infer("SequenceAt", {list, Scalar(N(0))}), second = Infer("SequenceAt", {list, Scalar(N(1))});
  EXPECT_EQ(first.sizes[1], N(2));
  EXPECT_NE(first.sizes[0], second.sizes[0]);
}

TEST_F(InferTest, NoOperandCrashesAnyRule) {
  const Expr huge = N(int64_t{1} << 62);
  const std::vector<Type> nonsense = {Type::OfNone(),
                                      Type::Unranked(DType::kFloat32),
                                      Float({}),
                                      Float({N(0), huge, huge}),
                                      Float({huge, S("s"), N(1), huge}),
                                      List({INT64_MIN}),
                                      List({INT64_MAX, -1, 0}),
                                      List(std::vector{UnknownElement(exprs()), S("s")})};
  const std::vector<AttributeList::Item> attributes[] = {
      {},
      {{"axis", INT64_MIN}, {"axes", Ints{INT64_MIN, 7}}, {"keepdims", int64_t{0}}, {"blocksize", INT64_MAX}},
      {{"axis", int64_t{1}}, {"axes", Ints{1, 1}}, {"perm", Ints{0, 0, 0}}, {"kernel_shape", Ints{INT64_MAX}}},
      {{"kernel_shape", Ints{-1, INT64_MAX}}, {"strides", Ints{0, 1}}, {"pads", Ints{INT64_MIN, 0, 1, INT64_MAX}}},
      {{"equation", std::string("...i.,->")}, {"dtype", int64_t{999}}, {"k", int64_t{-3}}, {"group", INT64_MAX}}};
  for (const OperatorVersion& version : AllOperators()) {
    opset_ = version.since_version;
    for (const Type& first : nonsense) {
      for (const Type& rest : nonsense) {
        for (const auto& items : attributes) {
          for (const Type& type : InferAll(version.name, {first, rest, rest, rest, rest}, items, 2)) {
            for (Expr size : type.sizes) EXPECT_GE(exprs().AsConstant(size).value_or(0), 0) << version.name;
            if (type.contents && type.is_tensor()) {
              EXPECT_EQ(SmallCount(exprs(), type.sizes), type.contents->size()) << version.name;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace flambeau::onnx
