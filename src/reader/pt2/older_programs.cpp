#include "reader/pt2/older_programs.h"

#include <algorithm>

namespace flambeau::pt2 {
namespace {

// PyTorch 2.4 wrote the Python path of some higher-order operators.
void RenameHigherOrder(Call& call) {
  static constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {"torch._higher_order_ops.wrap.wrap_with_set_grad_enabled", "torch.ops.higher_order.wrap_with_set_grad_enabled"},
      {"torch._higher_order_ops.wrap.wrap_with_autocast", "torch.ops.higher_order.wrap_with_autocast"},
      {"torch._higher_order_ops.cond.cond_op", "torch.ops.higher_order.cond"},
      {"torch._higher_order_ops.while_loop.while_loop_op", "torch.ops.higher_order.while_loop"},
  };
  const auto row = std::ranges::find(kRenamed, call.target, &std::pair<std::string_view, std::string_view>::first);
  if (row != std::end(kRenamed)) call.target = row->second;
}

// PyTorch 2.1 and 2.2 had one operator for all devices, whose further results are CUDA's own.
void UseAttentionOfCpu(Call& call) {
  if (call.target != "torch.ops.aten._scaled_dot_product_flash_attention.default") return;
  call.target = "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default";
  std::erase_if(call.named, [](const auto& argument) { return argument.first == "return_debug_mask"; });
  constexpr size_t kShared = 2;  // the output and the logarithms of the sums
  if (call.results.size() > kShared) call.results.resize(kShared);
}

}  // namespace

void Modernize(Call& call, bool says_version) {
  RenameHigherOrder(call);
  if (!says_version) UseAttentionOfCpu(call);
}

}  // namespace flambeau::pt2
