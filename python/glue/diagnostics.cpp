#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "flambeau/diagnostic.h"
#include "flambeau/report.h"
#include "glue.h"

namespace flambeau::python {
namespace {

std::string Represent(const Diagnostic& diagnostic) {
  std::string text = "<Diagnostic ";
  text.append(Name(diagnostic.severity)).append(" ").append(Slug(diagnostic.kind));
  return text.append(": ").append(diagnostic.message).append(">");
}

}  // namespace

void BindDiagnostics(nb::module_& module) {
  nb::class_<Location>(module, "Location", "Where in the user's model something happened; each part may be empty.")
      .def_ro("file", &Location::file)
      .def_ro("entry", &Location::entry)
      .def_ro("module", &Location::module)
      .def_ro("source", &Location::source)
      .def_ro("operation", &Location::operation);
  nb::class_<Diagnostic>(module, "Diagnostic", "One thing that the engine has to say.")
      .def_prop_ro("kind", [](const Diagnostic& self) { return Slug(self.kind); })
      .def_prop_ro("severity", [](const Diagnostic& self) { return Name(self.severity); })
      .def_ro("location", &Diagnostic::location)
      .def_ro("message", &Diagnostic::message)
      .def_ro("notes", &Diagnostic::notes)
      .def_ro("hint", &Diagnostic::hint)
      .def("__repr__", &Represent);
  module.def("report_text", &ReportText, nb::arg("diagnostics"), "The diagnostics for people.");
  module.def("report_json", nb::overload_cast<const std::vector<Diagnostic>&>(&ReportJson), nb::arg("diagnostics"), "The diagnostics for programs.");
}

}  // namespace flambeau::python
