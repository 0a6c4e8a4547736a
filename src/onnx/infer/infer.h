// Types of an ONNX node's results from those of its operands: one rule an
// operator, in tables by family (infer/*.cpp), for every operator that lowering
// emits. Operators without a rule get the element type that the operator table
// implies, and no rank.
//
// Rules see operators in the form of the target opset (axes are an attribute or
// an input, as the opset has it): InferContext::Axes and its like hide that.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/attribute.h"
#include "ir/context.h"
#include "onnx/attribute_list.h"

namespace flambeau::onnx {

struct OperatorVersion;  // operator_table.h

class InferContext {
 public:
  InferContext(Context& context, int opset, std::span<const Type* const> operands,
               std::span<const AttributeList::Item> attributes, std::span<Type> results)
      : context_(context), opset_(opset), operands_(operands), attributes_(attributes), results_(results) {}

  ExprPool& exprs() { return context_.exprs(); }
  int opset() const { return opset_; }

  size_t operand_count() const { return operands_.size(); }
  // nullptr where the operand is absent.
  const Type* operand(size_t i) const { return i < operands_.size() ? operands_[i] : nullptr; }
  // The sizes of a ranked tensor; nullptr where the operand is absent or unranked.
  const std::vector<Expr>* sizes(size_t i) const {
    const Type* type = operand(i);
    return type && type->is_tensor() && type->ranked ? &type->sizes : nullptr;
  }
  DType dtype(size_t i) const { return operand(i) ? operand(i)->dtype : DType::kNone; }
  // Known elements of an int64 or bool operand of at most 64 elements.
  const std::vector<Expr>* contents(size_t i) const {
    const Type* type = operand(i);
    return type && type->contents ? &*type->contents : nullptr;
  }
  // All elements, if each is a constant.
  std::optional<Ints> ConstantInts(size_t i) const;

  const Attribute* attribute(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t otherwise) const;
  std::optional<Ints> IntList(std::string_view name) const;
  std::optional<Floats> FloatList(std::string_view name) const;
  // An attribute that holds an ONNX element type; `otherwise` where it is absent or no such type.
  DType ElementType(std::string_view name, DType otherwise) const;
  // A tensor attribute; nullptr where it is absent.
  const TensorData* Data(std::string_view name) const;
  std::string_view String(std::string_view name, std::string_view otherwise) const;
  // The ints of the attribute, else of the operand at `i`, if they are known;
  // `*absent` says that neither was given.
  std::optional<Ints> IntsOf(std::string_view name, size_t i, bool* absent) const;

  size_t result_count() const { return results_.size(); }
  // Before the rule runs, a result has the element type that the operator table
  // implies, and no rank.
  const Type& result(size_t i) const { return results_[i]; }
  // Gives a result a shape and keeps its element type.
  void SetSizes(size_t i, std::vector<Expr> sizes) {
    if (i >= results_.size()) return;
    Type& type = results_[i];
    type.kind = TypeKind::kTensor;
    type.ranked = true;
    type.sizes = std::move(sizes);
    type.strides.clear();
    type.contents.reset();
  }
  // Adds the elements to a result whose type is set; dropped where a type cannot hold them.
  void SetContents(size_t i, std::vector<Expr> contents);
  void Set(size_t i, Type type) {
    if (i < results_.size()) results_[i] = std::move(type);
  }
  void SetTensor(size_t i, DType dtype, std::vector<Expr> sizes) { Set(i, Type::OfTensor(dtype, std::move(sizes))); }
  // A result that no operands can have.
  void SetImpossible(size_t i, std::vector<Expr> sizes) {
    impossible_ = true;
    SetSizes(i, std::move(sizes));
  }
  bool impossible() const { return impossible_; }
  void SetUnranked(size_t i, DType dtype) { Set(i, Type::Unranked(dtype)); }

 private:
  Context& context_;
  int opset_;
  std::span<const Type* const> operands_;
  std::span<const AttributeList::Item> attributes_;
  std::span<Type> results_;
  bool impossible_ = false;
};

// The most elements that Type::contents holds.
inline constexpr int64_t kMaxContents = 64;

struct InferRule {
  std::string_view op;
  void (*infer)(InferContext&);
};

// Fills `results`. Operators with bodies (If, Loop, Scan) are typed by the
// builder, which knows what the bodies yield.
void InferTypes(std::string_view op, InferContext& context);
// The same, by the version of the operator in force at the context's opset.
void InferTypes(const OperatorVersion& version, InferContext& context);

// numpy's broadcasting of two lists of sizes. Where neither size is known to be
// 1 and they differ, the result is an anonymous size.
std::vector<Expr> BroadcastSizes(ExprPool& exprs, std::vector<Expr> a, std::span<const Expr> b);

}  // namespace flambeau::onnx
