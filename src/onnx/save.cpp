#include "onnx/save.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "onnx/byte_sink.h"
#include "onnx/placement.h"
#include "onnx/serialize.h"
#include "onnx/target_file.h"

namespace flambeau::onnx {
namespace {

namespace fs = std::filesystem;

class Save {
 public:
  Save(const ModelData& model, const std::string& path, const std::function<bool(const Progress&)>& progress,
       Sink& sink)
      : model_(model),
        path_(path),
        data_path_(path + ".data"),
        sink_(sink),
        meter_([&progress](uint64_t done, uint64_t total) {
          return !progress || progress({.stage = "writing", .done = done, .total = total});
        }) {}

  Status Run(ExternalData external_data) {
    FLAMBEAU_CHECK_OK(CheckWritable(model_.graph, sink_));
    FLAMBEAU_CHECK_OK(Plan(external_data));
    meter_.SetTotal(serializer_->size() + layout_.stored_bytes);

    FLAMBEAU_TRY(TargetFile target, TargetFile::Create(path_, sink_));
    if (target.is_direct() && layout_.has_data_file()) {
      return sink_.Error(DiagnosticKind::kCannotWrite,
                         "the target is no regular file, so there is no place for a data file beside it",
                         {.file = path_});
    }
    if (!layout_.has_data_file()) {
      FLAMBEAU_CHECK_OK(WriteModel(target));
      return target.Commit(sink_);
    }
    FLAMBEAU_TRY(TargetFile data, TargetFile::Create(data_path_, sink_));
    FLAMBEAU_CHECK_OK(WriteData(data));
    FLAMBEAU_CHECK_OK(WriteModel(target));
    FLAMBEAU_CHECK_OK(data.Commit(sink_));
    return target.Commit(sink_);
  }

 private:
  // --- what goes where --------------------------------------------------------
  Status Plan(ExternalData mode) {
    switch (mode) {
      case ExternalData::kNever:
        LayOut(LayOutInline(model_.graph));
        if (serializer_->size() <= kMessageLimit) return {};
        return sink_.Error(
            DiagnosticKind::kBadOption,
            fmt::format("the model takes {} bytes in one file; protobuf allows {}", serializer_->size(), kMessageLimit),
            {.file = path_}, "let the weights go to a file of their own (external data 'auto')");
      case ExternalData::kAuto:
        if (Layout all_inside = LayOutInline(model_.graph); all_inside.inline_bytes <= kComfortableSize) {
          LayOut(std::move(all_inside));
          if (serializer_->size() <= kComfortableSize) return {};
        }
        LayOut(LayOutExternal(model_.graph, DataName()));
        break;
      case ExternalData::kAlways: LayOut(LayOutExternal(model_.graph, DataName())); break;
      case ExternalData::kReference: FLAMBEAU_CHECK_OK(LayOutReferences()); break;
    }
    return FitGraph();
  }

  void LayOut(Layout layout) {
    layout_ = std::move(layout);
    serializer_.emplace(model_, layout_, true);
  }

  // The weights are outside; what is too long now is the graph itself.
  Status FitGraph() {
    if (serializer_->size() <= kMessageLimit) return {};
    if (model_.has_inner_metadata()) {
      serializer_.emplace(model_, layout_, false);
      if (serializer_->size() <= kMessageLimit) {
        sink_.Warning(
            DiagnosticKind::kDroppedMetadata,
            "metadata of nodes and values was left out: with it, the graph passes the 2 GB that protobuf allows",
            {.file = path_});
        return {};
      }
    }
    return sink_.Error(DiagnosticKind::kGraphTooLarge,
                       fmt::format("the graph takes {} bytes without its weights; protobuf allows {}",
                                   serializer_->size(), kMessageLimit),
                       {.file = path_});
  }

  // Readers accept only files in the model's folder and below.
  Status LayOutReferences() {
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(fs::absolute(path_, error), error).parent_path();
    std::string outside;
    bool same_file = false;
    Layout layout = LayOutByReference(model_.graph, DataName(), [&](const File& file) {
      const fs::path archive = fs::weakly_canonical(fs::absolute(file.path(), error), error);
      const fs::path relative = archive.lexically_relative(folder);
      if (relative.empty() || *relative.begin() == "..") outside = file.path();
      same_file |= fs::equivalent(archive, path_, error) || fs::equivalent(archive, data_path_, error);
      return relative.generic_string();
    });
    if (same_file) {
      return sink_.Error(DiagnosticKind::kBadOption, "the target would replace the archive that it refers to",
                         {.file = path_});
    }
    if (!outside.empty()) {
      return sink_.Error(DiagnosticKind::kBadOption,
                         fmt::format("external data 'reference' cannot point at '{}': ONNX readers accept only files "
                                     "in the model's folder and below",
                                     outside),
                         {.file = path_}, "write the model beside the archive, or choose external data 'always'");
    }
    LayOut(std::move(layout));
    return {};
  }

  std::string DataName() const { return fs::path(data_path_).filename().string(); }

  // --- writing ----------------------------------------------------------------
  Status WriteModel(TargetFile& target) {
    target.Expect(serializer_->size());
    FileSink bytes(target.descriptor(), &meter_);
    serializer_->Write(bytes);
    return Finish(bytes, target);
  }

  Status WriteData(TargetFile& target) {
    target.Expect(layout_.stored_bytes);
    FileSink bytes(target.descriptor(), &meter_);
    for (uint32_t index : layout_.stored) {
      const TensorData& data = model_.graph.context()[model_.graph[layout_.initializers[index]].data];
      bytes.Align(DataAlignment(data.byte_size()));
      bytes.Append(data);
      if (!bytes.ok()) break;
    }
    return Finish(bytes, target);
  }

  Status Finish(FileSink& bytes, TargetFile& target) {
    bytes.Finish();
    switch (bytes.failure()) {
      case SinkFailure::kNone: return target.Close(sink_);
      case SinkFailure::kTarget:
        return sink_.Error(DiagnosticKind::kCannotWrite,
                           fmt::format("cannot write: {} (the model takes {} bytes)",
                                       std::strerror(bytes.error_number()), serializer_->size() + layout_.stored_bytes),
                           {.file = target.path()});
      case SinkFailure::kSource:
        return sink_.Error(DiagnosticKind::kCannotOpen, "the bytes of a weight cannot be read",
                           {.file = target.path()});
      case SinkFailure::kInterrupted: break;
    }
    return sink_.Error(DiagnosticKind::kInterrupted, "interrupted while writing; the target was left as it was",
                       {.file = target.path()});
  }

  const ModelData& model_;
  std::string path_, data_path_;
  Sink& sink_;
  Meter meter_;
  Layout layout_;
  std::optional<Serializer> serializer_;
};

}  // namespace

Status SaveModel(const ModelData& model, const std::string& path, ExternalData external_data,
                 const std::function<bool(const Progress&)>& progress, Sink& sink) {
  return Save(model, path, progress, sink).Run(external_data);
}

}  // namespace flambeau::onnx
