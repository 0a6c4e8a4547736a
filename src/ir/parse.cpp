#include "ir/parse.h"

#include <unordered_map>

#include "ir/expr_text.h"
#include "ir/text_lexer.h"
#include "ir/text_literals.h"
#include "ir/text_names.h"
#include "ir/text_scanner.h"

namespace flambeau {
namespace {

using Element = std::variant<None, bool, int64_t, double, Operand, std::string>;

class Parser {
 public:
  Parser(std::string_view text, Context& context, Sink& sink)
      : scan_(text, sink), literals_(scan_, context, sink), context_(context), graph_(&context) {}

  Result<Graph> Parse();

 private:
  struct Definition {
    std::string key;  // as names_ has it
    Symbol label;
    TypeId type;
    size_t position;
  };
  // A node whose closing parenthesis is still to come.
  struct Pending {
    Symbol op, name;
    std::vector<Definition> results;
    std::vector<ValueId> operands;
    std::vector<NamedAttribute> attributes;
    bool active = false, first = true;
  };
  struct Frame {
    BlockId block;
    Pending node;
    std::vector<std::string> names;  // that go out of scope with it
  };

  Status SymbolLine();
  Status OpenBlock(BlockId block);
  Status Statement();
  Status Return();
  Status Constant();
  Status StartNode();
  Status Arguments();
  Status FinishNode();

  Result<Definition> ReadDefinition();
  Status Define(Definition definition, ValueId value);
  Result<ValueId> ReadUse();
  Result<Operand> ReadOperand();
  Result<Attribute> ReadValue();
  Result<Attribute> ReadWord();
  Result<Attribute> ReadList(std::string_view kind);
  Result<Element> ReadElement();
  OriginId ReadOrigin();

  Scanner scan_;
  LiteralReader literals_;
  Context& context_;
  Graph graph_;
  std::vector<Frame> frames_;
  std::unordered_map<std::string, ValueId> names_;
  std::unordered_map<std::string, OriginId> origins_;
};

// --- names -------------------------------------------------------------------

// `%name: type`
Result<Parser::Definition> Parser::ReadDefinition() {
  scan_.Skip();
  Definition definition;
  definition.position = scan_.position();
  FLAMBEAU_TRY(const Scanner::ValueName name, scan_.TakeValueName());
  definition.key = name.key;
  if (!name.label.empty()) definition.label = context_.Intern(name.label);
  FLAMBEAU_CHECK_OK(scan_.Expect(':'));
  FLAMBEAU_TRY(Type type, literals_.ReadType());
  definition.type = context_.Intern(std::move(type));
  return definition;
}

Status Parser::Define(Definition definition, ValueId value) {
  if (!names_.emplace(definition.key, value).second) {
    scan_.MoveTo(definition.position);
    return scan_.Error("the value is defined already", "give it another name");
  }
  frames_.back().names.push_back(std::move(definition.key));
  return {};
}

Result<ValueId> Parser::ReadUse() {
  scan_.Skip();
  if (scan_.TakeWord("_")) return ValueId{};
  const size_t start = scan_.position();
  FLAMBEAU_TRY(const Scanner::ValueName name, scan_.TakeValueName());
  const auto it = names_.find(name.key);
  if (it != names_.end()) return it->second;
  scan_.MoveTo(start);
  return scan_.Error("the value is not defined here", "define it before, in this block or in one around it");
}

Result<Operand> Parser::ReadOperand() {
  FLAMBEAU_TRY(const ValueId value, ReadUse());
  auto& operands = frames_.back().node.operands;
  operands.push_back(value);
  return Operand{static_cast<uint32_t>(operands.size() - 1)};
}

// --- attributes --------------------------------------------------------------

Result<Element> Parser::ReadElement() {
  scan_.Skip();
  if (scan_.TakeWord("None")) return Element(None{});
  if (scan_.TakeWord("True")) return Element(true);
  if (scan_.TakeWord("False")) return Element(false);
  if (scan_.Peek() == '%' || scan_.IsAtWord("_")) {
    FLAMBEAU_TRY(const Operand operand, ReadOperand());
    return Element(operand);
  }
  if (scan_.Peek() == '"') {
    FLAMBEAU_TRY(std::string text, scan_.TakeString());
    return Element(std::move(text));
  }
  FLAMBEAU_TRY(const auto number, literals_.ReadNumber());
  if (const auto* value = std::get_if<int64_t>(&number)) return Element(*value);
  return Element(std::get<double>(number));
}

// Elements that are all of type T, as a list of them.
template <class T>
std::optional<Attribute> ListOf(const std::vector<Element>& elements) {
  std::vector<T> list;
  for (const Element& element : elements) {
    if (!std::holds_alternative<T>(element)) return std::nullopt;
    list.push_back(std::get<T>(element));
  }
  return Attribute(std::move(list));
}

// Behind `[`. `kind` is the word before it, for lists that don't tell.
Result<Attribute> Parser::ReadList(std::string_view kind) {
  std::vector<Element> elements;
  bool has_operands = kind == "operands", has_strings = false;
  if (!scan_.Take(']')) {
    do {
      FLAMBEAU_TRY(Element element, ReadElement());
      has_operands |= std::holds_alternative<None>(element) || std::holds_alternative<Operand>(element);
      has_strings |= std::holds_alternative<std::string>(element);
      elements.push_back(std::move(element));
    } while (scan_.Take(','));
    FLAMBEAU_CHECK_OK(scan_.Expect(']'));
  }
  std::optional<Attribute> list;
  if (has_operands && !has_strings) {
    OperandList operands;
    for (const Element& element : elements)
      std::visit(
          [&](const auto& value) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::string>) operands.emplace_back(value);
          },
          element);
    return Attribute(std::move(operands));
  }
  if (!list && (kind.empty() || kind == "ints")) list = ListOf<int64_t>(elements);
  if (!list && (kind.empty() || kind == "floats")) list = ListOf<double>(elements);
  if (!list && (kind.empty() || kind == "bools")) list = ListOf<bool>(elements);
  if (!list && (kind.empty() || kind == "strings")) list = ListOf<std::string>(elements);
  if (list) return *std::move(list);
  return scan_.Error("the elements of the list are of different kinds", "a mixed list reads operands[1, True]");
}

