#include <fmt/format.h>

#include "container/quote.h"
#include "reader/torchscript/syntax.h"

namespace flambeau::torchscript {
namespace {

// Recurses as deep as the parser allows.
class Printer {
 public:
  explicit Printer(const Syntax& syntax) : syntax_(syntax) {}

  std::string Run() {
    Print(syntax_.body, 0);
    return std::move(out_);
  }

 private:
  static std::string_view Head(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kAttribute: return ".";
      case ExprKind::kApply: return "call";
      case ExprKind::kSubscript: return "[]";
      case ExprKind::kSlice: return ":";
      case ExprKind::kList: return "list";
      case ExprKind::kTuple: return "tuple";
      case ExprKind::kDict: return "dict";
      case ExprKind::kListComprehension: return "list-of";
      case ExprKind::kDictComprehension: return "dict-of";
      case ExprKind::kConditional: return "if";
      case ExprKind::kStarred: return "*";
      default: return expr.text;
    }
  }

  std::string Text(ExprId id) {
    if (!id) return "_";
    const Expr& expr = syntax_[id];
    switch (expr.kind) {
      case ExprKind::kName:
      case ExprKind::kNumber: return std::string(expr.text);
      case ExprKind::kString: return Quote(expr.text);
      case ExprKind::kTrue: return "True";
      case ExprKind::kFalse: return "False";
      case ExprKind::kNone: return "None";
      case ExprKind::kEllipsis: return "...";
      default: break;
    }
    std::string text = fmt::format("({}", Head(expr));
    const size_t first_named = expr.operands.size() - expr.keywords.size();
    for (size_t i = 0; i < expr.operands.size(); ++i) {
      text += ' ';
      if (i >= first_named) text += fmt::format("{}=", expr.keywords[i - first_named]);
      text += Text(expr.operands[i]);
    }
    if (expr.kind == ExprKind::kAttribute) text += fmt::format(" {}", expr.text);
    return text + ")";
  }

  void Line(int indent, const std::string& text) { out_ += std::string(static_cast<size_t>(2 * indent), ' ') + text + "\n"; }

  void Print(const std::vector<StmtId>& body, int indent) {
    for (const StmtId id : body) Print(syntax_[id], indent);
  }

  void Print(const Stmt& stmt, int indent) {
    std::string targets;
    for (const ExprId target : stmt.targets) targets += " " + Text(target);
    const std::string value = stmt.value ? " " + Text(stmt.value) : "";
    const std::string annotation = stmt.annotation ? " : " + Text(stmt.annotation) : "";
    switch (stmt.kind) {
      case StmtKind::kExpression: return Line(indent, Text(stmt.value));
      case StmtKind::kAssign: return Line(indent, "=" + targets + value + annotation);
      case StmtKind::kAugmented: return Line(indent, fmt::format("{}={}{}", stmt.text, targets, value));
      case StmtKind::kDeclare: return Line(indent, "declare" + targets + annotation);
      case StmtKind::kReturn: return Line(indent, "return" + value);
      case StmtKind::kPass: return Line(indent, "pass");
      case StmtKind::kBreak: return Line(indent, "break");
      case StmtKind::kContinue: return Line(indent, "continue");
      case StmtKind::kRaise: return Line(indent, "raise" + value);
      case StmtKind::kAssert: return Line(indent, "assert" + value + annotation);
      case StmtKind::kDelete: return Line(indent, "del" + targets);
      case StmtKind::kImport: return Line(indent, "import" + value);
      case StmtKind::kIf: Line(indent, "if" + value); break;
      case StmtKind::kWhile: Line(indent, "while" + value); break;
      case StmtKind::kFor: Line(indent, "for" + targets + value); break;
      case StmtKind::kWith: Line(indent, "with" + value + targets); break;
      case StmtKind::kClass: Line(indent, fmt::format("class {}{}", stmt.text, value)); break;
      case StmtKind::kDef: return Print(syntax_[stmt.def], indent);
    }
    Print(stmt.body, indent + 1);
    if (stmt.otherwise.empty()) return;
    Line(indent, "else");
    Print(stmt.otherwise, indent + 1);
  }

  void Print(const Def& def, int indent) {
    std::string head = fmt::format("def {}", def.name);
    for (const Parameter& parameter : def.parameters) {
      head += fmt::format(" {}:{}", parameter.name, Text(parameter.annotation));
      if (parameter.default_value) head += "=" + Text(parameter.default_value);
    }
    Line(indent, fmt::format("{} -> {}", head, Text(def.result)));
    Print(def.body, indent + 1);
  }

  const Syntax& syntax_;
  std::string out_;
};

}  // namespace

std::string ToText(const Syntax& syntax) { return Printer(syntax).Run(); }

}  // namespace flambeau::torchscript
