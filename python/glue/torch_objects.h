// Reads the Python objects that torch puts into a captured graph: arguments of
// nodes and the values that the capture recorded. It sees torch only through a
// Vocabulary that Python fills in, so the extension needs no torch to build or
// to load.
//
// This runs for each operand of each node: types are compared by identity, and
// expressions become text once.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flambeau/program.h"

namespace flambeau::python {

namespace nb = nanobind;

// torch's types and constants, by identity.
struct Vocabulary {
  nb::object node, tensor, device;          // torch.fx.Node, torch.Tensor, torch.device
  nb::object sym_int, sym_float, sym_bool;  // torch.SymInt, …
  std::vector<nb::object> kept;             // what the keys below point to
  std::unordered_map<PyObject*, ScalarTypeCode> dtypes;
  std::unordered_map<PyObject*, LayoutArgument> layouts;
  std::unordered_map<PyObject*, MemoryFormatArgument> memory_formats;
};

// UTF-8 of a str; lives as long as the object.
std::string_view Text(PyObject* string);

class TorchObjects {
 public:
  // `print_expression`: sympy expression -> int or str.
  TorchObjects(nb::object vocabulary, nb::object print_expression);

  // What `node` stands for from now on: a value, a list of values, a body.
  void Bind(nb::handle node, Argument argument);
  const Argument& Find(nb::handle node) const;

  // Views in the result live until the next call of Forget.
  Argument ReadArgument(PyObject* object, int depth = 0);
  ValueInfo ReadInfo(PyObject* value);
  void Forget() { scratch_.clear(); }

 private:
  std::vector<SymbolicInt> ReadSizes(PyObject* sizes);
  SymbolicInt ReadSize(PyObject* size);

  nb::object owner_;
  const Vocabulary& words_;
  nb::object print_expression_;
  std::unordered_map<PyObject*, Argument> bound_;
  std::vector<nb::object> kept_;     // the keys of bound_ and sizes_
  std::vector<nb::object> scratch_;  // texts made for one call
  // sympy expression -> int or str; by identity first, for sympy's == is slow.
  std::unordered_map<PyObject*, SymbolicInt> sizes_;
  nb::dict expressions_;
};

}  // namespace flambeau::python
