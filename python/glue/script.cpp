// ScriptBuilder for Python: types, objects and nodes of a live torch._C.Graph,
// one call each. Handles are plain numbers.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "flambeau/script.h"
#include "glue.h"
#include "torch_objects.h"

namespace flambeau::python {
namespace {

constexpr int kMaxDepth = 64;  // of containers in containers

// Constants that Python has no object of its own for.
struct TensorConstant {
  ScriptConstant constant;
};
struct DeviceText {
  std::string text;
};
struct ObjectHandle {
  uint32_t index;
};
struct EnumMember {
  std::string class_name, member;
  nb::object value;
};

ScriptConstant ReadConstant(nb::handle value, int depth = 0) {
  if (depth > kMaxDepth) throw nb::value_error("a constant nests too deep");
  PyObject* object = value.ptr();
  if (object == Py_None) return {};
  if (PyBool_Check(object)) return {object == Py_True};
  if (PyLong_Check(object)) return {nb::cast<int64_t>(value)};
  if (PyFloat_Check(object)) return {nb::cast<double>(value)};
  if (PyComplex_Check(object)) return {std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object))};
  if (PyUnicode_Check(object)) return {std::string(Text(object))};
  if (PyList_Check(object) || PyTuple_Check(object)) {
    ScriptConstant::List elements;
    for (nb::handle element : nb::borrow<nb::sequence>(value)) elements.push_back(ReadConstant(element, depth + 1));
    if (PyTuple_Check(object)) return {ScriptConstant::Tuple{std::move(elements)}};
    return {std::move(elements)};
  }
  if (PyDict_Check(object)) {
    ScriptConstant::Dict dict;
    for (auto [key, entry] : nb::borrow<nb::dict>(value))
      dict.entries.emplace_back(ReadConstant(key, depth + 1), ReadConstant(entry, depth + 1));
    return {std::move(dict)};
  }
  if (nb::isinstance<TensorConstant>(value)) return nb::cast<const TensorConstant&>(value).constant;
  if (nb::isinstance<DeviceText>(value)) return {ScriptConstant::Device{nb::cast<const DeviceText&>(value).text}};
  if (nb::isinstance<ObjectHandle>(value)) return {ScriptObject{nb::cast<const ObjectHandle&>(value).index}};
  if (nb::isinstance<EnumMember>(value)) {
    const auto& member = nb::cast<const EnumMember&>(value);
    auto inner = std::make_shared<const ScriptConstant>(ReadConstant(member.value, depth + 1));
    return {ScriptConstant::Enum{member.class_name, member.member, std::move(inner)}};
  }
  throw nb::type_error("a constant is of a type that TorchScript does not have");
}

TensorConstant MakeTensor(ScalarTypeCode dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides,
                          uint64_t offset, uint64_t size, uintptr_t address, nb::object owner) {
  TensorSource source;
  source.dtype = dtype;
  source.sizes = std::move(sizes);
  source.strides = std::move(strides);
  source.storage_offset = offset;
  source.storage_size = size;
  source.memory = reinterpret_cast<const void*>(address);
  source.owner = KeepAlive(owner);
  return {{std::move(source)}};
}

class PythonScript {
 public:
  ScriptBuilder builder;

  std::vector<uint32_t> AddNode(std::string_view kind, std::string_view overload, const std::vector<uint32_t>& inputs,
                                nb::list outputs, nb::dict attributes, nb::list modules, std::string_view trace,
                                const std::vector<uint32_t>& types) {
    ScriptBuilder::NodeInfo info{.kind = kind, .overload = overload, .inputs = Values(inputs), .stack_trace = trace};
    for (nb::handle output : outputs) {
      const nb::tuple pair = nb::cast<nb::tuple>(output);
      info.outputs.emplace_back(Text(nb::handle(pair[0]).ptr()), ScriptType{nb::cast<uint32_t>(pair[1])});
    }
    for (auto [name, value] : attributes) info.attributes.emplace_back(Text(name.ptr()), ReadConstant(value));
    for (nb::handle module : modules) {
      const nb::tuple pair = nb::cast<nb::tuple>(module);
      info.modules.push_back({Text(nb::handle(pair[0]).ptr()), Text(nb::handle(pair[1]).ptr())});
    }
    for (const uint32_t type : types) info.types.push_back({type});
    std::vector<uint32_t> handles;
    for (const ScriptValue value : builder.AddNode(std::move(info))) handles.push_back(value.index);
    return handles;
  }

  static std::vector<ScriptValue> Values(const std::vector<uint32_t>& handles) {
    std::vector<ScriptValue> values;
    for (const uint32_t handle : handles) values.push_back({handle});
    return values;
  }

  nb::tuple Finish(const std::vector<ScriptInput>& inputs, const Options& options) {
    std::vector<Diagnostic> diagnostics;
    std::optional<Program> program = builder.Finish(inputs, diagnostics, options);
    nb::object result = nb::none();
    if (program) result = nb::cast(LiveProgram{std::move(program), std::make_shared<ErrorSlot>()});
    return nb::make_tuple(result, std::move(diagnostics));
  }
};

ScriptInput TensorInput(ScalarTypeCode dtype, nb::list sizes, std::string name, std::vector<int64_t> captured) {
  ScriptInput input{.kind = ScriptInput::Kind::kTensor, .name = std::move(name), .dtype = dtype, .captured = std::move(captured)};
  for (nb::handle size : sizes) {
    if (PyUnicode_Check(size.ptr())) {
      input.sizes.emplace_back(std::string(Text(size.ptr())));
    } else {
      input.sizes.emplace_back(nb::cast<int64_t>(size));
    }
  }
  return input;
}

