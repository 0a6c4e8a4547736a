#include "onnx/constant_nodes.h"

#include <optional>
#include <span>
#include <vector>

#include "onnx/model.h"
#include "onnx/operator_table.h"
#include "support/numeric.h"

namespace flambeau::onnx {
namespace {

// The same integers or bools as floats, or as doubles where floats lack the digits; nullopt where doubles lack them, too.
std::optional<TensorData> AsFloats(const TensorData& data) {
  constexpr int64_t kFloats = int64_t{1} << 24, kDoubles = int64_t{1} << 53;
  const int64_t width = ByteSize(data.dtype);
  if (width == 0 || !(IsInteger(data.dtype) || data.dtype == DType::kBool)) return std::nullopt;
  const auto bytes = data.ReadAll(kLargestConstantNode);
  if (!bytes) return std::nullopt;
  std::vector<double> doubles;
  bool wide = false;
  for (size_t at = 0; at < bytes->size(); at += static_cast<size_t>(width)) {
    const int64_t number = LoadInt(data.dtype, bytes->data() + at);
    // An unsigned number that is negative here has 64 digits.
    if (number > kDoubles || number < (data.dtype == DType::kUint64 ? 0 : -kDoubles)) return std::nullopt;
    wide |= number > kFloats || number < -kFloats;
    doubles.push_back(static_cast<double>(number));
  }
  const auto made = [&](DType dtype, auto numbers) {
    const auto raw = std::as_bytes(std::span(numbers));
    return TensorData{.source = MakeBufferSource({raw.begin(), raw.end()}), .dtype = dtype, .sizes = data.sizes};
  };
  if (wide) return made(DType::kFloat64, doubles);
  return made(DType::kFloat32, std::vector<float>(doubles.begin(), doubles.end()));
}

class ConstantNodes {
 public:
  ConstantNodes(Graph& graph, int opset) : graph_(graph), written_(FindOperator("Constant", opset)->types()[0].tensors) {}

  void Add(ValueId constant) {
    const DataId data = graph_[constant].data;
    const TypeId type = graph_[constant].type;
    const DType dtype = context()[data].dtype;
    ValueId made;
    if (context()[data].byte_size() > kLargestConstantNode) return;
    if (written_.contains(dtype)) {
      made = Append("Constant", {}, {"value", data}, type);
    } else if (auto floats = AsFloats(context()[data])) {
      Type of_floats = graph_.type(constant);
      of_floats.dtype = floats->dtype;
      of_floats.contents.reset();
      const ValueId uncast = Append("Constant", {}, {"value", context().Add(*std::move(floats))}, context().Intern(std::move(of_floats)));
      made = Append("Cast", {&uncast, 1}, {"to", dtype}, type);
    } else {
      return;
    }
    graph_.SetName(made, graph_[constant].name);
    graph_.ReplaceAllUses(constant, made);
  }

 private:
  struct Named {
    std::string_view name;
    Attribute value;
  };

  Context& context() { return graph_.context(); }

  ValueId Append(std::string_view op, std::span<const ValueId> operands, Named attribute, TypeId type) {
    last_ = graph_.InsertAfter(graph_.main(), last_, context().Intern(op), operands,
                               {{context().Intern(attribute.name), std::move(attribute.value)}}, {&type, 1});
    return graph_.result(last_);
  }

  Graph& graph_;
  const DTypeSet& written_;
  NodeId last_;  // behind which the next one goes; invalid for the start of the graph
};

}  // namespace

void MakeConstantNodes(Graph& graph, const std::function<bool(ValueId)>& is_weight, int opset) {
  ConstantNodes nodes(graph, opset);
  for (const ValueId constant : Initializers(graph))
    if (!is_weight(constant)) nodes.Add(constant);
}

}  // namespace flambeau::onnx
