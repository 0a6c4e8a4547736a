// The values that a program gets for what a caller says of its inputs.
#pragma once

#include <string>

#include "aten/program.h"
#include "diag/sink.h"
#include "flambeau/script.h"
#include "script/evaluator.h"

namespace flambeau::script {

class GivenValues {
 public:
  GivenValues(Evaluator& evaluator, Program::Impl& program, Sink& sink) : evaluator_(evaluator), program_(program), sink_(sink) {}

  // What a parameter of this type gets, or an element of one: of a number, the one in a tensor. Without a type it is not known.
  Result<Val> Make(const ScriptInput& input, const std::string& name, const torchscript::Type* type);

 private:
  Result<Val> MakeTensor(const ScriptInput& input, const std::string& name);

  Evaluator& evaluator_;
  Program::Impl& program_;
  Sink& sink_;
  size_t tensors_ = 0;
};

}  // namespace flambeau::script
