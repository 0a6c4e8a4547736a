// What the graphs of one conversion share: names, types, sizes, origins, bytes.
//
// Not thread-safe; one conversion, one context. Ids of one graph's types,
// symbols and data mean the same in every graph over the same context.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/expr.h"
#include "ir/ids.h"
#include "ir/origin.h"
#include "ir/tensor_data.h"
#include "ir/type.h"
#include "support/interner.h"
#include "support/store.h"

namespace flambeau {

class Context {
 public:
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Symbol Intern(std::string_view text) { return names_.Intern(text); }
  std::string_view Text(Symbol symbol) const { return names_.Text(symbol); }

  TypeId Intern(Type type);
  // The address is stable.
  const Type& operator[](TypeId id) const { return types_[id]; }

  ExprPool& exprs() { return exprs_; }
  const ExprPool& exprs() const { return exprs_; }

  OriginId Add(Origin origin) { return origins_.Add(std::move(origin)); }
  const Origin& operator[](OriginId id) const { return origins_[id]; }
  Origin& operator[](OriginId id) { return origins_[id]; }

  DataId Add(TensorData data) { return data_.Add(std::move(data)); }
  const TensorData& operator[](DataId id) const { return data_[id]; }

 private:
  Interner names_;
  ExprPool exprs_;
  Store<TypeId, Type> types_;
  std::unordered_multimap<size_t, TypeId> types_by_hash_;
  Store<OriginId, Origin> origins_;
  Store<DataId, TensorData> data_;
};

}  // namespace flambeau
