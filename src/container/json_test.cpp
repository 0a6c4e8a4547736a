#include "container/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "container/archive_builder_test.h"

namespace flambeau {
namespace {

using testing::FirstError;

std::string Fault(std::string_view text) {
  Sink sink;
  EXPECT_FALSE(JsonDocument::Parse(std::string(text), {.entry = "m.json"}, sink));
  return FirstError(sink);
}

class JsonTest : public ::testing::Test {
 protected:
  JsonReader Read(std::string_view text) {
    auto document = JsonDocument::Parse(std::string(text), {.entry = "m.json"}, sink_);
    EXPECT_TRUE(document) << FirstError(sink_);
    document_.emplace(*std::move(document));
    return JsonReader(document_->root(), sink_);
  }
  std::string LastError() { return FirstError(sink_); }

  Sink sink_;
  std::optional<JsonDocument> document_;
};

TEST_F(JsonTest, ReadsEveryKind) {
  const JsonReader json = Read(
      R"({"i": -3, "u": 18446744073709551615, "d": 2.5, "t": true, "n": null, "s": "a\u00e9\n", "a": [1, [2], {}], "o": {"k": "v"}})");
  EXPECT_EQ(*json.Int("i"), -3);
  EXPECT_EQ(json.value().Get("u")->kind(), JsonKind::kUint);
  EXPECT_EQ(json.value().Get("u")->AsInt(), std::nullopt);
  EXPECT_EQ(*json.Double("d"), 2.5);
  EXPECT_EQ(*json.Double("i"), -3.0);
  EXPECT_EQ(*json.Bool("t"), true);
  EXPECT_EQ(*json.String("s"), "a\xc3\xa9\n");
  EXPECT_EQ((*json.Array("a")).size(), 3u);
  EXPECT_EQ(*(*json.Object("o")).String("k"), "v");
  std::string keys;
  for (const auto& [key, value] : json.members()) keys += key;
  EXPECT_EQ(keys, "iudtnsao");
  EXPECT_EQ(json.size(), 8u);
  std::string pointers;
  for (const JsonReader element : (*json.Array("a")).elements()) pointers += element.value().Pointer();
  EXPECT_EQ(pointers, "/a/0/a/1/a/2");
  EXPECT_FALSE(sink_.HasErrors());
}

TEST_F(JsonTest, ReadsPyTorchsInfinitiesWhereFloatsAreExpected) {
  const JsonReader json = Read(R"(["NaN", "Infinity", "-Infinity", "inf"])");
  std::vector<JsonReader> items;
  for (const JsonReader item : json.elements()) items.push_back(item);
  EXPECT_TRUE(std::isnan(*items[0].AsDouble()));
  EXPECT_EQ(*items[1].AsDouble(), HUGE_VAL);
  EXPECT_EQ(*items[2].AsDouble(), -HUGE_VAL);
  EXPECT_FALSE(items[3].AsDouble());
  EXPECT_EQ(LastError(), "bad-json: expected a number, found a string 'inf' [m.json#/3]");
}

TEST_F(JsonTest, ReadsInfinitiesThatPythonWritesBare) {
  const JsonReader json = Read(R"({"NaN \" Infinity": NaN, "a": [-Infinity, Infinity], "b": "x: NaN"})");
  EXPECT_TRUE(std::isnan(*json.Double("NaN \" Infinity")));
  const JsonReader bounds = *json.Array("a");
  EXPECT_EQ(*(*bounds.elements().begin()).AsDouble(), -HUGE_VAL);
  EXPECT_EQ(bounds.size(), 2u);
  EXPECT_EQ(*json.String("b"), "x: NaN");
}

TEST_F(JsonTest, TellsAbsentFromWrong) {
  const JsonReader json = Read(R"({"null": null, "s": "x"})");
  EXPECT_EQ(*json.OptionalInt("missing"), std::nullopt);
  EXPECT_EQ(*json.OptionalInt("null"), std::nullopt);
  EXPECT_EQ(*json.OptionalString("s"), "x");
  EXPECT_FALSE(sink_.HasErrors());
  EXPECT_FALSE(json.OptionalInt("s"));
  EXPECT_EQ(LastError(), "bad-json: expected an integer, found a string 'x' [m.json#/s]");
}

TEST_F(JsonTest, LocatesWhatIsMissing) {
  const JsonReader json = Read(R"({"graph": {"nodes": [{}, {"a/b~": [{"target": "t"}]}]}})");
  for (const JsonReader node : (*(*json.Object("graph")).Array("nodes")).elements()) {
    if (node.size() == 0) continue;
    const auto inner = *(*(*node.Array("a/b~")).elements().begin()).AsObject();
    EXPECT_FALSE(inner.String("name"));
  }
  EXPECT_EQ(LastError(), "bad-json: the member 'name' is missing [m.json#/graph/nodes/1/a~1b~0/0]");
}

TEST_F(JsonTest, LocatesTheRootAsTheEntry) {
  EXPECT_FALSE(Read("[]").Int("x"));
  EXPECT_EQ(LastError(), "bad-json: expected an object, found an array [m.json]");
}

TEST(JsonParseTest, RefusesMalformedText) {
  EXPECT_TRUE(Fault("").starts_with("bad-json: malformed JSON: "));
  EXPECT_TRUE(Fault("{\"a\": 1").starts_with("bad-json: malformed JSON: "));
  EXPECT_TRUE(Fault("[1] 2").starts_with("bad-json: malformed JSON: "));
  EXPECT_TRUE(Fault("[nan]").starts_with("bad-json: malformed JSON: "));
  EXPECT_TRUE(Fault("[18446744073709551616]").starts_with("bad-json: malformed JSON: "));
  EXPECT_TRUE(Fault("[\"\xff\"]").starts_with("bad-json: malformed JSON: "));
}

TEST(JsonParseTest, RefusesDuplicateKeysInSmallAndLargeObjects) {
  EXPECT_EQ(Fault(R"({"a": 1, "b": {"x": [], "x": 2}})"), "bad-json: an object has two members 'x' [m.json]");
  std::string large = "{\"k7\": 0";
  for (int i = 0; i < 100; ++i) large += ",\"k" + std::to_string(i) + "\": 0";
  EXPECT_EQ(Fault(large + "}"), "bad-json: an object has two members 'k7' [m.json]");
}

TEST(JsonParseTest, RefusesDeepNesting) {
  EXPECT_EQ(Fault(std::string(100000, '[') + std::string(100000, ']')),
            "bad-json: values are nested deeper than 1024 [m.json]");
  Sink sink;
  EXPECT_TRUE(JsonDocument::Parse(std::string(1000, '[') + std::string(1000, ']'), {}, sink));
}

TEST(JsonParseTest, FindsPointersInLargeArraysOfLargeObjects) {
  std::string text = "[";
  for (int i = 0; i < 20000; ++i) text += R"({"name": "node", "inputs": [1, 2, {"as_int": 3}]},)";
  text += "{\"last\": [0, true]}]";
  Sink sink;
  auto document = JsonDocument::Parse(text, {}, sink);
  ASSERT_TRUE(document);
  JsonValue last = document->root();
  for (const JsonValue element : document->root().elements()) last = element;
  for (const JsonValue element : last.Get("last")->elements()) last = element;
  EXPECT_EQ(last.Pointer(), "/20000/last/1");
}

}  // namespace
}  // namespace flambeau
