#include "ir/context.h"

namespace flambeau {
namespace {

size_t Hash(const Type& type) {
  size_t hash = static_cast<size_t>(type.kind) * 64 + static_cast<size_t>(type.dtype);
  auto mix = [&](const std::vector<Expr>& exprs) {
    for (Expr e : exprs) hash = hash * 1000003 ^ e.index;
    hash = hash * 31 + exprs.size();
  };
  mix(type.sizes);
  mix(type.strides);
  if (type.contents) mix(*type.contents);
  return hash;
}

}  // namespace

TypeId Context::Intern(Type type) {
  const size_t hash = Hash(type);
  for (auto [it, end] = types_by_hash_.equal_range(hash); it != end; ++it)
    if (types_[it->second] == type) return it->second;
  const TypeId id = types_.Add(std::move(type));
  types_by_hash_.emplace(hash, id);
  return id;
}

}  // namespace flambeau
