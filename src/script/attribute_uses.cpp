#include "script/attribute_uses.h"

#include <algorithm>

namespace flambeau::script {

bool AttributeUses::ReadsFirst(uint32_t cell, const std::string& name) const {
  const auto found = reads_first_.find({cell, name});
  return found != reads_first_.end() && found->second;
}

void AttributeUses::OrderWeights(std::vector<InputSpec>& inputs) const {
  const auto place = [&](const InputSpec& input) {
    const auto found = first_reads_.find(input.value);
    return found == first_reads_.end() ? first_reads_.size() : found->second;
  };
  const auto weights = std::ranges::stable_partition(inputs, [](const InputSpec& input) { return input.kind == InputKind::kUser; });
  std::ranges::stable_sort(weights, {}, place);
}

}  // namespace flambeau::script
