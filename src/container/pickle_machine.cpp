#include <bit>
#include <string>
#include <unordered_map>

#include "container/pickle_arena.h"
#include "container/quote.h"

namespace flambeau {
namespace {

// What protocols 2 to 5 write. What only protocols 0 and 1 have is refused with
// the unknown.
// clang-format off
enum Opcode : uint8_t {
  kMark = '(', kStop = '.', kPop = '0', kPopMark = '1', kDup = '2',
  kNone = 'N', kNewTrue = 0x88, kNewFalse = 0x89,
  kBinInt = 'J', kBinInt1 = 'K', kBinInt2 = 'M', kLong1 = 0x8a, kLong4 = 0x8b, kBinFloat = 'G',
  kShortBinString = 'U', kBinString = 'T',
  kShortBinUnicode = 0x8c, kBinUnicode = 'X', kBinUnicode8 = 0x8d,
  kShortBinBytes = 'C', kBinBytes = 'B', kBinBytes8 = 0x8e, kByteArray8 = 0x96,
  kEmptyList = ']', kList = 'l', kAppend = 'a', kAppends = 'e',
  kEmptyTuple = ')', kTuple = 't', kTuple1 = 0x85, kTuple2 = 0x86, kTuple3 = 0x87,
  kEmptyDict = '}', kDict = 'd', kSetItem = 's', kSetItems = 'u',
  kEmptySet = 0x8f, kAddItems = 0x90, kFrozenSet = 0x91,
  kGlobal = 'c', kStackGlobal = 0x93, kReduce = 'R', kBuild = 'b', kNewObj = 0x81, kNewObjEx = 0x92,
  kBinPersId = 'Q',
  kBinPut = 'q', kLongBinPut = 'r', kMemoize = 0x94, kBinGet = 'h', kLongBinGet = 'j',
  kProto = 0x80, kFrame = 0x95,
};
// clang-format on

// Every opcode takes at least a byte and makes at most three nodes, so time and
// memory are linear in the input without further limits.
class Machine {
 public:
  Machine(PickleArena& arena, std::string* error) : arena_(arena), error_(error) {}

  Status Run() {
    // Node indices are 32 bits; no pickle of a model comes near.
    if (arena_.bytes.size() >= PickleArena::kNothing) return Fail("the pickle is larger than 4 GiB");
    while (arena_.root == PickleArena::kNothing) {
      at_ = next_;
      if (next_ >= arena_.bytes.size()) return Fail("the pickle ends without STOP");
      FLAMBEAU_CHECK_OK(Step(static_cast<uint8_t>(arena_.bytes[next_++])));
    }
    return {};
  }

 private:
  Failure Fail(std::string what) {
    *error_ = std::move(what) + " (at byte " + std::to_string(at_);
    if (at_ < arena_.bytes.size()) *error_ += ", opcode " + Quote(std::string_view(arena_.bytes).substr(at_, 1));
    *error_ += ")";
    return kFailure;
  }

  // Operands in the byte stream.
  Result<std::string_view> Take(uint64_t count) {
    if (count > arena_.bytes.size() - next_) return Fail("the pickle ends in the middle of an operand");
    const auto bytes = std::string_view(arena_.bytes).substr(next_, count);
    next_ += count;
    return bytes;
  }
  Result<uint64_t> TakeUnsigned(int width) {
    FLAMBEAU_TRY(const std::string_view bytes, Take(static_cast<uint64_t>(width)));
    uint64_t value = 0;
    for (int i = 0; i < width; ++i) value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return value;
  }
  Result<std::string_view> TakeLine() {
    const size_t end = arena_.bytes.find('\n', next_);
    if (end == std::string::npos) return Fail("the pickle ends in the middle of a name");
    const auto line = std::string_view(arena_.bytes).substr(next_, end - next_);
    next_ = end + 1;
    return line;
  }

