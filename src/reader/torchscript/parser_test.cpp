#include <gtest/gtest.h>

#include "reader/torchscript/syntax.h"

namespace flambeau::torchscript {
namespace {

std::string Parsed(std::string code) {
  Sink sink;
  const auto syntax = Parse(std::make_shared<SourceFile>(SourceFile{"a.py", std::move(code), {}}), sink);
  return syntax ? ToText(**syntax) : "error: " + sink.diagnostics().at(0).message;
}

std::string Tokens(std::string code) {
  Sink sink;
  const SourceFile source = {"a.py", std::move(code), {}};
  const auto tokens = Lex(source, sink);
  if (!tokens) return "error: " + sink.diagnostics().at(0).message;
  std::string text;
  for (const Token& token : *tokens) {
    switch (token.kind) {
      case TokenKind::kEnd: return text;
      case TokenKind::kNewline: text += "; "; break;
      case TokenKind::kIndent: text += "{ "; break;
      case TokenKind::kDedent: text += "} "; break;
      default: text += source.text.substr(token.begin, token.end - token.begin) + " ";
    }
  }
  return text;
}

TEST(TorchScriptLexer, TellsTokensApart) {
  EXPECT_EQ(Tokens("x1=-2.5e-05//y  # why\n"), "x1 = - 2.5e-05 // y ; ");
  EXPECT_EQ(Tokens("f(1., .5, 2j, 1e5, a.b)"), "f ( 1. , .5 , 2j , 1e5 , a . b ) ; ");
  EXPECT_EQ(Tokens("a**=b->...!= <<="), "a **= b -> ... != <<= ; ");
}

TEST(TorchScriptLexer, MakesBlocksOfIndentation) {
  EXPECT_EQ(Tokens("if a:\n  b\n\n    # c\n  if d:\n      e\nf"), "if a : ; { b ; if d : ; { e ; } } f ; ");
  EXPECT_EQ(Tokens("f(a,\n      b)\nc"), "f ( a , b ) ; c ; ");
  EXPECT_EQ(Tokens("a\\\n  b"), "a b ; ");
}

TEST(TorchScriptLexer, SaysWhatItCannotRead) {
  EXPECT_EQ(Tokens("a = \"b\nc"), "error: a string does not end (line 1, column 5)");
  EXPECT_EQ(Tokens("if a:\n    b\n  c"), "error: the indentation matches no block (line 3, column 3)");
  EXPECT_EQ(Tokens("a\n$"), "error: the character '$' has no meaning here (line 2, column 1)");
  EXPECT_EQ(Tokens("a)"), "error: a bracket is closed that was not opened (line 1, column 2)");
  EXPECT_EQ(Tokens("(a"), "error: the code ends inside of brackets (line 1, column 3)");
}

TEST(TorchScriptLexer, UnquotesStrings) {
  EXPECT_EQ(UnquoteLiteral(R"("a\"b\n\\\t")"), "a\"b\n\\\t");
  EXPECT_EQ(UnquoteLiteral(R"('\101\x42\q')"), "AB\\q");
  EXPECT_EQ(UnquoteLiteral("\"\"\"a\"b\"\"\""), "a\"b");
  EXPECT_EQ(UnquoteLiteral("''"), "");
}

TEST(TorchScriptParser, ReadsExpressions) {
  EXPECT_EQ(Parsed("torch.add(x, 1, alpha=2, )"), "(call (. torch add) x 1 alpha=2)\n");
  EXPECT_EQ(Parsed("(self.a).forward(x, )"), "(call (. (. self a) forward) x)\n");
  EXPECT_EQ(Parsed("a or b and not c < d + e * -f ** 2"), "(or a (and b (not (< c (+ d (* e (- (** f 2))))))))\n");
  EXPECT_EQ(Parsed("a - b - c"), "(- (- a b) c)\n");
  EXPECT_EQ(Parsed("x if y else z"), "(if y x z)\n");
  EXPECT_EQ(Parsed("(x)[0], x[1:, ::2], {\"a\": 1, }, [], (), (1,)"),
            "(tuple ([] x 0) ([] x (: 1 _ _) (: _ _ 2)) (dict 'a' 1) (list) (tuple) (tuple 1))\n");
  EXPECT_EQ(Parsed("a is not None, b not in c, [x for x in y]"), "(tuple (is not a None) (not in b c) (list-of x x y))\n");
  EXPECT_EQ(Parsed("\"a\" 'b'"), "'ab'\n");
}

TEST(TorchScriptParser, ReadsStatements) {
  EXPECT_EQ(Parsed("a, b, = c"), "= (tuple a b) c\n");
  EXPECT_EQ(Parsed("a : Optional[int] = None\nself.x = 1\na += 2\nb : int"),
            "= a None : ([] Optional int)\n= (. self x) 1\n+= a 2\ndeclare b : int\n");
  EXPECT_EQ(Parsed("for i in range(3):\n  pass\nwhile a:\n  b = c\nif a:\n  b\nelif c:\n  d\nelse:\n  e\n"),
            "for i (call range 3)\n  pass\nwhile a\n  = b c\nif a\n  b\nelse\n  if c\n    d\n  else\n    e\n");
  EXPECT_EQ(Parsed("def f(self: __torch__.M,\n    x: Tensor=None) -> Tuple[int, str]:\n  return x, 1"),
            "def f self:(. __torch__ M) x:Tensor=None -> ([] Tuple int str)\n  return (tuple x 1)\n");
  EXPECT_EQ(Parsed("class A(Module):\n  __annotations__[\"0\"] = int\n  x : int\n  def f(self) -> int:\n    return 1\n"),
            "class A Module\n  = ([] __annotations__ '0') int\n  declare x : int\n  def f self:_ -> int\n    return 1\n");
  EXPECT_EQ(Parsed("with torch.no_grad() as a:\n  del b[0]\nassert c, \"d\"\nraise e"),
            "with (call (. torch no_grad)) a\n  del ([] b 0)\nassert c : 'd'\nraise e\n");
}

TEST(TorchScriptParser, SaysWhatItExpected) {
  EXPECT_EQ(Parsed("a = = b"), "error: expected an expression, found '=' (line 1, column 5)");
  EXPECT_EQ(Parsed("def f(x:\n"), "error: the code ends inside of brackets (line 2, column 1)");
  EXPECT_EQ(Parsed("if a:\nb"), "error: expected an indented block, found 'b' (line 2, column 1)");
  EXPECT_EQ(Parsed("f(a=1, b)"), "error: expected an argument with a name, found 'b' (line 1, column 8)");
  EXPECT_EQ(Parsed("x[]"), "([] x)\n");
  EXPECT_EQ(Parsed("def 1"), "error: expected the name of a function, found '1' (line 1, column 5)");
}

std::string Repeat(std::string_view text, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST(TorchScriptParser, StopsWhereItWouldNestTooDeep) {
  for (const std::string& deep : {Repeat("(", 400) + "a" + Repeat(")", 400), Repeat("-", 100000) + "a", Repeat("a + ", 100000) + "a",
                                  "a" + Repeat(".b", 100000), "a" + Repeat("[0]", 100000), Repeat("not ", 100000) + "a",
                                  "a" + Repeat("()", 100000), Repeat("a if b else ", 100000) + "c", Repeat("a ** ", 100000) + "b"})
    EXPECT_TRUE(Parsed(deep).starts_with("error: the code is nested more than 256 deep")) << deep.substr(0, 20);
  EXPECT_TRUE(Parsed(Repeat("(", 100000)).starts_with("error: brackets are nested more than"));
  std::string blocks;
  for (size_t i = 0; i < 400; ++i) blocks += std::string(i, ' ') + "if a:\n";
  EXPECT_TRUE(Parsed(blocks + std::string(400, ' ') + "b").starts_with("error: the code is nested more than"));
  EXPECT_TRUE(Parsed("if a:\n  b\n" + Repeat("elif a:\n  b\n", 100000)).starts_with("error: the code is nested more than"));
}

}  // namespace
}  // namespace flambeau::torchscript
