#include "reader/pt2/triton_kernels.h"

#include <fmt/format.h>

#include <algorithm>

namespace flambeau::pt2 {
namespace {

bool IsLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// "add_kernel" of "add_kernel_<hash of the compiled kernel>".
std::string_view WithoutHash(std::string_view name) {
  constexpr size_t kLeastHash = 32;
  const size_t last = name.rfind('_');
  if (last == 0 || last == name.npos || name.size() - last - 1 < kLeastHash) return name;
  return std::ranges::all_of(name.substr(last + 1), IsLetterOrDigit) ? name.substr(0, last) : name;
}

bool IsIdentifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c == '_' || IsLetterOrDigit(c); });
}

constexpr std::string_view kFunctional = "torch.ops.higher_order.triton_kernel_wrapper_functional";
constexpr std::string_view kWriting = "torch.ops.higher_order.triton_kernel_wrapper_mutation";

}  // namespace

std::optional<KernelLaunch> LaunchOf(const Call& call) {
  if (call.target != kFunctional) return std::nullopt;
  const auto name = std::ranges::find(call.named, "name", &std::pair<std::string_view, Argument>::first);
  if (name == call.named.end()) return std::nullopt;
  const auto* text = std::get_if<std::string_view>(&name->second.storage());
  if (text == nullptr) return std::nullopt;
  const std::string_view kernel = WithoutHash(*text);
  if (!IsIdentifier(kernel)) return std::nullopt;
  std::string arguments, returns;
  for (const auto& [argument, value] : call.named) {
    if (!IsIdentifier(argument)) return std::nullopt;
    arguments += fmt::format("{}Any? {}=None", arguments.empty() ? "" : ", ", argument);
  }
  for (size_t i = 0; i < call.results.size(); ++i) returns += i == 0 ? "Tensor" : ", Tensor";
  return KernelLaunch{fmt::format("torch.ops.triton.{}.functionalized", kernel),
                      fmt::format("triton::{}.functionalized({}) -> ({})", kernel, arguments, returns)};
}

bool LaunchesUnnamedKernel(const Call& call) { return call.target == kWriting; }

}  // namespace flambeau::pt2
