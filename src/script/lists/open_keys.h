// Reading a dict, or writing to it, by a key that only a run knows. Its own keys are numbers.
#pragma once

#include "script/evaluator.h"

namespace flambeau::script {

// Of a key that no run can tell either, as the dict has none or other open ones.
Failure UnknownKey(Evaluator& evaluator);
// Whether only a run can tell which entry has the key, and can tell it.
bool IsOpenKey(const Cell& dict, const Val& key);
// Whether an entry has the key.
Result<Val> HasOpenKey(Evaluator& evaluator, const Cell& dict, const Val& key);
// What the key's entry holds: that there is one is taken for granted, and a model fails where there is none.
Result<Val> AtOpenKey(Evaluator& evaluator, uint32_t dict, const Val& key);
// The place of the key's entry; the number of entries where there is none.
Result<Val> PlaceOfKey(Evaluator& evaluator, const Cell& dict, const Val& key);
// What the key's entry holds, and the default (which may be None) where there is none.
Result<Val> AtOpenKeyOr(Evaluator& evaluator, const Cell& dict, const Val& key, const Val& otherwise);
// Whether only a run can tell to which of the entries, whose keys are known, a write of the key goes.
bool IsOpenPlace(const Cell& dict, const Val& key);
// What the entries hold once that of the key holds the value. That there is one is taken for granted, with a warning, as
// PyTorch would add one; a model fails where there is none.
Result<Vals> WrittenAtOpenKey(Evaluator& evaluator, const torchscript::Node& node, const Cell& dict, const Val& key, const Val& value);

}  // namespace flambeau::script
