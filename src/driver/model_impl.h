// What stands behind flambeau::Model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aten/program.h"
#include "flambeau/convert.h"
#include "onnx/model.h"

namespace flambeau {

struct Model::Impl {
  Impl(std::unique_ptr<Program::Impl> from, std::unique_ptr<onnx::ModelData> made, std::vector<size_t> positions)
      : program(std::move(from)), owned(std::move(made)), data(*owned), input_positions(std::move(positions)) {}

  std::unique_ptr<Program::Impl> program;  // owns the context of `data`
  std::unique_ptr<onnx::ModelData> owned;
  const onnx::ModelData& data;
  std::vector<size_t> input_positions;  // among those of `program`
};

}  // namespace flambeau