Result<Attribute> Parser::ReadWord() {
  const std::string_view word = scan_.TakeName();
  if (scan_.Peek() == '[' &&
      (word == "ints" || word == "floats" || word == "bools" || word == "strings" || word == "operands")) {
    FLAMBEAU_CHECK_OK(scan_.Expect('['));
    return ReadList(word);
  }
  if (word == "None") return Attribute(None{});
  if (word == "True") return Attribute(true);
  if (word == "False") return Attribute(false);
  if (const Layout* layout = FindWord(kLayoutWords, word)) return Attribute(*layout);
  if (const MemoryFormat* format = FindWord(kMemoryFormatWords, word)) return Attribute(*format);
  if (word == Info(DType::kNone).text) return Attribute(DType::kNone);
  if (const auto dtype = DTypeFromText(word)) return Attribute(*dtype);
  if (word != "complex" && word != "device" && word != "tensor" && word != "type")
    return scan_.Error("`" + std::string(word) + "` is no value of an attribute", "text stands in double quotes");
  FLAMBEAU_CHECK_OK(scan_.Expect('('));
  Attribute value;
  if (word == "complex") {
    FLAMBEAU_TRY(const auto real, literals_.ReadNumber());
    FLAMBEAU_CHECK_OK(scan_.Expect(','));
    FLAMBEAU_TRY(const auto imaginary, literals_.ReadNumber());
    auto number = [](const auto& n) { return std::visit([](auto v) { return static_cast<double>(v); }, n); };
    value = std::complex<double>(number(real), number(imaginary));
  } else if (word == "device") {
    FLAMBEAU_TRY(std::string text, scan_.TakeString());
    value = Device{std::move(text)};
  } else if (word == "type") {
    FLAMBEAU_TRY(Type type, literals_.ReadType());
    value = context_.Intern(std::move(type));
  } else {
    FLAMBEAU_TRY(TensorData data, literals_.ReadData(nullptr));
    value = context_.Add(std::move(data));
  }
  FLAMBEAU_CHECK_OK(scan_.Expect(')'));
  return value;
}

Result<Attribute> Parser::ReadValue() {
  scan_.Skip();
  if (scan_.Take('[')) return ReadList("");
  if (scan_.Peek() == '"') {
    FLAMBEAU_TRY(std::string text, scan_.TakeString());
    return Attribute(std::move(text));
  }
  if (scan_.Peek() == '%' || scan_.IsAtWord("_")) {
    FLAMBEAU_TRY(const Operand operand, ReadOperand());
    return Attribute(operand);
  }
  if (IsNameStart(scan_.Peek()) && !scan_.IsAtWord("inf") && !scan_.IsAtWord("nan")) return ReadWord();
  FLAMBEAU_TRY(const auto number, literals_.ReadNumber());
  return std::visit([](auto value) { return Attribute(value); }, number);
}

