// Weights of classes that wrap other tensors, as torchao's do: torch.export saves them pickled, and its graphs ask them for
// what they wrap. Each of those is a weight of its own.
#include <fmt/format.h>

#include "container/quote.h"
#include "reader/pt2/graph_reader.h"

namespace flambeau::pt2 {
namespace {

constexpr std::string_view kAccess = "torch.ops.export.access_subclass_inner_tensor.default";

}  // namespace

// access_subclass_inner_tensor(Tensor src, str attr): its argument is a tensor's name, and a string.
Result<bool> GraphReader::ReadWrapped(const JsonReader& node) {
  if (wrappers_.empty() || scopes_.size() != 1) return false;
  FLAMBEAU_TRY(const std::string_view target, node.String("target"));
  if (target != kAccess) return false;
  current_ = node;
  FLAMBEAU_TRY(const JsonReader inputs, node.Array("inputs"));
  FLAMBEAU_TRY(const JsonReader outputs, node.Array("outputs"));
  if (inputs.size() != 2 || outputs.size() != 1)
    return node.Error(DiagnosticKind::kBadProgram, "what asks a tensor for one that it wraps has two arguments and a result");
  std::vector<Tagged> arguments;
  for (const JsonReader input : inputs.elements()) {
    FLAMBEAU_TRY(const JsonReader json, input.Member("arg"));
    FLAMBEAU_TRY(const Tagged argument, ReadTagged(json));
    arguments.push_back(argument);
  }
  const Tagged &source = arguments[0], &attribute = arguments[1];
  if (source.tag != "as_tensor") return source.Unknown("tensor");
  if (attribute.tag != "as_string") return attribute.Unknown("name");
  FLAMBEAU_TRY(const std::string_view of, source.value.String("name"));
  FLAMBEAU_TRY(const std::string_view part, attribute.value.AsString());
  const auto wrapper = wrappers_.find(of);
  if (wrapper == wrappers_.end()) return false;
  std::vector<Declared> declared;
  for (const JsonReader output : outputs.elements()) {
    FLAMBEAU_TRY(const Tagged result, ReadTagged(output));
    FLAMBEAU_CHECK_OK(Declare(result, &declared));
  }
  if (declared.size() != 1)
    return node.Error(DiagnosticKind::kBadProgram, "what asks a tensor for one that it wraps has one tensor as its result");
  const auto& [tensors, kind, whole, persistent] = wrapper->second;
  const auto tensor = tensors.find(std::string(part));
  if (tensor == tensors.end())
    return node.Error(DiagnosticKind::kMissingInformation, fmt::format("{} was saved without a tensor {}", Quote(whole), Quote(part)));
  const std::string name = fmt::format("{}.{}", whole, part);
  const auto& [result, info] = declared[0];
  FLAMBEAU_CHECK_OK(CheckStored(info, tensor->second, name, node));
  FLAMBEAU_CHECK_OK(Define(result, builder_.AddTensor(kind, result, info, tensor->second, name, persistent), node));
  return true;
}

}  // namespace flambeau::pt2
