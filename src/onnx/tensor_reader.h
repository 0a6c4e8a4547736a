// A TensorProto as TensorData. Payloads stay where they are: in the message's
// own bytes, or in the file that the message names.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "diag/sink.h"
#include "ir/tensor_data.h"

namespace flambeau::onnx {

class TensorReader {
 public:
  // `message` spans of Read() are kept alive by `owner`; external data lie in
  // `folder` or below.
  TensorReader(std::shared_ptr<const void> owner, std::string folder, Sink* sink)
      : owner_(std::move(owner)), folder_(std::move(folder)), sink_(*sink) {}

  struct Named {
    std::string_view name;
    TensorData data;
  };
  // Throws protozero::exception where the message is malformed.
  Result<Named> Read(std::string_view message);

 private:
  struct Fields;
  Result<std::shared_ptr<const DataSource>> Source(const Fields& fields);
  Result<std::shared_ptr<const DataSource>> External(const Fields& fields);

  std::shared_ptr<const void> owner_;
  std::string folder_;
  Sink& sink_;
  std::unordered_map<std::string, std::shared_ptr<const File>> files_;
};

}  // namespace flambeau::onnx
