// Translators in Python: the engine's calls of them, and what they get.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "flambeau/options.h"
#include "glue.h"

namespace flambeau::python {
namespace {

// An argument as Python has it. Lists of a schema nest one deep.
nb::object ToPython(const Argument& argument) {
  struct Visitor {
    nb::object operator()(std::monostate) const { return nb::none(); }
    nb::object operator()(bool value) const { return nb::bool_(value); }
    nb::object operator()(int64_t value) const { return nb::int_(value); }
    nb::object operator()(double value) const { return nb::float_(value); }
    nb::object operator()(std::complex<double> value) const {
      return nb::steal(PyComplex_FromDoubles(value.real(), value.imag()));
    }
    nb::object operator()(std::string_view value) const { return nb::str(value.data(), value.size()); }
    nb::object operator()(DtypeArgument value) const { return nb::cast(value); }
    nb::object operator()(LayoutArgument value) const { return (*this)(value.name); }
    nb::object operator()(DeviceArgument value) const { return (*this)(value.name); }
    nb::object operator()(MemoryFormatArgument value) const { return (*this)(value.name); }
    nb::object operator()(ValueHandle value) const { return nb::cast(value); }
    nb::object operator()(BodyHandle) const { return nb::none(); }  // no translator gets one
    nb::object operator()(const Argument::List& list) const {
      nb::list result;
      for (const Argument& element : list) result.append(ToPython(element));
      return result;
    }
  };
  return std::visit(Visitor{}, argument.storage());
}

nb::list ArgumentsOf(const OperatorCall& call) {
  nb::list result;
  for (const auto& [name, argument] : call.arguments)
    result.append(nb::make_tuple(nb::str(name.data(), name.size()), ToPython(argument)));
  return result;
}

// `translate(call)` gives the bytes of a model, or these and the results that
// its outputs are, or the text of an error; None declines.
Translator Wrap(nb::object translate) {
  return [kept = KeepAlive(translate)](const OperatorCall& call) {
    nb::gil_scoped_acquire gil;
    try {
      const nb::object result = nb::handle(kept.get())(nb::cast(call, nb::rv_policy::copy));
      if (result.is_none()) return Translation{.model = {}, .error = {}, .declined = true, .results = {}};
      if (nb::isinstance<nb::str>(result)) return Translation{.model = {}, .error = nb::cast<std::string>(result), .declined = false, .results = {}};
      const bool placed = nb::isinstance<nb::tuple>(result);
      const auto bytes = nb::cast<nb::bytes>(placed ? nb::object(result[0]) : result);
      return Translation{.model = std::string(bytes.c_str(), bytes.size()),
                         .error = {},
                         .declined = false,
                         .results = placed ? nb::cast<std::vector<uint32_t>>(nb::object(result[1])) : std::vector<uint32_t>()};
    } catch (const std::exception& error) {
      return Translation{.model = {}, .error = error.what(), .declined = false, .results = {}};
    }
  };
}

}  // namespace

void SetTranslations(Options& options, const nb::dict& translations) {
  options.translations.clear();
  for (auto [op, translate] : translations)
    options.translations.emplace_back(nb::cast<std::string>(op), Wrap(nb::borrow(translate)));
}

void BindTranslations(nb::module_& module) {
  nb::class_<ValueHandle>(module, "Operand", "An argument that is operand number `index` of a call.")
      .def_ro("index", &ValueHandle::index);
  nb::class_<DtypeArgument>(module, "DtypeCode", "A dtype by its number in c10::ScalarType.")
      .def_ro("code", &DtypeArgument::code);
  nb::class_<OperatorCall::Value>(module, "OperatorCallValue", "An operand or a result of a call.")
      .def_ro("name", &OperatorCall::Value::name)
      .def_ro("dtype", &OperatorCall::Value::dtype)
      .def_ro("ranked", &OperatorCall::Value::ranked)
      .def_ro("sizes", &OperatorCall::Value::sizes);
  nb::class_<OperatorCall>(module, "OperatorCall", "A call for which a translation is asked.")
      .def_prop_ro("op", [](const OperatorCall& self) { return self.op; })
      .def_ro("location", &OperatorCall::location, "The call's module, source line and operator.")
      .def_prop_ro("node", [](const OperatorCall& self) { return self.node; }, "Its name in the captured program.")
      .def_ro("opset", &OperatorCall::opset)
      .def_ro("operands", &OperatorCall::operands)
      .def_ro("results", &OperatorCall::results)
      .def_prop_ro("arguments", &ArgumentsOf);
}

}  // namespace flambeau::python