// --- nodes and blocks --------------------------------------------------------

Status Parser::Constant() {
  if (frames_.size() > 1) return scan_.Error("a constant inside a body", "constants belong to the graph");
  FLAMBEAU_TRY(Definition definition, ReadDefinition());
  FLAMBEAU_CHECK_OK(scan_.Expect('='));
  FLAMBEAU_TRY(TensorData data, literals_.ReadData(&context_[definition.type]));
  const ValueId value = graph_.AddConstant(context_.Add(std::move(data)), definition.type, definition.label);
  return Define(std::move(definition), value);
}

Status Parser::SymbolLine() {
  scan_.Skip();
  Expr symbol;
  if (scan_.Take('?')) {
    bool is_float;
    symbol = literals_.exprs().Anonymous(scan_.TakeNumber(&is_float));
  } else {
    FLAMBEAU_TRY(const std::string name, scan_.TakeLabel());
    scan_.Skip();
    const bool unbacked = scan_.TakeWord("unbacked");
    const bool dimension = !unbacked && scan_.TakeWord("dimension");
    symbol = unbacked    ? context_.exprs().Symbolic(name, SymbolKind::kUnbacked)
             : dimension ? context_.exprs().Symbolic(name, SymbolKind::kDimension)
                         : literals_.exprs().Symbol(name);
  }
  scan_.Skip();
  if (!scan_.TakeWord("in")) return scan_.Error("`in [min, max]` is expected");
  FLAMBEAU_CHECK_OK(scan_.Expect('['));
  auto bound = [&](std::string_view infinity, int64_t extreme) -> Result<int64_t> {
    scan_.Skip();
    return scan_.TakeWord(infinity) ? Result(extreme) : literals_.ReadInt();
  };
  FLAMBEAU_TRY(const int64_t min, bound("-oo", INT64_MIN));
  FLAMBEAU_CHECK_OK(scan_.Expect(','));
  FLAMBEAU_TRY(const int64_t max, bound("oo", INT64_MAX));
  if (min > max) return scan_.Error("an empty range");
  context_.exprs().SetRange(symbol, {min, max});
  return scan_.Expect(']');
}

// `(%x: f32[2]) {`
Status Parser::OpenBlock(BlockId block) {
  frames_.push_back({block, {}, {}});
  FLAMBEAU_CHECK_OK(scan_.Expect('('));
  if (!scan_.Take(')')) {
    do {
      FLAMBEAU_TRY(Definition definition, ReadDefinition());
      const ValueId value = graph_.AddInput(block, definition.type, definition.label);
      FLAMBEAU_CHECK_OK(Define(std::move(definition), value));
    } while (scan_.Take(','));
    FLAMBEAU_CHECK_OK(scan_.Expect(')'));
  }
  return scan_.Expect('{');
}

Status Parser::Return() {
  std::vector<ValueId> outputs;
  scan_.Skip();
  if (scan_.Peek() != '}') {
    do {
      FLAMBEAU_TRY(const ValueId output, ReadUse());
      outputs.push_back(output);
    } while (scan_.Take(','));
  }
  FLAMBEAU_CHECK_OK(scan_.Expect('}'));
  graph_.SetOutputs(frames_.back().block, outputs);
  for (const std::string& name : frames_.back().names) names_.erase(name);
  frames_.pop_back();
  return {};
}

Status Parser::Statement() {
  scan_.Skip();
  if (scan_.TakeWord("return")) return Return();
  if (scan_.TakeWord("const")) return Constant();
  return StartNode();
}

// `%a: f32[2], %b: i64[2] = aten::max.dim @label(`
Status Parser::StartNode() {
  Pending& node = frames_.back().node;
  node = {};
  if (scan_.Peek() == '%') {
    do {
      FLAMBEAU_TRY(Definition definition, ReadDefinition());
      node.results.push_back(std::move(definition));
    } while (scan_.Take(','));
    FLAMBEAU_CHECK_OK(scan_.Expect('='));
  }
  scan_.Skip();
  FLAMBEAU_TRY(const std::string op, scan_.TakeOp());
  node.op = context_.Intern(op);
  if (scan_.Take('@')) {
    FLAMBEAU_TRY(const std::string name, scan_.TakeLabel());
    node.name = context_.Intern(name);
  }
  node.active = true;
  return scan_.Expect('(');
}

