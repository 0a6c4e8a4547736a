// ONNX's protobuf messages: field numbers, and two writers with one interface.
//
// A message must state its length before its contents. So the same code runs
// twice: with a Measurer, which notes the length of every nested message in the
// order in which they begin, and with an Encoder, which reads the lengths back
// and streams. Four bytes a message are all that is kept in between.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/tensor_data.h"
#include "onnx/byte_sink.h"
#include "onnx/protozero.h"

namespace flambeau::onnx {

// Field numbers of onnx.proto.
namespace field {
inline constexpr uint32_t kModelIrVersion = 1, kModelProducerName = 2, kModelProducerVersion = 3, kModelGraph = 7,
                          kModelOpsetImport = 8, kModelMetadata = 14, kModelFunctions = 25;
inline constexpr uint32_t kOpsetDomain = 1, kOpsetVersion = 2;
inline constexpr uint32_t kEntryKey = 1, kEntryValue = 2;
inline constexpr uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphSparseInitializer = 15,
                          kGraphInput = 11, kGraphOutput = 12, kGraphValueInfo = 13, kGraphMetadata = 16;
inline constexpr uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeOpType = 4, kNodeAttribute = 5,
                          kNodeDocString = 6, kNodeDomain = 7, kNodeMetadata = 9;
inline constexpr uint32_t kAttributeName = 1, kAttributeFloat = 2, kAttributeInt = 3, kAttributeString = 4,
                          kAttributeTensor = 5, kAttributeGraph = 6, kAttributeFloats = 7, kAttributeInts = 8,
                          kAttributeStrings = 9, kAttributeTypeProto = 14, kAttributeType = 20;
inline constexpr uint32_t kTensorDims = 1, kTensorDataType = 2, kTensorFloatData = 4, kTensorInt32Data = 5,
                          kTensorStringData = 6, kTensorInt64Data = 7, kTensorDoubleData = 10, kTensorUint64Data = 11,
                          kTensorName = 8, kTensorRawData = 9, kTensorExternalData = 13, kTensorDataLocation = 14;
inline constexpr uint32_t kValueName = 1, kValueType = 2, kValueMetadata = 4;
inline constexpr uint32_t kTypeTensor = 1, kTypeSequence = 4, kTypeOptional = 9;
inline constexpr uint32_t kTensorTypeElement = 1, kTensorTypeShape = 2;
inline constexpr uint32_t kElementType = 1;  // of a sequence, and of an optional
inline constexpr uint32_t kShapeDim = 1;
inline constexpr uint32_t kDimValue = 1, kDimParam = 2;
}  // namespace field

// AttributeProto.AttributeType.
enum class AttributeCode : uint32_t {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTypeProto = 13,
};
inline constexpr uint32_t kExternalLocation = 1;  // TensorProto.DataLocation

class Measurer {
 public:
  // `lengths` receives the lengths of nested messages.
  explicit Measurer(std::vector<uint32_t>* lengths) : lengths_(lengths) {}

  void Varint(uint32_t field, uint64_t value) { size_ += Tag(field) + Length(value); }
  void Float(uint32_t field, float) { size_ += Tag(field) + sizeof(float); }
  void Bytes(uint32_t field, std::string_view bytes) { Delimited(field, bytes.size()); }
  void Payload(uint32_t field, const TensorData&, uint64_t size) { Delimited(field, size); }
  template <class F>
  void Message(uint32_t field, F&& body) {
    const size_t slot = lengths_->size();
    lengths_->push_back(0);
    const uint64_t before = std::exchange(size_, 0);
    body();
    // Wraps only where the whole is beyond protobuf's limit and is not written.
    (*lengths_)[slot] = static_cast<uint32_t>(size_);
    Delimited(field, std::exchange(size_, before));
  }

  uint64_t size() const { return size_; }

 private:
  static uint64_t Length(uint64_t value) { return static_cast<uint64_t>(protozero::length_of_varint(value)); }
  static uint64_t Tag(uint32_t field) { return field < 16 ? 1 : 2; }
  void Delimited(uint32_t field, uint64_t size) { size_ += Tag(field) + Length(size) + size; }

  std::vector<uint32_t>* lengths_;
  uint64_t size_ = 0;
};

class Encoder {
 public:
  // `lengths` is what a Measurer noted of the same calls. A failed sink makes
  // the rest cheap; ask it.
  Encoder(ByteSink* sink, const std::vector<uint32_t>& lengths) : sink_(sink), next_length_(lengths.data()) {
    buffer_.reserve(kBuffer);
  }

  void Varint(uint32_t field, uint64_t value) {
    Tag(field, 0);
    Raw(value);
  }
  void Float(uint32_t field, float value) {
    Tag(field, 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) buffer_.push_back(static_cast<char>(bits >> shift));
  }
  void Bytes(uint32_t field, std::string_view bytes) {
    Tag(field, 2);
    Raw(bytes.size());
    buffer_.append(bytes);
    if (buffer_.size() >= kBuffer) Flush();
  }
  void Payload(uint32_t field, const TensorData& data, uint64_t size) {
    Tag(field, 2);
    Raw(size);
    Flush();
    sink_->Append(data);
  }
  template <class F>
  void Message(uint32_t field, F&& body) {
    Tag(field, 2);
    Raw(*next_length_++);
    body();
    if (buffer_.size() >= kBuffer) Flush();
  }
  void Flush() {
    sink_->Append(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr size_t kBuffer = 256 << 10;

  void Tag(uint32_t field, uint32_t wire_type) { Raw(field << 3 | wire_type); }
  void Raw(uint64_t value) { protozero::write_varint(std::back_inserter(buffer_), value); }

  ByteSink* sink_;
  const uint32_t* next_length_;
  std::string buffer_;
};

}  // namespace flambeau::onnx
