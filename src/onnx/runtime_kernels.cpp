#include "onnx/runtime_kernels.h"

#include <algorithm>

#include "onnx/operator_table.h"
#include "onnx/row_index.h"

namespace flambeau::onnx {

struct Kernel {
  std::string_view op;
  int first_version, last_version;  // kUnbounded: no later version was known
  TableRange types;
};

namespace {

struct KernelTypes {
  std::string_view type_parameter;
  DTypeSet dtypes;
};

namespace table {
using enum DType;
#include "onnx/runtime_kernels.inc"
}  // namespace table

std::span<const Kernel> KernelsOf(std::string_view op) {
  static const RowIndex<Kernel> index(table::kKernels, &Kernel::op);
  return index[op];
}

}  // namespace

RuntimeKernels::RuntimeKernels(std::string_view op, int opset)
    : version_(FindOperator(op, opset)), since_(version_ != nullptr ? version_->since_version : opset), kernels_(KernelsOf(op)) {}

RuntimeKernels::RuntimeKernels(const OperatorVersion& version)
    : version_(&version), since_(version.since_version), kernels_(KernelsOf(version.name)) {}

// As onnxruntime decides it: an open-ended kernel serves only the version
// that it was written for, because nobody has checked it against a newer one.
bool RuntimeKernels::Serves(const Kernel& kernel) const {
  if (kernel.first_version == since_) return true;
  return kernel.first_version < since_ && since_ <= kernel.last_version && kernel.last_version != kUnbounded;
}

DTypeSet RuntimeKernels::DtypesOf(const Kernel& kernel, std::string_view type_parameter) const {
  for (const KernelTypes& types : std::span(table::kKernelTypes).subspan(kernel.types.first, kernel.types.count))
    if (types.type_parameter == type_parameter) return types.dtypes;
  const TypeConstraint* constraint = version_ != nullptr ? version_->FindType(type_parameter) : nullptr;
  return constraint != nullptr ? constraint->tensors | constraint->sequences : DTypeSet();
}

bool RuntimeKernels::any() const {
  return std::ranges::any_of(kernels_, [&](const Kernel& kernel) { return Serves(kernel); });
}

DTypeSet RuntimeKernels::Dtypes(std::string_view type_parameter) const {
  DTypeSet dtypes;
  for (const Kernel& kernel : kernels_)
    if (Serves(kernel)) dtypes = dtypes | DtypesOf(kernel, type_parameter);
  return dtypes;
}

bool RuntimeSupports(std::string_view op, int opset, std::string_view type_parameter, DType dtype) {
  return RuntimeKernels(op, opset).Dtypes(type_parameter).contains(dtype);
}

}  // namespace flambeau::onnx
