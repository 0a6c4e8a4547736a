// The report of a conversion: the engine's part comes filled, Python adds what
// only it knows.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "flambeau/report.h"
#include "glue.h"

namespace flambeau::python {
namespace {

// A stage before all others.
void AddStageBefore(ConversionReport& self, const std::string& name, const std::string& description, double seconds) {
  for (ConversionReport::Stage& stage : self.stages) stage.start += seconds;
  for (ConversionReport::OnnxNode& node : self.nodes)
    if (node.stage != ConversionReport::kNone) ++node.stage;
  self.stages.insert(self.stages.begin(), {name, description, 0, seconds, 0, 0});
}

void AddStageAfter(ConversionReport& self, const std::string& name, const std::string& description, double seconds) {
  const double start = self.stages.empty() ? 0 : self.stages.back().start + self.stages.back().seconds;
  const uint64_t nodes = self.stages.empty() ? 0 : self.stages.back().nodes_after;
  self.stages.push_back({name, description, start, seconds, nodes, nodes});
}

}  // namespace

void BindReport(nb::module_& module) {
  using Report = ConversionReport;
  using Comparison = Report::Comparison;
  nb::class_<Comparison>(module, "Comparison", "One tensor compared with PyTorch's.")
      .def(nb::init<>())
      .def_rw("name", &Comparison::name)
      .def_rw("inputs", &Comparison::inputs)
      .def_rw("module", &Comparison::module)
      .def_rw("dtype", &Comparison::dtype)
      .def_rw("max_absolute", &Comparison::max_absolute)
      .def_rw("max_relative", &Comparison::max_relative)
      .def_rw("absolute_tolerance", &Comparison::absolute_tolerance)
      .def_rw("relative_tolerance", &Comparison::relative_tolerance)
      .def_rw("histogram", &Comparison::histogram)
      .def_rw("ok", &Comparison::ok)
      .def_rw("cause", &Comparison::cause);
  nb::class_<Report>(module, "ConversionReport", "What happened in a conversion.")
      .def(nb::init<>())
      .def_rw("status", &Report::status)
      .def_rw("model", &Report::model)
      .def_rw("target", &Report::target)
      .def_rw("failure", &Report::failure)
      .def("add_attempt",
           [](Report& self, const std::string& strategy, double seconds, const std::string& error) {
             self.attempts.push_back({strategy, seconds, error});
           },
           nb::arg("strategy"), nb::arg("seconds"), nb::arg("error"))
      .def("add_stage_before", &AddStageBefore, nb::arg("name"), nb::arg("description"), nb::arg("seconds"))
      .def("add_stage_after", &AddStageAfter, nb::arg("name"), nb::arg("description"), nb::arg("seconds"))
      .def("add_comparison", [](Report& self, const Comparison& comparison) { self.comparisons.push_back(comparison); }, nb::arg("comparison"))
      .def("json", [](const Report& self) { return ReportJson(self); })
      .def("markdown", &ReportMarkdown)
      .def("html", &ReportHtml)
      .def("trace", &ReportTrace);
}

}  // namespace flambeau::python
