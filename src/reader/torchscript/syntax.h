// Serialized TorchScript as a tree: what a file of code says, before any
// meaning is given to it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reader/torchscript/lexer.h"
#include "support/ids.h"
#include "support/store.h"

namespace flambeau::torchscript {

using ExprId = Id<struct SyntaxExprTag>;
using StmtId = Id<struct SyntaxStmtTag>;
using DefId = Id<struct SyntaxDefTag>;

enum class ExprKind : uint8_t {
  kName,       // text
  kNumber,     // text, as it stands
  kString,     // text, unquoted
  kTrue,
  kFalse,
  kNone,
  kEllipsis,
  kAttribute,  // operands: object; text: the attribute
  kApply,      // operands: callee, arguments; the last keywords.size() of them are named
  kSubscript,  // operands: object, indices
  kSlice,      // operands: start, end, step; each may be invalid
  kList,
  kTuple,
  kDict,       // operands: key, value, key, value, …
  kListComprehension,  // operands: element, target, iterable
  kDictComprehension,  // operands: key, value, target, iterable
  kUnary,      // text: the operator
  kBinary,     // text: the operator: "+", "and", "not in"
  kConditional,  // operands: condition, value if true, value if false
  kStarred,
};

struct Expr {
  ExprKind kind;
  uint32_t begin = 0, end = 0;  // bytes of the file
  uint32_t height = 0;          // of the tree of operands; bounded
  std::string_view text;
  std::vector<ExprId> operands;
  std::vector<std::string_view> keywords;
};

enum class StmtKind : uint8_t {
  kExpression,  // value
  kAssign,      // targets, value, annotation
  kAugmented,   // targets[0], value; text: the operator without '='
  kDeclare,     // targets[0], annotation
  kReturn,      // value, perhaps invalid
  kIf,          // value, body, otherwise
  kWhile,       // value, body
  kFor,         // targets[0], value, body
  kWith,        // value, targets (none or one), body
  kPass,
  kBreak,
  kContinue,
  kRaise,   // value
  kAssert,  // value; annotation: the message, perhaps invalid
  kDelete,  // targets
  kDef,     // def
  kClass,   // text: name; value: the base, perhaps invalid; body
  kImport,
};

struct Stmt {
  StmtKind kind;
  uint32_t begin = 0, end = 0;
  std::string_view text;
  std::vector<ExprId> targets;
  ExprId value, annotation;
  std::vector<StmtId> body, otherwise;
  DefId def;
};

struct Parameter {
  std::string_view name;
  ExprId annotation, default_value;  // each may be invalid
  uint32_t begin = 0;
};

struct Def {
  std::string_view name;
  std::vector<Parameter> parameters;
  ExprId result;  // annotation; may be invalid
  std::vector<StmtId> body;
  uint32_t begin = 0, end = 0;
};

// A parsed file; views point into the source or into `strings`.
struct Syntax {
  std::shared_ptr<const SourceFile> source;
  Store<ExprId, Expr> exprs;
  Store<StmtId, Stmt> stmts;
  Store<DefId, Def> defs;
  std::vector<StmtId> body;
  std::deque<std::string> strings;

  const Expr& operator[](ExprId id) const { return exprs[id]; }
  const Stmt& operator[](StmtId id) const { return stmts[id]; }
  const Def& operator[](DefId id) const { return defs[id]; }
};

Result<std::unique_ptr<Syntax>> Parse(std::shared_ptr<const SourceFile> source, Sink& sink);

// The tree as S-expressions, for tests: "(add x 1)".
std::string ToText(const Syntax& syntax);

}  // namespace flambeau::torchscript
