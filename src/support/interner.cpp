#include "support/interner.h"

#include <algorithm>
#include <cstring>

namespace flambeau {

std::string_view Interner::Keep(std::string_view text) {
  constexpr size_t kBlock = 16 * 1024;
  if (text.size() > left_) {
    const size_t size = std::max(kBlock, text.size());
    blocks_.push_back(std::make_unique<char[]>(size));
    next_ = blocks_.back().get();
    left_ = size;
  }
  if (!text.empty()) std::memcpy(next_, text.data(), text.size());
  std::string_view kept(next_, text.size());
  next_ += text.size();
  left_ -= text.size();
  return kept;
}

Symbol Interner::Intern(std::string_view text) {
  if (auto it = symbols_.find(text); it != symbols_.end()) return it->second;
  const Symbol symbol{static_cast<uint32_t>(texts_.size())};
  texts_.push_back(Keep(text));
  symbols_.emplace(texts_.back(), symbol);
  return symbol;
}

Symbol Interner::Find(std::string_view text) const {
  auto it = symbols_.find(text);
  return it == symbols_.end() ? Symbol{} : it->second;
}

}  // namespace flambeau
