// The state of the modules of an archive: what its pickles hold, as objects
// and constants. Tensors stay in the file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "container/pickle.h"
#include "container/torch_tensors.h"
#include "container/zip.h"
#include "ir/encoded_source.h"
#include "reader/torchscript/library.h"

namespace flambeau::torchscript {

class ObjectReader {
 public:
  ObjectReader(const ZipArchive& archive, Library& library, std::vector<Object>* objects)
      : archive_(archive), library_(library), objects_(objects) {}

  // data.pkl: the root module, and all that it reaches.
  Result<ObjectId> ReadModule();
  // Objects of which only their __setstate__ knows what their state means, inner ones first.
  const std::vector<ObjectId>& unrestored() const { return unrestored_; }
  // Where the tensors were that were read: on the CPU, or on the first other device.
  const std::string& device() const { return device_; }
  // constants.pkl, or nothing where there is none.
  Result<std::vector<TypedConstant>> ReadConstants();
  // traced_inputs.pkl: dtypes and sizes of what the method was traced with, as
  // types of its arguments; empty where there is none. The values are not kept.
  Result<std::vector<TypePtr>> ReadTracedTypes(std::string_view method);

 private:
  // One pickle and the folder of its storages.
  struct Source {
    TensorReader tensors;
    std::map<uint64_t, ObjectId> objects;  // by the opcode that made them
  };
  Result<Constant> Read(Source& source, PickleValue value, const TypePtr& type, const std::string& name, int depth);
  Result<Constant> ReadCall(Source& source, PickleValue call, const TypePtr& type, const std::string& name, int depth);
  Result<Constant> ReadElements(Source& source, PickleValue list, const TypePtr& type, const std::string& name, int depth);
  Result<Constant> ReadTensor(Source& source, PickleValue call, const std::string& name);
  Result<Constant> ReadQuantized(Source& source, PickleValue call, const std::string& name, int depth);
  Constant InFile(StoredTensor stored);
  TypePtr TracedType(PickleValue value, int depth);
  Result<Constant> ReadInstance(Source& source, PickleValue call, const ClassInfo& info, const std::string& name, int depth);
  Result<Constant> ReadOpaque(Source& source, PickleValue call, std::string class_name, const std::string& name, int depth);
  Result<Constant> ReadEnum(PickleValue call, const ClassInfo& info);

  const ZipArchive& archive_;
  Library& library_;
  std::vector<Object>* objects_;
  std::vector<ObjectId> unrestored_;
  std::string device_ = "cpu";
  size_t values_ = 0;  // that were read: a few bytes of a pickle may name one value ever so often
  // By where they begin in the file, and how they are read.
  std::map<std::pair<uint64_t, Encoding>, std::shared_ptr<const DataSource>> storages_;
};

}  // namespace flambeau::torchscript
