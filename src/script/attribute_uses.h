// Which attributes of modules a program uses, and how first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/program.h"
#include "script/value.h"

namespace flambeau::script {

class AttributeUses {
 public:
  // That the program reads an attribute that is a tensor.
  void NoteTensor(TensorVal tensor) { first_reads_.try_emplace(tensor.id, first_reads_.size()); }
  // That it reads an attribute that is a number or a list, or writes it.
  void Note(uint32_t cell, const std::string& name, bool reads) { reads_first_.try_emplace({cell, name}, reads); }
  // Whether it reads what the attribute was before the run.
  bool ReadsFirst(uint32_t cell, const std::string& name) const;
  // Puts the weights in the order in which the program reads them first, as torch's exporter has them.
  void OrderWeights(std::vector<InputSpec>& inputs) const;

 private:
  std::unordered_map<ValueId, size_t> first_reads_;  // how many tensors were read before
  std::map<std::pair<uint32_t, std::string>, bool> reads_first_;
};

}  // namespace flambeau::script
