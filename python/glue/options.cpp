#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "flambeau/options.h"
#include "glue.h"

namespace flambeau::python {

void BindOptions(nb::module_& module) {
  nb::enum_<ExternalData>(module, "ExternalData", "Where the weights' bytes go.")
      .value("AUTO", ExternalData::kAuto)
      .value("ALWAYS", ExternalData::kAlways)
      .value("NEVER", ExternalData::kNever)
      .value("REFERENCE", ExternalData::kReference);
  nb::enum_<Metadata>(module, "Metadata", "How much the model says about its origin.")
      .value("RELEASE", Metadata::kRelease)
      .value("NAMESPACE", Metadata::kNamespace)
      .value("DEFAULT", Metadata::kDefault)
      .value("DEBUG", Metadata::kDebug);
  nb::enum_<Target>(module, "Target", "What is to run the model.")
      .value("ORT", Target::kOnnxRuntime)
      .value("STRICT", Target::kStrict);
  nb::class_<Options>(module, "Options", "What a caller can ask of a conversion.")
      .def(nb::init<>())
      .def_rw("opset", &Options::opset)
      .def_rw("external_data", &Options::external_data)
      .def_rw("metadata", &Options::metadata)
      .def_rw("target", &Options::target)
      .def_rw("input_names", &Options::input_names)
      .def_rw("weight_names", &Options::weight_names)
      .def_rw("output_names", &Options::output_names)
      .def_rw("inputs", &Options::inputs)
      .def_rw("model", &Options::model)
      .def_rw("method", &Options::method)
      .def_rw("dim_names", &Options::dim_names)
      .def_rw("optimize", &Options::optimize)
      .def_rw("state_outputs", &Options::state_outputs)
      .def_rw("keep_initializers_as_inputs", &Options::keep_initializers_as_inputs)
      .def_rw("keep_unused_inputs", &Options::keep_unused_inputs)
      .def_rw("seed", &Options::seed, nb::arg().none())
      .def_rw("export_params", &Options::export_params)
      .def_rw("user_metadata", &Options::user_metadata)
      .def_rw("custom_opsets", &Options::custom_opsets)
      .def_rw("operator_schemas", &Options::operator_schemas)
      .def("set_translations", &SetTranslations, nb::arg("translations"));
  module.attr("DEFAULT_OPSET") = Options::kDefaultOpset;
}

}  // namespace flambeau::python
