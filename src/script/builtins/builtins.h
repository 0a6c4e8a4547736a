// The tables of functions that the evaluator runs itself.
#pragma once

#include <span>
#include <string_view>

#include "script/evaluator.h"

namespace flambeau::script {

// What a function does with arguments that are not just values.
enum BuiltinTraits : uint8_t {
  kTakesOptionals = 1 << 0,  // takes what is None on some paths only, as it asks for that or passes it on; others are called on each path
  kTakesUndefined = 1 << 1,  // passes on what has no value
  kTakesLost = 1 << 2,       // passes on a list or dict of which nobody knows what it holds
  kReadsText = 1 << 3,       // wants to know what is in a text
};

struct BuiltinRow {
  std::string_view kind;
  Builtin function;
  uint8_t traits = 0;  // BuiltinTraits
};
// nullptr if the kind is none.
const BuiltinRow* FindBuiltinRow(std::string_view kind);

// --- the tables, a file each -------------------------------------------------
std::span<const BuiltinRow> ContainerBuiltins();           // containers.cpp: tuples, lists, dicts
std::span<const BuiltinRow> ContextBuiltins();             // contexts.cpp: context managers, and the modes that they set
std::span<const BuiltinRow> DtypeBuiltins();               // dtypes.cpp: what dtypes promote to
std::span<const BuiltinRow> EinsumBuiltins();              // einsum.cpp
std::span<const BuiltinRow> FormattingBuiltins();          // formatting.cpp: text that is made of values
std::span<const BuiltinRow> GeneratorBuiltins();           // generators.cpp: of random numbers
std::span<const BuiltinRow> IdentityBuiltins();            // identity.cpp: whether values are one object, or equal
std::span<const BuiltinRow> InstanceBuiltins();            // instances.cpp: isinstance
std::span<const BuiltinRow> JoiningBuiltins();             // joining.cpp: what makes one tensor of many
std::span<const BuiltinRow> LetterBuiltins();              // letters.cpp: what text is made of
std::span<const BuiltinRow> NumberBuiltins();              // numbers.cpp: functions of Python's math
std::span<const BuiltinRow> OneDnnBuiltins();              // onednn.cpp: what torch.jit.optimize_for_inference leaves
std::span<const BuiltinRow> PlaceBuiltins();               // places.cpp: where tensors are in memory
std::span<const BuiltinRow> PrepackedBuiltins();           // prepacked.cpp: prepacked::*, of mobile archives
std::span<const BuiltinRow> QuantizedBuiltins();           // quantized.cpp: quantized::*
std::span<const BuiltinRow> QuantizedEmbeddingBuiltins();  // quantized_embeddings.cpp
std::span<const BuiltinRow> QuantizedNumberBuiltins();     // quantized_numbers.cpp: a quantized tensor and a number
std::span<const BuiltinRow> QuantizedRecurrentBuiltins();  // quantized_recurrent.cpp
std::span<const BuiltinRow> QuantizedTensorBuiltins();     // quantized_tensors.cpp: what makes quantized tensors
std::span<const BuiltinRow> RangeBuiltins();               // ranges.cpp: range()
std::span<const BuiltinRow> ResizingBuiltins();            // resizing.cpp: images of other sizes
std::span<const BuiltinRow> SearchBuiltins();              // search.cpp: what is asked of all elements of a list
std::span<const BuiltinRow> SplittingBuiltins();           // splitting.cpp: what makes many tensors of one
std::span<const BuiltinRow> TensorBuiltins();              // tensors.cpp: what Python asks of tensors
std::span<const BuiltinRow> TextBuiltins();                // text.cpp: methods of text
std::span<const BuiltinRow> TraceBuiltins();               // traces.cpp: what the record of a run made numbers of
std::span<const BuiltinRow> ValueBuiltins();               // values.cpp: constants, numbers, objects
std::span<const BuiltinRow> WriteBuiltins();               // writes.cpp: copies and fills

// --- what they share ---------------------------------------------------------
// Of what stands for a torch.Generator; classes of users have longer names.
inline constexpr std::string_view kGeneratorClass = "Generator";
// The type of a tensor whose rank is known; null with an error of others.
const Type* RankedType(Evaluator& evaluator, const Val& value);
// Calls the function with flags that are known, on each path where paths decide them.
template <Builtin kFunction>
Result<Vals> OfKnownFlags(Evaluator& evaluator, const torchscript::Node& node, Arguments arguments) {
  Vals known(arguments.begin(), arguments.end());
  for (Val& each : known) {
    const auto* number = each.As<NumberVal>();
    if (number == nullptr || evaluator.emit().TypeOf(number->id).kind != TypeKind::kBool) continue;
    const auto flag = evaluator.KnownBool(each);
    if (!flag) return evaluator.CallOnEachPath(node, number->id);
    each = *flag;
  }
  return kFunction(evaluator, node, known);
}
// Whether a dict has the key, or a text the part.
Result<Vals> ContainsKey(Evaluator& evaluator, const torchscript::Node& node, Arguments arguments);
// Takes the element at a place, or the entry of a key, out of a list or dict.
Result<Vals> DeleteElement(Evaluator& evaluator, const torchscript::Node& node, Arguments arguments);
// quantized::add or mul, maybe with a relu, of a quantized tensor and a number, in either order.
Result<Vals> QuantizedWithNumber(Evaluator& evaluator, const torchscript::Node& node, Arguments arguments);
// torch.split of a tensor.
Result<Vals> SplitTensor(Evaluator& evaluator, const torchscript::Node& node, Arguments arguments);
// Stands in a text for what is known at run time only: messages may hold it, nothing can be decided by it.
inline constexpr char kRunTimeText = '\x1a';
// What is asked of text that only a run knows.
Failure UnknownText(Evaluator& evaluator);
// As str() shows the value.
std::string TextOf(Evaluator& evaluator, const Val& value);
// Says that a trace is right for some sizes only, at the node that is evaluated.
void WarnOfExample(Evaluator& evaluator, std::string_view holds, std::string_view where);
// What a kind means where a tensor among its arguments is quantized; nullptr if that makes no difference.
Builtin FindBuiltinOnQuantized(std::string_view kind);

// Whether two values that are known now are equal; nullopt if that is not known.
std::optional<bool> KnownEqual(const Val& a, const Val& b, const Heap& heap);

}  // namespace flambeau::script
