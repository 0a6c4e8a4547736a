#include "container/pickle.h"

#include <gtest/gtest.h>

#include "container/archive_builder_test.h"

namespace flambeau {
namespace {

using namespace std::string_literals;
using testing::FirstError;

// The value as text, or the error.
std::string Unpickle(const std::string& bytes) {
  Sink sink;
  auto pickle = Pickle::Parse(bytes, {.entry = "data.pkl"}, sink);
  return pickle ? pickle->root().ToText() : FirstError(sink);
}

TEST(PickleTest, ReadsAtoms) {
  EXPECT_EQ(Unpickle("\x80\2N."), "None");
  EXPECT_EQ(Unpickle("(\x88\x89t."), "(True, False)");
  EXPECT_EQ(Unpickle("(K\xffM\xff\xffJ\xff\xff\xff\xfft."), "(255, 65535, -1)");
  EXPECT_EQ(Unpickle("(\x8a\0\x8a\1\x80\x8a\2\xff\x7f\x8a\x08\0\0\0\0\0\0\0\x80t."s),
            "(0, -128, 32767, -9223372036854775808)");
  EXPECT_EQ(Unpickle("G\x3f\xe0\0\0\0\0\0\0."s), "0.5");
  EXPECT_EQ(Unpickle("(X\2\0\0\0\xc3\xa9\x8c\1aC\2\xff\0t."s), "('é', 'a', b'\\xff\\x00')");
}

TEST(PickleTest, ReadsContainers) {
  EXPECT_EQ(Unpickle("](K\1K\2eK\3a."), "[1, 2, 3]");
  EXPECT_EQ(Unpickle("}(U\1aK\1U\1bN\x85uU\1cK\2s."), "{'a': 1, 'b': (None,), 'c': 2}");
  EXPECT_EQ(Unpickle("(K\1K\2\x86)\x8f(K\3\x90t."), "((1, 2), (), {3})");
  EXPECT_EQ(Unpickle("(K\1lN0."), "[1]");
}

TEST(PickleTest, CallsStayInert) {
  // cos.system('echo') as pickle.dumps would write it.
  EXPECT_EQ(Unpickle("cos\nsystem\nU\4echo\x85R."), "os.system('echo',)");
  EXPECT_EQ(Unpickle("\x8c\2os\x8c\6system\x93U\4echo\x85\x94R."), "os.system('echo',)");
  EXPECT_EQ(Unpickle("ccollections\nOrderedDict\n)R(U\1aK\1u}U\1mNsb."),
            "collections.OrderedDict() with {'a': 1} state {'m': None}");
  EXPECT_EQ(Unpickle("cm\nC\n)\x81}U\1aK\1sb."), "m.C() state {'a': 1}");
  EXPECT_EQ(Unpickle("(U\7storageU\1"
                     "0tQ."),
            "persistent ('storage', '0')");
}

TEST(PickleTest, KeepsIdentityOfSharedValues) {
  Sink sink;
  auto pickle = Pickle::Parse("(]q\1h\1K\7ah\1t.", {}, sink);
  ASSERT_TRUE(pickle) << FirstError(sink);
  const PickleValue root = pickle->root();
  ASSERT_EQ(root.size(), 3u);
  EXPECT_EQ(root[0], root[1]);
  EXPECT_EQ(root[0][0].AsInt(), 7);
  EXPECT_EQ(root.ToText(), "(&1 [7], *1, *1)");
}

TEST(PickleTest, PrintsCycles) {
  EXPECT_EQ(Unpickle("]q\1h\1a."), "&1 [*1]");
  EXPECT_EQ(Unpickle("}q\1U\1ah\1s."), "&1 {'a': *1}");
}

TEST(PickleTest, SharingDoesNotMultiply) {
  // Each tuple holds the one before twice: 2^64 leaves if one walked naively.
  std::string bytes = "K\1";
  for (int i = 0; i < 64; ++i) bytes += "2\x86";
  const std::string text = Unpickle(bytes + ".");
  EXPECT_LT(text.size(), 1000u);
}

TEST(PickleTest, SurvivesDeepNesting) {
  std::string bytes(100000, ']');
  bytes += std::string(99999, 'a');
  const std::string text = Unpickle(bytes + ".");
  EXPECT_EQ(text, std::string(100000, '[') + std::string(100000, ']'));
  EXPECT_EQ(Unpickle(std::string(100000, '(') + "N."),
            "bad-pickle: values are left on the stack (at byte 100001, opcode '.') [data.pkl]");
}

TEST(PickleTest, RefusesEveryTruncation) {
  const std::string bytes = "\x80\2ccollections\nOrderedDict\n)Rq\1(X\1\0\0\0aK\1X\1\0\0\0b\x8a\1\5u."s;
  EXPECT_EQ(Unpickle(bytes), "collections.OrderedDict() with {'a': 1, 'b': 5}");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(Unpickle(bytes.substr(0, size)).starts_with("bad-pickle: the pickle ends")) << size;
  }
}

TEST(PickleTest, LocatesErrors) {
  EXPECT_EQ(Unpickle("a."), "bad-pickle: the stack is empty (at byte 0, opcode 'a') [data.pkl]");
  EXPECT_EQ(Unpickle("N(a."), "bad-pickle: the stack is empty (at byte 2, opcode 'a') [data.pkl]");
  EXPECT_EQ(Unpickle("NNa."), "bad-pickle: elements are added to None (at byte 2, opcode 'a') [data.pkl]");
  EXPECT_EQ(Unpickle("}(Nu."), "bad-pickle: a key has no value (at byte 3, opcode 'u') [data.pkl]");
  EXPECT_EQ(Unpickle("}Nb."), "bad-pickle: a state is given to a dict (at byte 2, opcode 'b') [data.pkl]");
  EXPECT_EQ(Unpickle("Nt."), "bad-pickle: there is no mark on the stack (at byte 1, opcode 't') [data.pkl]");
  EXPECT_EQ(Unpickle("j\xff\xff\xff\xff."),
            "bad-pickle: the memo has no value 4294967295 (at byte 0, opcode 'j') [data.pkl]");
  EXPECT_EQ(Unpickle("\x80\1N."),
            "bad-pickle: pickle protocol 1 is not supported (at byte 0, opcode '\\x80') [data.pkl]");
  EXPECT_EQ(Unpickle("I1\n."), "bad-pickle: this opcode is not supported (at byte 0, opcode 'I') [data.pkl]");
  EXPECT_EQ(Unpickle("N.N"), "bad-pickle: bytes follow the end of the pickle (at byte 1, opcode '.') [data.pkl]");
  EXPECT_EQ(Unpickle("\x8a\x09"
                     "123456789."),
            "bad-pickle: an integer does not fit into 64 bits (at byte 0, opcode '\\x8a') [data.pkl]");
  EXPECT_EQ(Unpickle("U\1\xff."), "bad-pickle: a string is not UTF-8 (at byte 0, opcode 'U') [data.pkl]");
  EXPECT_EQ(Unpickle("NN\x93."),
            "bad-pickle: the name of a global is not a string (at byte 2, opcode '\\x93') [data.pkl]");
}

TEST(PickleTest, DoesNotAllocateWhatAClaimAsksFor) {
  EXPECT_EQ(Unpickle("\x8d\xff\xff\xff\xff\xff\xff\xff\x7f."),
            "bad-pickle: the pickle ends in the middle of an operand (at byte 0, opcode '\\x8d') [data.pkl]");
  EXPECT_EQ(Unpickle("Nr\xfe\xff\xff\xff."), "None");  // a memo slot far out
}

}  // namespace
}  // namespace flambeau
