// Lists of run-time length: sequences of the program. Their operators are called
// by the names that TorchScript gives them.
#pragma once

#include "script/evaluator.h"

namespace flambeau::script {

// The list as one whose length, or the places in which, are known at run time only.
Result<Val> AsSequence(Evaluator& evaluator, const Val& list);
// The same of a list of which elements are taken or changed at such places: while nothing is written, one of known length is the
// same sequence each time, and it becomes that sequence if an element of that is written.
Result<Val> Opened(Evaluator& evaluator, const Val& list);
// What an operator made of sequences: it holds what they hold.
Val SequenceLike(Evaluator& evaluator, const Val& made, bool of_numbers);
// Whether the tensors of a sequence are Python's numbers.
bool OfNumbers(Evaluator& evaluator, const Val& sequence);
Result<Val> LengthOfSequence(Evaluator& evaluator, const Val& list);
Result<Val> ElementAt(Evaluator& evaluator, const Val& list, const Val& index);
// Lists of known length become sequences if an element was written that had been taken at a place that only a run knows.
void TakeInWrittenElements(Evaluator& evaluator);
// Whether the tensor was taken out of the list, as it is now, at that place.
bool IsElementAt(Evaluator& evaluator, const Val& list, const Val& index, const Val& element);
// Of a list, at a place that is known at run time only, or in a list of unknown length.
Result<Val> ElementAtPlace(Evaluator& evaluator, const Val& list, const Val& place);
// What stack (a dimension for each piece), or cat, makes of the pieces that a tensor was cut into along that dimension: that
// tensor, as it is now. nullopt of other lists, and where the pieces may lie otherwise.
Result<std::optional<Val>> Rejoined(Evaluator& evaluator, const Val& list, bool stacked, int64_t dim);
// As many elements as a sequence is unpacked into.
Result<Vals> FirstElements(Evaluator& evaluator, const Val& list, size_t count);
// The numbers of a list as a 1-d tensor, of a list of run-time length in its own dtype; a failure where they are none.
Result<Val> NumbersOfList(Evaluator& evaluator, const Val& list);
// The same of what is a sequence, or is made one.
Result<Val> NumbersOf(Evaluator& evaluator, const Val& list);
// The list of the numbers of a 1-d tensor.
Result<Val> ListOfNumbers(Evaluator& evaluator, const Val& tensor);

}  // namespace flambeau::script
