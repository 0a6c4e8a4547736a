#include "pass/aten/autocast.h"

#include <fmt/format.h>

#include <functional>

#include "aten/pure_form.h"
#include "aten/schema.h"
#include "pass/aten/call.h"
#include "support/static_index.h"

namespace flambeau {
namespace {

enum class Cast : uint8_t { kUntouched, kLower, kFloat32, kFloat32Result, kWidest, kBanned };

struct CastRow {
  std::string_view op;
  Cast cpu, cuda;
};
constexpr CastRow kCasts[] = {
#define FLAMBEAU_AUTOCAST(op, cpu, cuda) {op, Cast::cpu, Cast::cuda},
#include "pass/aten/autocast.def"
#undef FLAMBEAU_AUTOCAST
};

CastRow RowOf(std::string_view op) {
  static const auto* rows = new StaticIndex<CastRow>(kCasts, &CastRow::op, std::identity());
  return rows->ValueOr(op, {op, Cast::kUntouched, Cast::kUntouched});
}

bool IsEligible(const Graph& graph, ValueId value) {
  return value && graph.type(value).is_tensor() && IsFloating(graph.type(value).dtype) &&
         graph.type(value).dtype != DType::kFloat64;
}

// What PyTorch's promotion makes of the floating-point arguments: kNone if
// there are none, or if the node says itself which dtype it makes.
DType NaturalDtype(const Graph& graph, NodeId node) {
  if (const Attribute* dtype = graph.FindAttribute(node, "dtype"); dtype && !std::holds_alternative<None>(*dtype))
    return DType::kNone;
  DType dims = DType::kNone, scalars = DType::kNone;
  for (uint32_t i = 0; i < graph.operand_count(node); ++i) {
    const ValueId value = graph.operand(node, i);
    if (!value || !graph.type(value).is_tensor() || !IsFloating(graph.type(value).dtype)) continue;
    DType& side = graph.type(value).rank() > 0 ? dims : scalars;
    side = side == DType::kNone ? graph.type(value).dtype : aten::PromoteTypes(side, graph.type(value).dtype);
  }
  return dims == DType::kNone ? scalars : dims;
}

}  // namespace

AutocastRegions Autocast::Surrounding() const {
  DType lower = DType::kNone;
  int votes = 0;  // for CUDA, less those for the CPU, where the two differ
  graph_.ForEachNode(graph_.main(), [&](NodeId node) {
    const CastRow row = RowOf(graph_.op(node));
    if (graph_[node].result_count == 0 || !graph_.type(graph_.result(node)).is_tensor()) return;
    const DType made = graph_.type(graph_.result(node)).dtype, natural = NaturalDtype(graph_, node);
    const bool lowered = natural == DType::kFloat32 && (made == DType::kBfloat16 || made == DType::kFloat16);
    const bool raised = made == DType::kFloat32 && (natural == DType::kBfloat16 || natural == DType::kFloat16);
    const auto raises = [](Cast cast) { return cast == Cast::kFloat32 || cast == Cast::kFloat32Result; };
    const auto explains = [&](Cast cast) { return (lowered && cast == Cast::kLower) || (raised && raises(cast)); };
    if (lowered && (explains(row.cpu) || explains(row.cuda))) lower = made;
    if (lowered || raised) votes += explains(row.cuda) - explains(row.cpu);
    // A cast to float32 that was not made.
    if (made == natural && (made == DType::kBfloat16 || made == DType::kFloat16)) votes += raises(row.cpu) - raises(row.cuda);
  });
  if (lower == DType::kNone) return {};
  // bfloat16 is what the CPU's autocast makes by itself, and float16 CUDA's.
  return {{votes != 0 ? votes > 0 : lower == DType::kFloat16, lower}};
}

Status Autocast::Apply(NodeId node, const AutocastRegions& regions) {
  if (regions.empty()) return {};
  const AutocastRegion& region = regions.back();
  const CastRow row = RowOf(graph_.op(node));
  const Cast cast = region.cuda ? row.cuda : row.cpu;
  switch (cast) {
    case Cast::kUntouched: {
      const aten::Schema* schema = aten::FindSchema(graph_.op(node));
      const bool converts =
          schema == nullptr || schema->base == "aten::to" || schema->base == "aten::type_as" || schema->has_writes();
      const DType natural = NaturalDtype(graph_, node);
      // A composite operator, of which autocast reaches the parts.
      if (converts || natural == DType::kNone || natural == region.dtype) return {};
      // Normalizations take weights of another dtype, and keep that of their input.
      if (graph_.operand_count(node) > 0 && IsEligible(graph_, graph_.operand(node, 0)) &&
          graph_.type(graph_.operand(node, 0)).dtype == region.dtype)
        return {};
      for (uint32_t i = 0; i < graph_[node].result_count; ++i)
        if (graph_.type(graph_.result(node, i)).is_tensor() &&
            graph_.type(graph_.result(node, i)).dtype == region.dtype)
          return CheckResults(node, natural, true);
      return {};
    }
    case Cast::kLower: CastOperands(node, region.dtype); return CheckResults(node, NaturalDtype(graph_, node), true);
    case Cast::kFloat32: CastOperands(node, DType::kFloat32); return CheckResults(node, DType::kFloat32, false);
    case Cast::kFloat32Result: {
      const Attribute* dtype = graph_.FindAttribute(node, "dtype");
      const bool asked = dtype != nullptr && !std::holds_alternative<None>(*dtype);
      if (!asked && IsEligible(graph_, graph_.operand(node, 0)))
        graph_.SetAttribute(node, graph_.context().Intern("dtype"), DType::kFloat32);
      return asked ? Status() : CheckResults(node, DType::kFloat32, false);
    }
    case Cast::kWidest: {
      DType widest = region.dtype;
      for (uint32_t i = 0; i < graph_.operand_count(node); ++i)
        if (IsEligible(graph_, graph_.operand(node, i)))
          widest = aten::PromoteTypes(widest, graph_.type(graph_.operand(node, i)).dtype);
      CastOperands(node, widest);
      return {};
    }
    case Cast::kBanned:
      return sink_.Error(DiagnosticKind::kBadProgram, "is not allowed under autocast", LocationOf(graph_, node));
  }
  return {};
}

void Autocast::CastOperands(NodeId node, DType dtype) {
  for (uint32_t i = 0; i < graph_.operand_count(node); ++i) {
    const ValueId value = graph_.operand(node, i);
    if (!IsEligible(graph_, value) || graph_.type(value).dtype == dtype) continue;
    ValueId& cast = casts_[{value, dtype}];
    if (!cast) {
      Type type = graph_.type(value);
      type.dtype = dtype;
      cast = InsertCall(
          graph_, node,
          CallMaker(graph_.context(), "aten::to.dtype").Set("self", value).Set("dtype", Attribute(dtype)).Make(),
          graph_.context().Intern(std::move(type)), graph_[node].origin);
    }
    graph_.SetOperand(node, i, cast);
  }
}

Status Autocast::CheckResults(NodeId node, DType dtype, bool exact) {
  if (dtype == DType::kNone) return {};
  for (uint32_t i = 0; i < graph_[node].result_count; ++i) {
    const Type& type = graph_.type(graph_.result(node, i));
    if (!type.is_tensor() || !IsFloating(type.dtype) || type.dtype == dtype) continue;
    if (!exact && type.dtype == DType::kFloat64) continue;
    return sink_.Error(DiagnosticKind::kBadProgram,
                       fmt::format("under autocast, its result is recorded as {} and would be {}",
                                   Info(type.dtype).torch_name, Info(dtype).torch_name),
                       LocationOf(graph_, node), "cast the arguments in the model, or export it outside of autocast");
  }
  return {};
}

}  // namespace flambeau