  // The stack. The items above the last mark are all that an opcode may touch.
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Result<uint32_t> Pop() {
    if (stack_.size() <= Floor()) return Fail("the stack is empty");
    const uint32_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  Result<uint32_t> Top() {
    if (stack_.size() <= Floor()) return Fail("the stack is empty");
    return stack_.back();
  }
  Result<std::vector<uint32_t>> PopMark() {
    if (marks_.empty()) return Fail("there is no mark on the stack");
    std::vector<uint32_t> items(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }

  // New values.
  PickleArena::Node& Push(PickleKind kind) {
    stack_.push_back(static_cast<uint32_t>(arena_.nodes.size()));
    PickleArena::Node& node = arena_.nodes.emplace_back();
    node.kind = kind;
    node.offset = at_;
    return node;
  }
  Status PushInt(int64_t value) {
    Push(PickleKind::kInt).integer = value;
    return {};
  }
  Status PushText(PickleKind kind, int width) {
    FLAMBEAU_TRY(const uint64_t size, TakeUnsigned(width));
    FLAMBEAU_TRY(const std::string_view text, Take(size));
    if (kind == PickleKind::kString && !IsUtf8(text)) return Fail("a string is not UTF-8");
    PushSlice(kind, text);
    return {};
  }
  void PushSlice(PickleKind kind, std::string_view text) {
    Push(kind).text = {static_cast<uint64_t>(text.data() - arena_.bytes.data()), text.size()};
  }
  Status PushSequence(PickleKind kind, std::vector<uint32_t> items) {
    Push(kind).parts = static_cast<uint32_t>(arena_.parts.size());
    arena_.parts.emplace_back().items = std::move(items);
    return {};
  }
  Status PushTuple(size_t count) {
    if (stack_.size() - Floor() < count) return Fail("the stack is empty");
    std::vector<uint32_t> items(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return PushSequence(PickleKind::kTuple, std::move(items));
  }
  Status PushLong(int width) {
    FLAMBEAU_TRY(const uint64_t size, TakeUnsigned(width));
    FLAMBEAU_TRY(const std::string_view bytes, Take(size));
    if (bytes.size() > 8) return Fail("an integer does not fit into 64 bits");
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    if (!bytes.empty() && bytes.size() < 8 && (bytes.back() & 0x80) != 0) value |= ~uint64_t{0} << (8 * bytes.size());
    return PushInt(static_cast<int64_t>(value));
  }
  Status PushFloat() {
    FLAMBEAU_TRY(const std::string_view bytes, Take(8));
    uint64_t bits = 0;
    for (const char c : bytes) bits = bits << 8 | static_cast<uint8_t>(c);  // big endian
    Push(PickleKind::kFloat).real = std::bit_cast<double>(bits);
    return {};
  }
  Status PushGlobal(uint32_t module, uint32_t name) {
    auto& node = Push(PickleKind::kGlobal);
    node.first = module;
    node.second = name;
    return {};
  }
  Status Global() {
    FLAMBEAU_TRY(const std::string_view module, TakeLine());
    FLAMBEAU_TRY(const std::string_view name, TakeLine());
    if (!IsUtf8(module) || !IsUtf8(name)) return Fail("a name is not UTF-8");
    PushSlice(PickleKind::kString, module);
    PushSlice(PickleKind::kString, name);
    return StackGlobal();
  }
  Status StackGlobal() {
    FLAMBEAU_TRY(const uint32_t name, Pop());
    FLAMBEAU_TRY(const uint32_t module, Pop());
    if (arena_.nodes[name].kind != PickleKind::kString || arena_.nodes[module].kind != PickleKind::kString) {
      return Fail("the name of a global is not a string");
    }
    return PushGlobal(module, name);
  }
  Status Call(bool with_keywords) {
    if (with_keywords) {
      FLAMBEAU_TRY(const uint32_t keywords, Pop());
      if (arena_.nodes[keywords].kind != PickleKind::kDict || !PartsOf(keywords).entries.empty()) {
        return Fail("calls with keyword arguments are not supported");
      }
    }
    FLAMBEAU_TRY(uint32_t args, Pop());
    FLAMBEAU_TRY(const uint32_t callee, Pop());
    if (arena_.nodes[args].kind != PickleKind::kTuple) {
      // TorchScript calls enums so, with the value alone.
      if (arena_.nodes[callee].kind != PickleKind::kGlobal || !arena_.TextOf(arena_.nodes[callee].first).starts_with("__torch__"))
        return Fail("the arguments of a call are not a tuple");
      FLAMBEAU_CHECK_OK(PushSequence(PickleKind::kTuple, {args}));
      FLAMBEAU_TRY(args, Pop());
    }
    auto& node = Push(PickleKind::kCall);
    node.first = callee;
    node.second = args;
    node.parts = static_cast<uint32_t>(arena_.parts.size());
    arena_.parts.emplace_back();
    return {};
  }

  // Growing values.
  PickleArena::Parts& PartsOf(uint32_t index) { return arena_.parts[arena_.nodes[index].parts]; }
  Status AppendItems(const std::vector<uint32_t>& items, PickleKind kind) {
    FLAMBEAU_TRY(const uint32_t target, Top());
    if (arena_.nodes[target].kind != kind && arena_.nodes[target].kind != PickleKind::kCall) {
      return Fail("elements are added to " + std::string(Describe(arena_.nodes[target].kind)));
    }
    auto& to = PartsOf(target).items;
    to.insert(to.end(), items.begin(), items.end());
    return {};
  }
  Status SetEntries(const std::vector<uint32_t>& entries) {
    if (entries.size() % 2 != 0) return Fail("a key has no value");
    FLAMBEAU_TRY(const uint32_t target, Top());
    const PickleKind kind = arena_.nodes[target].kind;
    if (kind != PickleKind::kDict && kind != PickleKind::kCall) {
      return Fail("entries are set on " + std::string(Describe(kind)));
    }
    auto& to = PartsOf(target).entries;
    to.insert(to.end(), entries.begin(), entries.end());
    return {};
  }
  Status Build() {
    FLAMBEAU_TRY(const uint32_t state, Pop());
    FLAMBEAU_TRY(const uint32_t target, Top());
    if (arena_.nodes[target].kind != PickleKind::kCall) {
      return Fail("a state is given to " + std::string(Describe(arena_.nodes[target].kind)));
    }
    if (PartsOf(target).state != PickleArena::kNothing) return Fail("an object is given its state twice");
    PartsOf(target).state = state;
    return {};
  }

  Status Memoize(uint64_t key) {
    FLAMBEAU_TRY(const uint32_t value, Top());
    memo_[key] = value;
    return {};
  }
  Status Recall(int width) {
    FLAMBEAU_TRY(const uint64_t key, TakeUnsigned(width));
    const auto found = memo_.find(key);
    if (found == memo_.end()) return Fail("the memo has no value " + std::to_string(key));
    stack_.push_back(found->second);
    return {};
  }

  Status Step(uint8_t opcode);
  Status StepContainer(uint8_t opcode);
  Status StepStack(uint8_t opcode);

  PickleArena& arena_;
  std::string* error_;
  uint64_t at_ = 0, next_ = 0;  // this opcode, and what follows it
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, uint32_t> memo_;
};

// Atoms.
Status Machine::Step(uint8_t opcode) {
  switch (opcode) {
    case kNone: Push(PickleKind::kNone); return {};
    case kNewTrue: Push(PickleKind::kBool).boolean = true; return {};
    case kNewFalse: Push(PickleKind::kBool).boolean = false; return {};
    case kBinInt1:
    case kBinInt2:
    case kBinInt: {
      const int width = opcode == kBinInt1 ? 1 : opcode == kBinInt2 ? 2 : 4;
      FLAMBEAU_TRY(const uint64_t value, TakeUnsigned(width));
      return PushInt(width == 4 ? static_cast<int32_t>(value) : static_cast<int64_t>(value));  // only BININT has a sign
    }
    case kLong1: return PushLong(1);
    case kLong4: return PushLong(4);
    case kBinFloat: return PushFloat();
    case kShortBinString: return PushText(PickleKind::kString, 1);
    case kBinString: return PushText(PickleKind::kString, 4);
    case kShortBinUnicode: return PushText(PickleKind::kString, 1);
    case kBinUnicode: return PushText(PickleKind::kString, 4);
    case kBinUnicode8: return PushText(PickleKind::kString, 8);
    case kShortBinBytes: return PushText(PickleKind::kBytes, 1);
    case kBinBytes: return PushText(PickleKind::kBytes, 4);
    case kBinBytes8:
    case kByteArray8: return PushText(PickleKind::kBytes, 8);
    case kGlobal: return Global();
    case kStackGlobal: return StackGlobal();
    default: return StepContainer(opcode);
  }
}

// What is made of other values.
Status Machine::StepContainer(uint8_t opcode) {
  switch (opcode) {
    case kEmptyList: return PushSequence(PickleKind::kList, {});
    case kEmptyTuple: return PushSequence(PickleKind::kTuple, {});
    case kEmptyDict: return PushSequence(PickleKind::kDict, {});
    case kEmptySet: return PushSequence(PickleKind::kSet, {});
    case kTuple1: return PushTuple(1);
    case kTuple2: return PushTuple(2);
    case kTuple3: return PushTuple(3);
    case kList:
    case kTuple:
    case kFrozenSet: {
      FLAMBEAU_TRY(std::vector<uint32_t> items, PopMark());
      const auto kind = opcode == kList ? PickleKind::kList : opcode == kTuple ? PickleKind::kTuple : PickleKind::kSet;
      return PushSequence(kind, std::move(items));
    }
    case kDict: {
      FLAMBEAU_TRY(const std::vector<uint32_t> entries, PopMark());
      FLAMBEAU_CHECK_OK(PushSequence(PickleKind::kDict, {}));
      return SetEntries(entries);
    }
    case kAppend: {
      FLAMBEAU_TRY(const uint32_t item, Pop());
      return AppendItems({item}, PickleKind::kList);
    }
    case kAppends:
    case kAddItems: {
      FLAMBEAU_TRY(const std::vector<uint32_t> items, PopMark());
      return AppendItems(items, opcode == kAppends ? PickleKind::kList : PickleKind::kSet);
    }
    case kSetItem: {
      FLAMBEAU_TRY(const uint32_t value, Pop());
      FLAMBEAU_TRY(const uint32_t key, Pop());
      return SetEntries({key, value});
    }
    case kSetItems: {
      FLAMBEAU_TRY(const std::vector<uint32_t> entries, PopMark());
      return SetEntries(entries);
    }
    case kReduce:
    case kNewObj: return Call(false);
    case kNewObjEx: return Call(true);
    case kBuild: return Build();
    case kBinPersId: {
      FLAMBEAU_TRY(const uint32_t id, Pop());
      Push(PickleKind::kPersistent).first = id;
      return {};
    }
    default: return StepStack(opcode);
  }
}

// The machine's own business.
Status Machine::StepStack(uint8_t opcode) {
  switch (opcode) {
    case kProto: {
      FLAMBEAU_TRY(const uint64_t protocol, TakeUnsigned(1));
      if (protocol < 2 || protocol > 5)
        return Fail("pickle protocol " + std::to_string(protocol) + " is not supported");
      return {};
    }
    case kFrame: {  // says only how much to buffer
      FLAMBEAU_CHECK_OK(TakeUnsigned(8));
      return {};
    }
    case kMark: marks_.push_back(stack_.size()); return {};
    case kPop: {
      // As Python has it, POP also takes a mark away.
      if (!marks_.empty() && stack_.size() == marks_.back()) {
        marks_.pop_back();
        return {};
      }
      FLAMBEAU_CHECK_OK(Pop());
      return {};
    }
    case kPopMark: {
      FLAMBEAU_CHECK_OK(PopMark());
      return {};
    }
    case kDup: {
      FLAMBEAU_TRY(const uint32_t top, Top());
      stack_.push_back(top);
      return {};
    }
    case kMemoize: return Memoize(memo_.size());
    case kBinPut:
    case kLongBinPut: {
      FLAMBEAU_TRY(const uint64_t key, TakeUnsigned(opcode == kBinPut ? 1 : 4));
      return Memoize(key);
    }
    case kBinGet: return Recall(1);
    case kLongBinGet: return Recall(4);
    case kStop: {
      FLAMBEAU_TRY(const uint32_t root, Pop());
      if (!stack_.empty() || !marks_.empty()) return Fail("values are left on the stack");
      if (next_ != arena_.bytes.size()) return Fail("bytes follow the end of the pickle");
      arena_.root = root;
      return {};
    }
    default: return Fail("this opcode is not supported");
  }
}

}  // namespace

Status RunPickle(PickleArena& arena, std::string* error) { return Machine(arena, error).Run(); }

}  // namespace flambeau