// Reads operands and attributes up to a body or the end of the node.
Status Parser::Arguments() {
  Pending& node = frames_.back().node;
  while (!scan_.Take(')')) {
    if (!node.first) FLAMBEAU_CHECK_OK(scan_.Expect(','));
    node.first = false;
    scan_.Skip();
    if (scan_.Peek() == '%' || scan_.IsAtWord("_")) {
      FLAMBEAU_CHECK_OK(ReadOperand());
      continue;
    }
    FLAMBEAU_TRY(const std::string name, scan_.TakeLabel());
    node.attributes.push_back({context_.Intern(name), None{}});
    FLAMBEAU_CHECK_OK(scan_.Expect('='));
    scan_.Skip();
    if (scan_.Peek() == '(') {
      const BlockId body = graph_.AddBlock();
      node.attributes.back().value = body;
      return OpenBlock(body);
    }
    FLAMBEAU_TRY(node.attributes.back().value, ReadValue());
  }
  return FinishNode();
}

Status Parser::FinishNode() {
  Pending node = std::move(frames_.back().node);
  frames_.back().node = {};
  std::vector<TypeId> types;
  for (const Definition& result : node.results) types.push_back(result.type);
  const NodeId id =
      graph_.Append(frames_.back().block, node.op, node.operands, std::move(node.attributes), types, ReadOrigin());
  graph_.SetName(id, node.name);
  for (uint32_t i = 0; i < node.results.size(); ++i) {
    graph_.SetName(graph_.result(id, i), node.results[i].label);
    FLAMBEAU_CHECK_OK(Define(std::move(node.results[i]), graph_.result(id, i)));
  }
  return {};
}

// A comment on the rest of the line: `# fc1, model.py:17`, one part or both.
OriginId Parser::ReadOrigin() {
  const std::string comment(scan_.TakeComment());
  if (comment.empty()) return {};
  if (const auto it = origins_.find(comment); it != origins_.end()) return it->second;
  auto unquote = [](std::string_view text) {
    std::string_view rest = text;
    if (!text.empty() && text[0] == '"')
      if (auto plain = TakeQuoted(&rest); plain && rest.empty()) return *plain;
    return std::string(text);
  };
  std::string path = comment, line;
  const size_t comma = comment.rfind(", ");
  const std::string last = unquote(comma == std::string::npos ? comment : std::string_view(comment).substr(comma + 2));
  const size_t colon = last.rfind(':');
  const bool has_line = colon != std::string::npos && colon > 0 && last[colon - 1] != '/' && colon + 1 < last.size() &&
                        last.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  Origin origin;
  if (has_line) {
    path = comma == std::string::npos ? "" : comment.substr(0, comma);
    origin.stack_trace =
        context_.Intern("File \"" + last.substr(0, colon) + "\", line " + last.substr(colon + 1) + ", in forward\n");
  }
  if (!path.empty()) origin.modules.push_back({context_.Intern(unquote(path)), {}});
  return origins_[comment] = context_.Add(std::move(origin));
}

Result<Graph> Parser::Parse() {
  scan_.Skip();
  if (scan_.TakeWord("strides")) {
    scan_.Skip();
    if (!scan_.TakeWord("known")) return scan_.Error("`strides known` is expected");
    literals_.AssumeContiguous();
    scan_.Skip();
  }
  while (scan_.TakeWord("symbol")) {
    FLAMBEAU_CHECK_OK(SymbolLine());
    scan_.Skip();
  }
  if (!scan_.TakeWord("graph")) return scan_.Error("`graph(` is expected");
  FLAMBEAU_CHECK_OK(OpenBlock(graph_.main()));
  while (!frames_.empty()) FLAMBEAU_CHECK_OK(frames_.back().node.active ? Arguments() : Statement());
  scan_.Skip();
  if (!scan_.AtEnd()) return scan_.Error("text after the end of the graph");
  return std::move(graph_);
}

}  // namespace

Result<Graph> ParseGraph(std::string_view text, Context& context, Sink& sink) {
  return Parser(text, context, sink).Parse();
}

}  // namespace flambeau
