#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "glue.h"

namespace flambeau::python {

void BindInspect(nb::module_& module) {
  nb::class_<ProgramSummary::Tensor>(module, "SummaryTensor", "An input, output or weight of a program.")
      .def_ro("name", &ProgramSummary::Tensor::name)
      .def_ro("dtype", &ProgramSummary::Tensor::dtype)
      .def_ro("sizes", &ProgramSummary::Tensor::sizes)
      .def_ro("kind", &ProgramSummary::Tensor::kind)
      .def_ro("type", &ProgramSummary::Tensor::type);
  nb::class_<ProgramSummary::Operator>(module, "SummaryOperator", "An operator that a program calls.")
      .def_ro("name", &ProgramSummary::Operator::name)
      .def_ro("count", &ProgramSummary::Operator::count)
      .def_ro("supported", &ProgramSummary::Operator::supported);
  nb::class_<ProgramSummary>(module, "ProgramSummary", "What a program holds.")
      .def_ro("torch_version", &ProgramSummary::torch_version)
      .def_ro("inputs", &ProgramSummary::inputs)
      .def_ro("outputs", &ProgramSummary::outputs)
      .def_ro("weights", &ProgramSummary::weights)
      .def_ro("dims", &ProgramSummary::dims)
      .def_ro("operators", &ProgramSummary::operators)
      .def_ro("weight_bytes", &ProgramSummary::weight_bytes)
      .def_ro("alternatives", &ProgramSummary::alternatives)
      .def_ro("extra_files", &ProgramSummary::extra_files)
      .def_ro("undescribed", &ProgramSummary::undescribed);
  nb::class_<OperatorInfo>(module, "OperatorInfo", "One row of the table of supported operators.")
      .def_ro("schema", &OperatorInfo::schema)
      .def_ro("read_as", &OperatorInfo::read_as)
      .def_ro("restrictions", &OperatorInfo::restrictions);
  module.def(
      "summarize",
      [](const LiveProgram& self) {
        if (!self.program) throw nb::value_error("this program was converted before; build it again");
        return Summarize(*self.program);
      },
      nb::arg("program"));
  module.def(
      "summarize_file",
      [](const std::string& path, const Options& options) {
        std::vector<Diagnostic> diagnostics;
        std::optional<ProgramSummary> summary;
        {
          nb::gil_scoped_release release;
          summary = SummarizeFile(path, diagnostics, options);
        }
        return nb::make_tuple(std::move(summary), std::move(diagnostics));
      },
      nb::arg("path"), nb::arg("options"));
  module.def("supported_operators", &SupportedOperators);
}

}  // namespace flambeau::python
