// Uses Flambeau as a library: converts an archive, then builds a program call
// by call and converts that.
//
//   example model.pt2 model.onnx
#include <flambeau/convert.h>
#include <flambeau/program.h>
#include <flambeau/report.h>
#include <flambeau/version.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

void Print(const char* what, const std::vector<flambeau::Model::NamedType>& values) {
  for (const auto& value : values) {
    std::string sizes;
    for (const std::string& size : value.sizes) sizes += (sizes.empty() ? "" : ", ") + size;
    std::printf("  %s %s: %s[%s]\n", what, value.name.c_str(), value.dtype.c_str(), sizes.c_str());
  }
}

int Fail(const std::vector<flambeau::Diagnostic>& diagnostics) {
  std::fputs(flambeau::ReportText(diagnostics).c_str(), stderr);
  return 1;
}

// y = relu(x @ w), with w in this program's memory and a dynamic first dimension.
std::optional<flambeau::Program> BuildProgram(std::vector<flambeau::Diagnostic>& diagnostics) {
  using namespace flambeau;
  const auto weights = std::make_shared<std::array<float, 6>>(std::array<float, 6>{1, -2, 3, -4, 5, -6});
  ProgramBuilder builder;
  builder.SetName("tiny");
  builder.SetRange("s0", 1, 64);
  const ValueInfo input{.sizes = {"s0", 3}}, weight{.sizes = {3, 2}}, result{.sizes = {"s0", 2}};
  TensorSource data;
  data.sizes = {3, 2};
  data.memory = weights->data();
  data.storage_size = sizeof *weights;
  data.owner = weights;
  const ValueHandle w = builder.AddTensor(InputKind::kParameter, "w", weight, data, "layer.weight");
  const ValueHandle x = builder.AddInput(InputKind::kUser, "x", input);
  builder.NameDimension(0, 0, "batch");
  const std::array<Argument, 2> operands = {x, w};
  const std::array<std::pair<std::string_view, ValueInfo>, 1> product = {{{"product", result}}},
                                                              output = {{{"y", result}}};
  const std::array<Argument, 1> rectified = {builder.AddCall("aten.mm.default", operands, {}, product, {}).front()};
  const ValueHandle y = builder.AddCall("aten.relu.default", rectified, {}, output, {}).front();
  builder.AddOutput(OutputKind::kUser, y, "y");
  return builder.Finish(diagnostics);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: example MODEL.pt2 MODEL.onnx\n");
    return 2;
  }
  std::printf("flambeau %s\n", flambeau::Version());
  flambeau::Options options;
  options.opset = 21;
  const flambeau::Outcome archive = flambeau::ConvertFile(argv[1], argv[2], options);
  if (!archive.ok()) return Fail(archive.diagnostics);
  std::printf("%s: opset %d\n", argv[2], archive.model->opset());
  Print("input ", archive.model->inputs());
  Print("output", archive.model->outputs());

  std::vector<flambeau::Diagnostic> diagnostics;
  auto program = BuildProgram(diagnostics);
  if (!program) return Fail(diagnostics);
  const flambeau::Outcome built = flambeau::Convert(*std::move(program));
  if (!built.ok()) return Fail(built.diagnostics);
  std::printf("built in memory: %zu bytes\n", built.model->Serialize(diagnostics).size());
  Print("input ", built.model->inputs());
  Print("output", built.model->outputs());
  return diagnostics.empty() ? 0 : Fail(diagnostics);
}
