#include "onnx/runtime_kernels.h"

#include <algorithm>

#include "onnx/operator_table.h"
#include "onnx/row_index.h"

namespace flambeau::onnx {
namespace {

struct KernelTypes {
  std::string_view type_parameter;
  DTypeSet dtypes;
};
struct Kernel {
  std::string_view op;
  int first_version, last_version;  // kUnbounded: no later version was known
  TableRange types;

  // As onnxruntime decides it: an open-ended kernel serves only the version
  // that it was written for, because nobody has checked it against a newer one.
  bool Serves(int version) const {
    if (first_version == version) return true;
    return first_version < version && version <= last_version && last_version != kUnbounded;
  }
};

namespace table {
using enum DType;
#include "onnx/runtime_kernels.inc"
}  // namespace table

std::span<const Kernel> KernelsOf(std::string_view op) {
  static const RowIndex<Kernel> index(table::kKernels, &Kernel::op);
  return index[op];
}

struct Request {
  Request(std::string_view op, int opset) : op(op), schema(FindOperator(op, opset)) {
    version = schema != nullptr ? schema->since_version : opset;
  }

  // The types that a kernel takes for a parameter.
  DTypeSet Types(const Kernel& kernel, std::string_view type_parameter) const {
    for (const KernelTypes& types : std::span(table::kKernelTypes).subspan(kernel.types.first, kernel.types.count)) {
      if (types.type_parameter == type_parameter) return types.dtypes;
    }
    const TypeConstraint* constraint = schema != nullptr ? schema->FindType(type_parameter) : nullptr;
    return constraint != nullptr ? constraint->tensors | constraint->sequences : DTypeSet();
  }

  // Whether `predicate` holds for some kernel.
  template <class Predicate>
  bool AnyKernel(Predicate predicate) const {
    return std::ranges::any_of(KernelsOf(op), [&](const Kernel& kernel) { return kernel.Serves(version) && predicate(kernel); });
  }

  std::string_view op;
  const OperatorVersion* schema;
  int version;
};

}  // namespace

bool HasKernel(std::string_view op, int opset) {
  return Request(op, opset).AnyKernel([](const Kernel&) { return true; });
}

DTypeSet KernelDtypes(std::string_view op, int opset, std::string_view type_parameter) {
  const Request request(op, opset);
  DTypeSet dtypes;
  request.AnyKernel([&](const Kernel& kernel) {
    dtypes = dtypes | request.Types(kernel, type_parameter);
    return false;  // look at all of them
  });
  return dtypes;
}

bool RuntimeSupports(std::string_view op, int opset, std::string_view type_parameter, DType dtype) {
  return KernelDtypes(op, opset, type_parameter).contains(dtype);
}

bool RuntimeSupports(std::string_view op, int opset, std::span<const TypeBinding> types) {
  const Request request(op, opset);
  return request.AnyKernel([&](const Kernel& kernel) {
    return std::ranges::all_of(types, [&](const TypeBinding& binding) {
      return request.Types(kernel, binding.type_parameter).contains(binding.dtype);
    });
  });
}

std::string_view RuntimeVersion() { return table::kRuntimeVersion; }

}  // namespace flambeau::onnx
