// Calls into the engine. The GIL is released while it works and taken for its
// callbacks; an exception that a callback raises, Ctrl-C included, interrupts
// the engine and is raised again by the call that started it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "glue.h"

namespace flambeau::python {
namespace {

using Diagnostics = std::vector<Diagnostic>;

// `callback(stage, done, total)` may be None; its answer False interrupts.
std::function<bool(const Progress&)> Watch(nb::object callback, const std::shared_ptr<ErrorSlot>& errors) {
  std::shared_ptr<PyObject> kept = callback.is_none() ? nullptr : KeepAlive(callback);
  return [kept, errors](const Progress& progress) {
    nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!kept) return true;
      const nb::str stage(progress.stage.data(), progress.stage.size());
      return !nb::handle(kept.get())(stage, progress.done, progress.total).is(nb::handle(Py_False));
    } catch (...) {
      errors->Keep();
      return false;
    }
  };
}

nb::object ModelOrNone(std::optional<Model> model, std::shared_ptr<ErrorSlot> errors) {
  if (!model) return nb::none();
  return nb::cast(LiveModel{std::move(*model), std::move(errors)});
}

Outcome RunConvert(LiveProgram& program, Options options, nb::object progress) {
  const std::shared_ptr<ErrorSlot> errors = program.errors;
  options.progress = Watch(std::move(progress), errors);
  Program taken = program.Take();
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = Convert(std::move(taken), options);
  }
  errors->Rethrow();
  return outcome;
}

nb::tuple ConvertLive(LiveProgram& program, Options options, nb::object progress) {
  Outcome outcome = RunConvert(program, std::move(options), std::move(progress));
  return nb::make_tuple(ModelOrNone(std::move(outcome.model), program.errors), std::move(outcome.diagnostics));
}

nb::tuple ConvertWithReport(LiveProgram& program, Options options, nb::object progress) {
  options.report = true;
  Outcome outcome = RunConvert(program, std::move(options), std::move(progress));
  if (!outcome.report) outcome.report.emplace().diagnostics = outcome.diagnostics;
  return nb::make_tuple(ModelOrNone(std::move(outcome.model), program.errors), std::move(outcome.diagnostics), std::move(*outcome.report));
}

nb::tuple ConvertArchive(const std::string& source, const std::string& target, Options options, nb::object progress) {
  const auto errors = std::make_shared<ErrorSlot>();
  options.progress = Watch(std::move(progress), errors);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = ConvertFile(source, target, options);
  }
  errors->Rethrow();
  return nb::make_tuple(ModelOrNone(std::move(outcome.model), errors), std::move(outcome.diagnostics));
}

nb::tuple ReadArchive(const std::string& path, const Options& options) {
  Diagnostics diagnostics;
  std::optional<Program> program;
  {
    nb::gil_scoped_release release;
    program = ReadProgram(path, diagnostics, options);
  }
  nb::object result = nb::none();
  if (program) result = nb::cast(LiveProgram{std::move(program), std::make_shared<ErrorSlot>()});
  return nb::make_tuple(result, std::move(diagnostics));
}

nb::tuple DumpLive(LiveProgram& program, const std::string& stage, const Options& options) {
  Diagnostics diagnostics;
  std::string text = Dump(program.Take(), stage, options, diagnostics);
  program.errors->Rethrow();
  return nb::make_tuple(std::move(text), std::move(diagnostics));
}

nb::tuple SerializeModel(const LiveModel& self, bool weights) {
  Diagnostics diagnostics;
  std::string bytes;
  {
    nb::gil_scoped_release release;
    bytes = self.model.Serialize(diagnostics, weights);
  }
  self.errors->Rethrow();
  return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), std::move(diagnostics));
}

nb::tuple SaveModel(const LiveModel& self, const std::string& path, ExternalData external_data, nb::object progress) {
  const auto watch = Watch(std::move(progress), self.errors);
  Diagnostics diagnostics;
  bool saved = false;
  {
    nb::gil_scoped_release release;
    saved = self.model.Save(path, external_data, diagnostics, watch);
  }
  self.errors->Rethrow();
  return nb::make_tuple(saved, std::move(diagnostics));
}

}  // namespace

void BindConvert(nb::module_& module) {
  nb::class_<LiveProgram>(module, "Program", "A captured program, until a conversion consumes it.");
  nb::class_<Model::NamedType>(module, "NamedType", "An input or output of a model.")
      .def_ro("name", &Model::NamedType::name)
      .def_ro("dtype", &Model::NamedType::dtype)
      .def_ro("sizes", &Model::NamedType::sizes)
      .def_ro("position", &Model::NamedType::position);
  nb::class_<LiveModel>(module, "Model", "A finished ONNX model; its weights are still where they were.")
      .def("serialize", &SerializeModel, nb::arg("weights") = true)
      .def("save", &SaveModel, nb::arg("path"), nb::arg("external_data"), nb::arg("progress") = nb::none())
      .def_prop_ro("inputs", [](const LiveModel& self) { return self.model.inputs(); })
      .def_prop_ro("outputs", [](const LiveModel& self) { return self.model.outputs(); })
      .def_prop_ro("node_count", [](const LiveModel& self) { return self.model.node_count(); })
      .def_prop_ro("weight_bytes", [](const LiveModel& self) { return self.model.weight_bytes(); })
      .def_prop_ro("opset", [](const LiveModel& self) { return self.model.opset(); })
      .def_prop_ro("ir_version", [](const LiveModel& self) { return self.model.ir_version(); })
      .def("text", [](const LiveModel& self) { return self.model.Text(); });
  module.def("convert", &ConvertLive, nb::arg("program"), nb::arg("options"), nb::arg("progress") = nb::none());
  module.def("convert_with_report", &ConvertWithReport, nb::arg("program"), nb::arg("options"), nb::arg("progress") = nb::none());
  module.def("convert_file", &ConvertArchive, nb::arg("source"), nb::arg("target"), nb::arg("options"),
             nb::arg("progress") = nb::none());
  module.def("read_program", &ReadArchive, nb::arg("path"), nb::arg("options") = Options());
  module.def("dump", &DumpLive, nb::arg("program"), nb::arg("stage"), nb::arg("options"));
  module.def("dump_stages", &DumpStages);
  module.def("newest_opset", &NewestOpset);
}

}  // namespace flambeau::python
