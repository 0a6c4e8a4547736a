#include "glue.h"

#include "flambeau/version.h"

namespace flambeau::python {

std::shared_ptr<PyObject> KeepAlive(nb::handle object) {
  return {object.inc_ref().ptr(), [](PyObject* pointer) {
            if (!Py_IsInitialized()) return;  // the interpreter is gone, and its objects with it
            nb::gil_scoped_acquire gil;
            Py_DECREF(pointer);
          }};
}

void ErrorSlot::Keep() {
  if (!error_) error_ = std::current_exception();
}

void ErrorSlot::Rethrow() {
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

Program LiveProgram::Take() {
  if (!program) throw nb::value_error("this program was converted before; build it again");
  Program taken = std::move(*program);
  program.reset();
  return taken;
}

}  // namespace flambeau::python

NB_MODULE(_engine, module) {
  using namespace flambeau::python;
  nanobind::set_leak_warnings(false);  // a program that lives until the interpreter ends is no leak
  module.doc() = "Flambeau's engine. Use the functions of `flambeau` instead.";
  module.attr("__version__") = flambeau::Version();
  BindDiagnostics(module);
  BindOptions(module);
  BindTranslations(module);
  BindProgramBuilder(module);
  BindReport(module);
  BindConvert(module);
  BindInspect(module);
  BindScript(module);
}
