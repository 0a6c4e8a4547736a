// ProgramBuilder for Python: one call a node, which takes torch's objects as
// they are. Values are looked up by the identity of the fx.Node they stand for.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "glue.h"
#include "torch_objects.h"

namespace flambeau::python {
namespace {

// The dict of torch.fx's `nn_module_stack`: key -> (path, class), outermost first.
std::vector<NodeSource::Module> ReadModules(nb::handle stack, std::vector<nb::object>& scratch) {
  std::vector<NodeSource::Module> modules;
  PyObject *key = nullptr, *frame = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(stack.ptr(), &position, &key, &frame)) {
    if (!PyTuple_Check(frame) || PyTuple_Size(frame) != 2)
      throw nb::type_error("nn_module_stack holds no (path, class)");
    PyObject* class_name = PyTuple_GetItem(frame, 1);
    if (!PyUnicode_Check(class_name)) {
      const nb::handle type = class_name;
      scratch.push_back(nb::str("{}.{}").format(type.attr("__module__"), type.attr("__qualname__")));
      class_name = scratch.back().ptr();
    }
    modules.push_back({Text(PyTuple_GetItem(frame, 0)), Text(class_name)});
  }
  return modules;
}

class PythonBuilder {
 public:
  PythonBuilder(nb::object vocabulary, nb::object print_expression)
      : objects_(std::move(vocabulary), std::move(print_expression)) {}

  ProgramBuilder& engine() { return builder_; }

  void AddInput(InputKind kind, nb::handle node, std::string_view name, nb::handle value, std::string_view target,
                bool persistent) {
    ValueInfo info = objects_.ReadInfo(value.ptr());
    if (kind == InputKind::kToken) info.kind = ValueInfo::Kind::kToken;
    objects_.Bind(node, builder_.AddInput(kind, name, info, target, persistent));
  }

  // Exactly one of `address` (not 0) and `fetch` (not None) says where the storage's bytes are.
  void AddTensor(InputKind kind, nb::handle node, std::string_view name, nb::handle tensor, std::string_view target,
                 bool persistent, uint64_t storage_offset, uint64_t storage_size, uintptr_t address, nb::object owner,
                 nb::object fetch) {
    const ValueInfo info = objects_.ReadInfo(tensor.ptr());
    TensorSource source;
    source.dtype = info.dtype;
    source.storage_offset = storage_offset;
    source.storage_size = storage_size;
    source.sizes = Constants(info.sizes);
    source.strides = Constants(info.strides);
    if (fetch.is_none()) {
      source.memory = reinterpret_cast<const void*>(address);
      source.owner = KeepAlive(owner);
    } else {
      source.fetch = Fetcher(fetch);
    }
    objects_.Bind(node, builder_.AddTensor(kind, name, info, std::move(source), target, persistent));
  }

  void AddCall(std::string_view target, nb::handle node, std::string_view name, nb::tuple args, nb::dict kwargs,
               nb::handle value, nb::object result_names, nb::object modules, std::string_view stack_trace) {
    std::vector<Argument> positional;
    positional.reserve(args.size());
    for (nb::handle argument : args) positional.push_back(objects_.ReadArgument(argument.ptr()));
    std::vector<std::pair<std::string_view, Argument>> named;
    for (auto [key, argument] : kwargs) named.emplace_back(Text(key.ptr()), objects_.ReadArgument(argument.ptr()));

    std::vector<std::pair<std::string_view, ValueInfo>> results;
    std::vector<std::string> made_names;
    if (!value.is_none()) {  // a call that returns nothing has no results
      Flatten(value.ptr(), results);
      made_names.resize(results.size());
      for (size_t i = 0; i < results.size(); ++i)
        results[i].first = ResultName(name, i, value, result_names, made_names[i]);
    }
    NodeSource source{.modules = {}, .stack_trace = stack_trace, .name = name};
    std::vector<nb::object> scratch;
    if (!modules.is_none()) source.modules = ReadModules(modules, scratch);

    const std::vector<ValueHandle> handles = builder_.AddCall(target, positional, named, results, source);
    size_t next = 0;
    objects_.Bind(node, value.is_none() ? Argument() : Nest(value.ptr(), handles, next));
    objects_.Forget();
  }

  // `node` is element `index` of what `list` stands for.
  void AddItem(nb::handle node, nb::handle list, Py_ssize_t index) {
    const auto* elements = std::get_if<Argument::List>(&objects_.Find(list).storage());
    if (elements == nullptr) throw nb::type_error("an element is taken from something that is no list");
    const auto size = static_cast<Py_ssize_t>(elements->size());
    if (index < 0) index += size;
    if (index < 0 || index >= size) throw nb::index_error("an element is taken from beyond the end of a list");
    objects_.Bind(node, Argument((*elements)[static_cast<size_t>(index)]));
  }

  // `node` is what `other` stands for.
  void AddAlias(nb::handle node, nb::handle other) { objects_.Bind(node, Argument(objects_.Find(other))); }

