#include "torch_objects.h"

#include <nanobind/stl/string.h>

#include <string>

namespace flambeau::python {
namespace {

constexpr int kDeepestList = 32;

// Python's objects for the attributes that are read again and again.
PyObject* Interned(const char* name) { return PyUnicode_InternFromString(name); }

nb::object Attribute(PyObject* object, PyObject* name) { return nb::steal(nb::detail::getattr(object, name)); }

std::string TypeName(PyObject* object) {
  return nb::cast<std::string>(nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))).attr("__qualname__")));
}

bool Is(PyObject* object, const nb::object& type) { return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type.ptr(); }

int64_t Integer(PyObject* object) {
  const long long value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

}  // namespace

std::string_view Text(PyObject* string) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(string, &size);
  if (data == nullptr) throw nb::python_error();
  return {data, static_cast<size_t>(size)};
}

TorchObjects::TorchObjects(nb::object vocabulary, nb::object print_expression)
    : owner_(std::move(vocabulary)),
      words_(nb::cast<const Vocabulary&>(owner_)),
      print_expression_(std::move(print_expression)) {}

void TorchObjects::Bind(nb::handle node, Argument argument) {
  kept_.push_back(nb::borrow(node));
  bound_.insert_or_assign(node.ptr(), std::move(argument));
}

const Argument& TorchObjects::Find(nb::handle node) const {
  const auto found = bound_.find(node.ptr());
  if (found == bound_.end())
    throw nb::value_error(
        ("the node '" + nb::cast<std::string>(nb::str(node)) + "' is used before it is defined").c_str());
  return found->second;
}

Argument TorchObjects::ReadArgument(PyObject* object, int depth) {
  if (object == Py_None) return {};
  if (Is(object, words_.node)) return Find(object);
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) return Integer(object);
  if (PyFloat_Check(object)) return PyFloat_AsDouble(object);
  if (PyUnicode_Check(object)) return Text(object);
  if (PyList_Check(object) || PyTuple_Check(object)) {
    if (depth == kDeepestList) throw nb::value_error("an argument's lists are nested too deeply");
    const bool is_list = PyList_Check(object);
    const Py_ssize_t size = is_list ? PyList_Size(object) : PyTuple_Size(object);
    Argument::List list;
    list.reserve(static_cast<size_t>(size));
    for (Py_ssize_t i = 0; i < size; ++i)
      list.push_back(ReadArgument(is_list ? PyList_GetItem(object, i) : PyTuple_GetItem(object, i), depth + 1));
    return list;
  }
  if (const auto it = words_.dtypes.find(object); it != words_.dtypes.end()) return DtypeArgument{it->second};
  if (const auto it = words_.layouts.find(object); it != words_.layouts.end()) return it->second;
  if (const auto it = words_.memory_formats.find(object); it != words_.memory_formats.end()) return it->second;
  if (PyComplex_Check(object))
    return std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
  if (Is(object, words_.device)) {
    scratch_.push_back(nb::str(nb::handle(object)));
    return DeviceArgument{Text(scratch_.back().ptr())};
  }
  throw nb::type_error(("an argument of type '" + TypeName(object) + "' has no meaning in a captured graph").c_str());
}

SymbolicInt TorchObjects::ReadSize(PyObject* size) {
  if (PyLong_Check(size)) return Integer(size);
  static PyObject* const node_name = Interned("node");
  static PyObject* const recorded_name = Interned("_expr");  // `expr` without what was learned since
  static PyObject* const expr_name = Interned("expr");
  const nb::object node = Attribute(size, node_name);
  const nb::object recorded = Attribute(node.ptr(), recorded_name);
  if (const auto known = sizes_.find(recorded.ptr()); known != sizes_.end()) return known->second;

  const nb::object expression = Attribute(node.ptr(), expr_name);
  PyObject* text = PyDict_GetItemWithError(expressions_.ptr(), expression.ptr());
  if (text == nullptr) {
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    const nb::object printed = print_expression_(expression);
    expressions_[expression] = printed;
    text = printed.ptr();  // the dict keeps it
  }
  kept_.push_back(recorded);
  const SymbolicInt result = PyLong_Check(text) ? SymbolicInt(Integer(text)) : SymbolicInt(Text(text));
  return sizes_[recorded.ptr()] = result;
}

std::vector<SymbolicInt> TorchObjects::ReadSizes(PyObject* sizes) {
  std::vector<SymbolicInt> result;
  const Py_ssize_t count = PyTuple_Size(sizes);
  if (count < 0) throw nb::python_error();
  result.reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) result.push_back(ReadSize(PyTuple_GetItem(sizes, i)));
  return result;
}

ValueInfo TorchObjects::ReadInfo(PyObject* value) {
  using Kind = ValueInfo::Kind;
  ValueInfo info;
  if (PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(words_.tensor.ptr()))) {
    static PyObject* const dtype = Interned("dtype");
    static PyObject* const shape = Interned("shape");
    static PyObject* const stride = Interned("stride");
    const nb::object type = Attribute(value, dtype);
    const auto code = words_.dtypes.find(type.ptr());
    if (code == words_.dtypes.end())
      throw nb::type_error((nb::cast<std::string>(nb::str(type)) + " is no dtype that Flambeau knows").c_str());
    info.dtype = code->second;
    info.sizes = ReadSizes(Attribute(value, shape).ptr());
    const nb::object strides = nb::steal(PyObject_CallMethodNoArgs(value, stride));
    if (strides.is_valid()) {
      info.strides = ReadSizes(strides.ptr());
    } else {
      PyErr_Clear();  // sparse tensors have none
    }
  } else if (value == Py_None) {
    info.kind = Kind::kNone;
  } else if (PyBool_Check(value)) {
    info.kind = Kind::kBool;
    info.expression = int64_t{value == Py_True};
  } else if (PyLong_Check(value)) {
    info.kind = Kind::kInt;
    info.expression = Integer(value);
  } else if (Is(value, words_.sym_int)) {
    info.kind = Kind::kInt;
    info.expression = ReadSize(value);
  } else if (PyFloat_Check(value) || Is(value, words_.sym_float)) {
    info.kind = Kind::kFloat;
  } else if (Is(value, words_.sym_bool)) {
    info.kind = Kind::kBool;
  } else {
    info.kind = Kind::kObject;
  }
  return info;
}

}  // namespace flambeau::python
