#include <set>

#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

std::string Seeded(std::string_view text, std::optional<uint64_t> seed, int opset = 20) {
  Context context;
  Sink sink;
  PassContext pass_context{sink};
  pass_context.opset = opset;
  pass_context.seed = seed;
  auto graph = ParseGraph(text, context, sink);
  if (!graph || !SeedDraws(*graph, pass_context) || !VerifyGraph(*graph, sink)) return sink.diagnostics().front().message;
  return PrintGraph(*graph);
}

// As it is printed.
std::string FirstSeed(const std::string& text) {
  const size_t begin = text.find("seed=") + 5;
  return text.substr(begin, text.find_first_of(",)", begin) - begin);
}

std::vector<double> SeedsIn(const std::string& text) {
  static constexpr std::string_view kKey = "seed=";
  std::vector<double> seeds;
  for (size_t at = text.find(kKey); at != text.npos; at = text.find(kKey, at + 1)) seeds.push_back(std::stod(text.substr(at + kKey.size())));
  return seeds;
}

// Draws in the graph, in two loops alike, and in both branches.
constexpr std::string_view kDraws = R"(graph(%x: f32[4], %n: i64[], %go: bool[]) {
  const %half: f32[] = [0.5]
  const %train: bool[] = [True]
  const %rest: bool[] = [False]
  %a: f32[4] = RandomNormal(shape=[4])
  %b: f32[4] = RandomNormal(shape=[4])
  %c: f32[4] = RandomUniformLike(%x)
  %d: f32[4] = Bernoulli(%x)
  %e: f32[4], %mask: bool[4] = Dropout(%x, %half, %train)
  %f: f32[4] = Dropout(%x, %half, %rest)
  %g: f32[4] = Dropout(%x)
  %h: f32[4] = Loop(%n, %go, %x, body=(%i: i64[], %p: bool[], %s: f32[4]) {
    %t: f32[4] = RandomUniform(shape=[4])
    return %p, %t
  })
  %k: f32[4] = Loop(%n, %go, %x, body=(%i1: i64[], %p1: bool[], %s1: f32[4]) {
    %t1: f32[4] = RandomUniform(shape=[4])
    return %p1, %t1
  })
  %l: f32[4] = If(%go, then_branch=() {
    %u: f32[4] = RandomNormalLike(%x)
    return %u
  }, else_branch=() {
    %v: f32[4] = RandomNormalLike(%x)
    return %v
  })
  return %a, %b, %c, %d, %e, %mask, %f, %g, %h, %k, %l
}
)";

TEST(SeedDraws, EachDrawHasItsOwn) {
  const std::string text = Seeded(kDraws, 7);
  const std::vector<double> seeds = SeedsIn(text);
  EXPECT_EQ(seeds.size(), 9u) << text;
  EXPECT_EQ(std::set<double>(seeds.begin(), seeds.end()).size(), seeds.size()) << text;
  for (const double seed : seeds) {
    EXPECT_EQ(seed, static_cast<float>(seed));
    EXPECT_EQ(seed, static_cast<double>(static_cast<int64_t>(seed)));
    EXPECT_GE(seed, 1);
    EXPECT_LE(seed, 1 << 24);
  }
}

TEST(SeedDraws, FollowFromTheModelsSeed) {
  EXPECT_EQ(Seeded(kDraws, 7), Seeded(kDraws, 7));
  std::set<double> all;
  const std::vector<uint64_t> keys = {0, 1, 2, 7, 1u << 24, uint64_t{1} << 32, UINT64_MAX};
  for (const uint64_t key : keys)
    for (const double seed : SeedsIn(Seeded(kDraws, key))) all.insert(seed);
  EXPECT_EQ(all.size(), 9 * keys.size());
}

TEST(SeedDraws, ManyDrawsShareNone) {
  std::string text = "graph() {\n";
  constexpr int kCount = 5000;
  for (int i = 0; i < kCount; ++i) text += "  %v" + std::to_string(i) + ": f32[1] = RandomUniform(shape=[1])\n";
  text += "  return %v0\n}\n";
  const std::vector<double> seeds = SeedsIn(Seeded(text, 0));
  EXPECT_EQ(std::set<double>(seeds.begin(), seeds.end()).size(), size_t{kCount});
  // Scattered: about half of them in the upper half.
  EXPECT_NEAR(static_cast<double>(std::ranges::count_if(seeds, [](double seed) { return seed > 1 << 23; })), kCount / 2.0, 200);
}

TEST(SeedDraws, WithoutASeedNothingChanges) {
  EXPECT_EQ(Seeded(kDraws, std::nullopt), kDraws);
}

TEST(SeedDraws, AGivenSeedStays) {
  const std::string text = Seeded("graph() {\n  %y: f32[2] = RandomUniform(shape=[2], seed=3.0)\n  return %y\n}\n", 1);
  EXPECT_EQ(SeedsIn(text), std::vector<double>{3.0}) << text;
}

// Float for what draws real numbers, int for Dropout; and Dropout has had one since 12.
TEST(SeedDraws, AreOfTheTypeThatTheOperatorHas) {
  constexpr std::string_view kDropout = "graph(%x: f32[2], %r: f32[], %t: bool[]) {\n  %y: f32[2] = Dropout(%x, %r, %t)\n  return %y\n}\n";
  EXPECT_EQ(FirstSeed(Seeded(kDropout, 1, 12)).find_first_not_of("0123456789"), std::string::npos);
  EXPECT_EQ(Seeded(kDropout, 1, 11), kDropout);
  constexpr std::string_view kNormal = "graph() {\n  %y: f32[2] = RandomNormal(shape=[2])\n  return %y\n}\n";
  EXPECT_TRUE(FirstSeed(Seeded(kNormal, 1, 7)).ends_with(".0"));
}

}  // namespace
}  // namespace flambeau
