// The one parser of symbolic sizes, for our own text (ir/expr_text.h) and for
// SymPy's (ir/sympy.h): infix operators with Python's precedences, and calls.
//
// Stacks are explicit; time and memory are linear in the text, which is at most
// kMaxLength long.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diag/sink.h"
#include "ir/quotient.h"

namespace flambeau {

class ExprReader;

// What a call means: Max(a, b), FloorDiv(a, b).
struct ExprFunction {
  std::string_view name;
  size_t least, most;  // arguments
  // nullopt where the arguments make no sense.
  std::optional<Quotient> (*apply)(QuotientAlgebra&, std::span<const Quotient>);
};
const ExprFunction* FindExprFunction(std::string_view name);

class ExprParser {
 public:
  static constexpr size_t kMaxLength = 1 << 16;

  ExprParser(ExprPool& pool, Sink& sink, const Location& location) : algebra_(pool), sink_(sink), location_(location) {}
  // Takes names as our own text has them. Without a reader they are SymPy's.
  void set_reader(ExprReader* reader) { reader_ = reader; }

  Result<Quotient> Parse(std::string_view text);

 private:
  enum class Op : uint8_t {
    kOpen,
    kTuple,
    kCall,  // not yet closed
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kNotEqual,
    kOr,
    kXor,
    kAnd,
    kShiftLeft,
    kShiftRight,
    kAdd,
    kSub,
    kMul,
    kDiv,
    kFloorDiv,
    kMod,
    kNegate,
    kPlus,
    kInvert,
    kPow,
  };
  struct Pending {
    Op op;
    size_t position;
    size_t first_value = 0;  // of an open parenthesis or call
    const ExprFunction* function = nullptr;
  };

  static int Precedence(Op op);
  Failure Error(size_t position, std::string_view message, std::string hint = {});
  void SkipSpace();
  Status ReadOperand();
  Status ReadOperator();
  Status ReadNumber();
  Status ReadName();
  Status ReadConstructor(std::string_view name, size_t start);  // Symbol('s', …), Integer(2), …
  Result<Quotient> MakeConstructor(std::string_view name, std::span<const std::string> arguments,
                                   std::span<const std::string> keywords, size_t start);
  bool TakeFunctionName(std::string* name);
  Status ReadSymbol(std::string_view name, size_t start);
  bool TakeBinary(Op* op);
  Status Reduce(int precedence);
  Status Apply(const Pending& pending);
  Status Comma();
  Status Close();
  void Push(Quotient value) {
    values_.push_back(std::move(value));
    expect_operand_ = false;
  }

  QuotientAlgebra algebra_;
  Sink& sink_;
  const Location& location_;
  ExprReader* reader_ = nullptr;
  std::string_view text_;
  size_t at_ = 0;
  bool expect_operand_ = true;
  std::vector<Quotient> values_;
  std::vector<Pending> pending_;
};

}  // namespace flambeau
