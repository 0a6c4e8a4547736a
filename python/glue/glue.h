// The parts of the extension module, one a topic, and what they share.
//
// The glue translates between Python's objects and include/flambeau; it knows
// neither the engine's IR nor torch's Python code (python/flambeau/feed/ does).
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <memory>
#include <optional>

#include "flambeau/convert.h"
#include "flambeau/program.h"

namespace flambeau::python {

namespace nb = nanobind;

void BindDiagnostics(nb::module_& module);
void BindOptions(nb::module_& module);
void BindProgramBuilder(nb::module_& module);
void BindTranslations(nb::module_& module);
void BindConvert(nb::module_& module);
void BindReport(nb::module_& module);
void BindInspect(nb::module_& module);
void BindScript(nb::module_& module);

// The translators of a dict {"mylib::foo": callable}.
void SetTranslations(Options& options, const nb::dict& translations);

// Keeps a Python object alive from code that does not hold the GIL.
std::shared_ptr<PyObject> KeepAlive(nb::handle object);

// Carries a Python exception out of a callback, over the engine, to the call
// that started it. Touched with the GIL held only.
class ErrorSlot {
 public:
  // Remembers the exception that is being handled; the first one wins.
  void Keep();
  // Throws what was remembered, and forgets it.
  void Rethrow();

 private:
  std::exception_ptr error_;
};

// A program, until a conversion consumes it.
struct LiveProgram {
  std::optional<Program> program;
  std::shared_ptr<ErrorSlot> errors;

  Program Take();
};

struct LiveModel {
  Model model;
  std::shared_ptr<ErrorSlot> errors;
};

}  // namespace flambeau::python