  void BeginBody() { bodies_.push_back(builder_.BeginBody()); }

  void AddBodyInput(nb::handle node, std::string_view name, nb::handle value) {
    objects_.Bind(node, builder_.AddBodyInput(name, objects_.ReadInfo(value.ptr())));
  }

  // `node` stands for the body that ends.
  void EndBody(nb::handle node, nb::handle outputs) {
    if (bodies_.empty()) throw nb::value_error("a nested graph ends that did not begin");
    const Argument read = objects_.ReadArgument(outputs.ptr());
    std::vector<Argument> flat;
    if (const auto* list = std::get_if<Argument::List>(&read.storage())) {
      flat = *list;
    } else {
      flat.push_back(read);
    }
    builder_.EndBody(flat);
    objects_.Bind(node, bodies_.back());
    bodies_.pop_back();
    objects_.Forget();
  }

  void AddOutput(OutputKind kind, nb::handle value, std::string_view name, std::string_view target) {
    builder_.AddOutput(kind, objects_.ReadArgument(value.ptr()), name, target);
    objects_.Forget();
  }

  nb::tuple Finish() {
    std::vector<Diagnostic> diagnostics;
    std::optional<Program> program = builder_.Finish(diagnostics);
    nb::object result = nb::none();
    if (program) result = nb::cast(LiveProgram{std::move(program), errors_});
    return nb::make_tuple(result, std::move(diagnostics));
  }

 private:
  static bool IsList(PyObject* value) { return PyList_Check(value) || PyTuple_Check(value); }

  static std::vector<int64_t> Constants(const std::vector<SymbolicInt>& sizes) {
    std::vector<int64_t> numbers;
    for (const SymbolicInt& size : sizes) {
      const auto* number = std::get_if<int64_t>(&size);
      if (number == nullptr) throw nb::value_error("a tensor with bytes has a symbolic size");
      numbers.push_back(*number);
    }
    return numbers;
  }

  // A list's elements are results of their own.
  void Flatten(PyObject* value, std::vector<std::pair<std::string_view, ValueInfo>>& results) {
    if (!IsList(value)) {
      results.emplace_back(std::string_view(), objects_.ReadInfo(value));
      return;
    }
    for (nb::handle element : nb::borrow<nb::sequence>(value)) Flatten(element.ptr(), results);
  }

  static Argument Nest(PyObject* value, const std::vector<ValueHandle>& handles, size_t& next) {
    if (!IsList(value)) return handles[next++];
    Argument::List list;
    for (nb::handle element : nb::borrow<nb::sequence>(value)) list.push_back(Nest(element.ptr(), handles, next));
    return list;
  }

  static std::string_view ResultName(std::string_view name, size_t index, nb::handle value, nb::handle names,
                                     std::string& made) {
    if (!IsList(value.ptr())) return name;
    if (!names.is_none()) {
      if (PyObject* given = PyDict_GetItem(names.ptr(), nb::int_(index).ptr())) return Text(given);
    }
    return made = std::string(name) + "_unused_" + std::to_string(index);
  }

  std::function<bool(uint64_t, std::span<std::byte>)> Fetcher(nb::handle fetch) {
    return [fetch = KeepAlive(fetch), errors = errors_](uint64_t offset, std::span<std::byte> out) {
      nb::gil_scoped_acquire gil;
      try {
        const nb::object view = nb::steal(PyMemoryView_FromMemory(reinterpret_cast<char*>(out.data()),
                                                                  static_cast<Py_ssize_t>(out.size()), PyBUF_WRITE));
        if (!view.is_valid()) throw nb::python_error();
        nb::handle(fetch.get())(offset, view);
        return true;
      } catch (...) {
        errors->Keep();
        return false;
      }
    };
  }

  ProgramBuilder builder_;
  TorchObjects objects_;
  std::vector<BodyHandle> bodies_;  // open ones, innermost last
  std::shared_ptr<ErrorSlot> errors_ = std::make_shared<ErrorSlot>();
};

template <class Code>
void Keep(const nb::dict& words, std::unordered_map<PyObject*, Code>& codes, Vocabulary& vocabulary) {
  for (auto [word, code] : words) {
    vocabulary.kept.push_back(nb::borrow(word));
    if constexpr (std::is_same_v<Code, ScalarTypeCode>) {
      codes[word.ptr()] = nb::cast<ScalarTypeCode>(code);
    } else {
      vocabulary.kept.push_back(nb::borrow(code));
      codes[word.ptr()] = Code{Text(code.ptr())};
    }
  }
}

void BindEnums(nb::module_& module) {
  nb::enum_<InputKind>(module, "InputKind")
      .value("USER", InputKind::kUser)
      .value("PARAMETER", InputKind::kParameter)
      .value("BUFFER", InputKind::kBuffer)
      .value("CONSTANT_TENSOR", InputKind::kConstantTensor)
      .value("CONSTANT", InputKind::kConstant)
      .value("TOKEN", InputKind::kToken)
      .value("OBJECT", InputKind::kObject);
  nb::enum_<OutputKind>(module, "OutputKind")
      .value("USER", OutputKind::kUser)
      .value("LOSS", OutputKind::kLoss)
      .value("BUFFER_MUTATION", OutputKind::kBufferMutation)
      .value("PARAMETER_MUTATION", OutputKind::kParameterMutation)
      .value("USER_INPUT_MUTATION", OutputKind::kUserInputMutation)
      .value("GRADIENT", OutputKind::kGradient)
      .value("TOKEN", OutputKind::kToken);
}

}  // namespace

