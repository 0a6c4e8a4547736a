// Archives of torch.export: whole ones, and the JSON of a program in an archive that has the weight w.
#include <cstdlib>
#include <string>

#include "aten/program.h"
#include "container/archive_builder_test.h"
#include "container/memory_file.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "reader/pt2/reader.h"

namespace {

using namespace flambeau;

constexpr std::string_view kWeights =
    R"({"config": {"w": {"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, )"
    R"("sizes": [{"as_int": 2}, {"as_int": 3}], "requires_grad": false, "device": {"type": "cpu", "index": null}, )"
    R"("strides": [{"as_int": 3}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}}}})";

std::string ArchiveOf(std::string_view json) {
  using testing::Stored;
  return testing::Pack({Stored("m/archive_format", "pt2"), Stored("m/archive_version", "0"), Stored("m/byteorder", "little"),
                        Stored("m/data/weights/model_weights_config.json", std::string(kWeights)),
                        Stored("m/data/weights/weight_0", std::string(24, '\1')),
                        Stored("m/data/constants/model_constants_config.json", R"({"config": {}})"),
                        Stored("m/models/model.json", std::string(json))});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Sink sink;
  auto program = ReadPt2(MemoryFile(bytes.starts_with("PK") ? std::string(bytes) : ArchiveOf(bytes)), sink);
  if (!program != sink.HasErrors()) std::abort();
  if (!program) return 0;
  if (!VerifyGraph(program->impl().graph, sink)) std::abort();
  (void)PrintGraph(program->impl().graph);
  return 0;
}
