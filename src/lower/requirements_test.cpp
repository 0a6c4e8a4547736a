#include "lower/requirements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "aten/library_schemas.h"
#include "aten/schema.h"

namespace flambeau::lower {
namespace {

// The names of the arguments of all overloads of an operator.
std::map<std::string, std::set<std::string_view>> ArgumentsByOperator() {
  std::map<std::string, std::set<std::string_view>> all;
  auto add = [&all](std::string_view text) {
    const auto schema = aten::ParseSchema(text);
    if (!schema || !schema->base.starts_with("aten::")) return;
    for (const auto& argument : schema->arguments) all[std::string(schema->base.substr(6))].insert(argument.name);
  };
  std::ranges::for_each(aten::TorchSchemaTexts(), add);
  std::ranges::for_each(aten::LibrarySchemaTexts(), add);
  return all;
}

std::vector<std::string> Words(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(Requirements, AreOfOperatorsAndArgumentsThatThereAre) {
  const auto known = ArgumentsByOperator();
  for (const Requirement& requirement : Requirements()) {
    std::set<std::string> unused;
    for (const std::string& name : Words(requirement.argument)) unused.insert(name);
    for (const std::string& op : Words(requirement.operators)) {
      const auto found = known.find(op);
      ASSERT_NE(found, known.end()) << op;
      bool any = false;
      for (const std::string& name : Words(requirement.argument)) {
        if (!found->second.contains(name)) continue;
        any = true;
        unused.erase(name);
      }
      EXPECT_TRUE(any) << op << " has no argument " << requirement.argument;
      const bool has_other = requirement.other.empty() || found->second.contains(requirement.other);
      EXPECT_TRUE(has_other) << op << " has no argument " << requirement.other;
    }
    EXPECT_TRUE(unused.empty()) << requirement.operators << ": " << (unused.empty() ? "" : *unused.begin());
  }
}

}  // namespace
}  // namespace flambeau::lower
