// The parts of the IR's text that name nothing: types, numbers, and the bytes of constants.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ir/context.h"
#include "ir/expr_text.h"
#include "ir/tensor_data.h"
#include "ir/text_scanner.h"
#include "ir/type.h"

namespace flambeau {

class LiteralReader {
 public:
  LiteralReader(Scanner& scan, Context& context, Sink& sink)
      : scan_(scan), context_(context), exprs_(context.exprs()), sink_(sink) {}

  // From here on a type without strides is contiguous; before, its strides are unknown.
  void AssumeContiguous() { strides_known_ = true; }
  ExprReader& exprs() { return exprs_; }

  Result<Type> ReadType();
  Result<std::variant<int64_t, double>> ReadNumber();
  Result<int64_t> ReadInt();
  // `[type] values`; `known` is the type that may be left out. Without it (inside of tensor(…)) a comma follows the type.
  Result<TensorData> ReadData(const Type* known);

 private:
  Result<Type> ReadTensorType(std::string_view dtype);
  Result<Type> ReadListType(TypeKind kind);
  Status ReadExprs(char close, std::vector<Expr>* list);
  Status DataType(const Type& type, size_t start, TensorData* data);
  Status ReadElements(TensorData* data);
  Status ReadHex(TensorData* data);
  Status AppendElement(DType dtype, std::vector<std::byte>* bytes);
  template <class T>
  Status AppendNumber(std::vector<std::byte>* bytes);

  Scanner& scan_;
  Context& context_;
  ExprReader exprs_;
  Sink& sink_;
  bool strides_known_ = false;
  std::unordered_map<std::string, std::shared_ptr<const DataSource>> sources_;  // by label
};

}  // namespace flambeau