ScriptInput ContainerInput(std::string_view kind, std::vector<ScriptInput> elements, nb::list keys) {
  ScriptInput input{.kind = kind == "list"    ? ScriptInput::Kind::kList
                            : kind == "tuple" ? ScriptInput::Kind::kTuple
                                              : ScriptInput::Kind::kDict,
                    .elements = std::move(elements)};
  for (nb::handle key : keys) input.keys.push_back(ReadConstant(key));
  return input;
}

}  // namespace

void BindScript(nb::module_& module) {
  nb::class_<TensorConstant>(module, "ScriptTensor", "A tensor of a TorchScript program, by its place in memory.")
      .def("__init__",
           [](TensorConstant* self, ScalarTypeCode dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides,
              uint64_t storage_offset, uint64_t storage_size, uintptr_t address, nb::object owner) {
             new (self) TensorConstant(MakeTensor(dtype, std::move(sizes), std::move(strides), storage_offset,
                                                  storage_size, address, owner));
           },
           nb::kw_only(), nb::arg("dtype"), nb::arg("sizes"), nb::arg("strides"), nb::arg("storage_offset"),
           nb::arg("storage_size"), nb::arg("address"), nb::arg("owner"));
  nb::class_<DeviceText>(module, "ScriptDevice").def(nb::init<std::string>(), nb::arg("text"));
  nb::class_<ObjectHandle>(module, "ScriptObject").def(nb::init<uint32_t>(), nb::arg("index"));
  nb::class_<EnumMember>(module, "ScriptEnum")
      .def(nb::init<std::string, std::string, nb::object>(), nb::arg("class_name"), nb::arg("member"), nb::arg("value"));
  nb::class_<ScriptInput>(module, "ScriptInput", "What a TorchScript program gets for one of its inputs.")
      .def_static("tensor", &TensorInput, nb::arg("dtype"), nb::arg("sizes"), nb::arg("name") = "",
                  nb::arg("captured") = std::vector<int64_t>())
      .def_static(
          "constant",
          [](nb::handle value) {
            return ScriptInput{.kind = ScriptInput::Kind::kConstant, .constant = ReadConstant(value)};
          },
          nb::arg("value").none())
      .def_rw("number", &ScriptInput::number)
      .def_static("container", &ContainerInput, nb::arg("kind"), nb::arg("elements"), nb::arg("keys"));

  nb::class_<PythonScript>(module, "ScriptBuilder", "Builds a TorchScript program node by node, in execution order.")
      .def(nb::init<>())
      .def("set_torch_version", [](PythonScript& self, std::string_view text) { self.builder.SetTorchVersion(text); })
      .def("set_default_dtype", [](PythonScript& self, int dtype) { self.builder.SetDefaultDtype(dtype); })
      .def("set_device", [](PythonScript& self, std::string_view device) { self.builder.SetDevice(device); })
      .def(
          "add_type",
          [](PythonScript& self, std::string_view kind, const std::vector<uint32_t>& elements, std::string_view name) {
            std::vector<ScriptType> types;
            for (const uint32_t element : elements) types.push_back({element});
            return self.builder.AddType(kind, types, name).index;
          },
          nb::arg("kind"), nb::arg("elements"), nb::arg("name") = "")
      .def(
          "add_object",
          [](PythonScript& self, std::string_view class_name, std::string_view path) {
            return ObjectHandle{self.builder.AddObject(class_name, path).index};
          },
          nb::arg("class_name"), nb::arg("path"))
      .def(
          "add_attribute",
          [](PythonScript& self, const ObjectHandle& object, std::string_view name, nb::handle value, InputKind role,
             bool persistent) {
            self.builder.AddAttribute({object.index}, name, ReadConstant(value), role, persistent);
          },
          nb::arg("object"), nb::arg("name"), nb::arg("value").none(), nb::arg("role"), nb::arg("persistent"))
      .def("set_self", [](PythonScript& self, const ObjectHandle& object) { self.builder.SetSelf({object.index}); },
           nb::arg("object"))
      .def(
          "add_input",
          [](PythonScript& self, std::string_view name, uint32_t type) {
            return self.builder.AddInput(name, {type}).index;
          },
          nb::arg("name"), nb::arg("type"))
      .def("add_node", &PythonScript::AddNode, nb::arg("kind"), nb::arg("overload"), nb::arg("inputs"),
           nb::arg("outputs"), nb::arg("attributes"), nb::arg("modules"), nb::arg("stack_trace"), nb::arg("types") = std::vector<uint32_t>())
      .def("begin_block", [](PythonScript& self) { self.builder.BeginBlock(); })
      .def("end_block",
           [](PythonScript& self, const std::vector<uint32_t>& outputs) {
             self.builder.EndBlock(PythonScript::Values(outputs));
           },
           nb::arg("outputs"))
      .def("set_outputs",
           [](PythonScript& self, const std::vector<uint32_t>& outputs) {
             self.builder.SetOutputs(PythonScript::Values(outputs));
           },
           nb::arg("outputs"))
      .def("text", [](PythonScript& self) { return self.builder.Text(); })
      .def("declare_operator", [](PythonScript& self, std::string_view schema) { self.builder.DeclareOperator(schema); },
           nb::arg("schema"))
      .def("finish", &PythonScript::Finish, nb::arg("inputs"), nb::arg("options") = Options());
}

}  // namespace flambeau::python