void BindProgramBuilder(nb::module_& module) {
  BindEnums(module);
  nb::class_<Vocabulary>(module, "Vocabulary", "torch's types and constants, as the builder recognises them.")
      .def(
          "__init__",
          [](Vocabulary* self, nb::object node, nb::object tensor, nb::object device, nb::object sym_int,
             nb::object sym_float, nb::object sym_bool, nb::dict dtypes, nb::dict layouts, nb::dict memory_formats) {
            new (self) Vocabulary{node, tensor, device, sym_int, sym_float, sym_bool, {}, {}, {}, {}};
            Keep(dtypes, self->dtypes, *self);
            Keep(layouts, self->layouts, *self);
            Keep(memory_formats, self->memory_formats, *self);
          },
          nb::kw_only(), nb::arg("node"), nb::arg("tensor"), nb::arg("device"), nb::arg("sym_int"),
          nb::arg("sym_float"), nb::arg("sym_bool"), nb::arg("dtypes"), nb::arg("layouts"), nb::arg("memory_formats"));

  nb::class_<PythonBuilder>(module, "ProgramBuilder", "Builds a program node by node, in execution order.")
      .def(nb::init<nb::object, nb::object>(), nb::arg("vocabulary"), nb::arg("print_expression"))
      .def("set_torch_version", [](PythonBuilder& self, std::string_view text) { self.engine().SetTorchVersion(text); })
      .def("set_default_dtype", [](PythonBuilder& self, int dtype) { self.engine().SetDefaultDtype(dtype); })
      .def("set_name", [](PythonBuilder& self, std::string_view text) { self.engine().SetName(text); })
      .def(
          "set_range",
          [](PythonBuilder& self, std::string_view symbol, std::optional<int64_t> min, std::optional<int64_t> max) {
            self.engine().SetRange(symbol, min, max);
          },
          nb::arg("symbol"), nb::arg("min").none(), nb::arg("max").none())
      .def("add_guard", [](PythonBuilder& self, std::string_view guard) { self.engine().AddGuard(guard); })
      .def(
          "name_dimension",
          [](PythonBuilder& self, size_t position, size_t dim, std::string_view name, std::string_view frozen_by) {
            self.engine().NameDimension(position, dim, name, frozen_by);
          },
          nb::arg("position"), nb::arg("dim"), nb::arg("name"), nb::arg("frozen_by") = "")
      .def("declare_operator",
           [](PythonBuilder& self, std::string_view schema) { self.engine().DeclareOperator(schema); }, nb::arg("schema"))
      .def(
          "set_metadata",
          [](PythonBuilder& self, std::string_view key, std::string_view value) {
            self.engine().SetMetadata(key, value);
          },
          nb::arg("key"), nb::arg("value"))
      .def("add_input", &PythonBuilder::AddInput, nb::arg("kind"), nb::arg("node"), nb::arg("name"),
           nb::arg("value").none(), nb::arg("target"), nb::arg("persistent"))
      .def("add_tensor", &PythonBuilder::AddTensor, nb::arg("kind"), nb::arg("node"), nb::arg("name"),
           nb::arg("tensor"), nb::arg("target"), nb::arg("persistent"), nb::arg("storage_offset"),
           nb::arg("storage_size"), nb::arg("address"), nb::arg("owner"), nb::arg("fetch").none())
      .def("add_call", &PythonBuilder::AddCall, nb::arg("target"), nb::arg("node"), nb::arg("name"), nb::arg("args"),
           nb::arg("kwargs"), nb::arg("value").none(), nb::arg("result_names").none(), nb::arg("modules").none(),
           nb::arg("stack_trace"))
      .def("add_item", &PythonBuilder::AddItem, nb::arg("node"), nb::arg("list"), nb::arg("index"))
      .def("add_alias", &PythonBuilder::AddAlias, nb::arg("node"), nb::arg("other"))
      .def("begin_body", &PythonBuilder::BeginBody)
      .def("add_body_input", &PythonBuilder::AddBodyInput, nb::arg("node"), nb::arg("name"), nb::arg("value").none())
      .def("end_body", &PythonBuilder::EndBody, nb::arg("node"), nb::arg("outputs"))
      .def("add_output", &PythonBuilder::AddOutput, nb::arg("kind"), nb::arg("value").none(), nb::arg("name"),
           nb::arg("target"))
      .def("finish", &PythonBuilder::Finish);
}

}  // namespace flambeau::python
