#include "script/enum_members.h"

#include "script/evaluator.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Constant;
using torchscript::Node;

namespace {

template <class F>
void ForEachMember(const Constant& constant, F found) {
  std::vector<const Constant*> pending = {&constant};
  while (!pending.empty()) {
    const Constant& each = *pending.back();
    pending.pop_back();
    if (const auto* member = std::get_if<torchscript::EnumConstant>(&each.value)) found(*member);
    if (const auto* list = std::get_if<torchscript::ListConstant>(&each.value))
      for (const Constant& element : list->elements) pending.push_back(&element);
    if (const auto* tuple = std::get_if<torchscript::TupleConstant>(&each.value))
      for (const Constant& element : tuple->elements) pending.push_back(&element);
    if (const auto* dict = std::get_if<torchscript::DictConstant>(&each.value))
      for (const auto& [key, value] : dict->entries) pending.insert(pending.end(), {&key, &value});
  }
}

}  // namespace

const EnumMembers::Members& EnumMembers::All() {
  if (members_) return *members_;
  members_.emplace();
  const auto add = [&](const torchscript::EnumConstant& constant) {
    const EnumVal member{std::make_shared<const torchscript::EnumConstant>(constant)};
    members_->try_emplace(emit_.NumberOf(member), member);
  };
  for (const std::optional<Constant>& each : source_.defaults)
    if (each) ForEachMember(*each, add);
  for (const torchscript::Object& object : source_.objects)
    for (const torchscript::ObjectAttribute& attribute : object.attributes) ForEachMember(attribute.value, add);
  std::vector<const Block*> pending = {source_.main};
  while (!pending.empty()) {
    const Block& block = *pending.back();
    pending.pop_back();
    for (const Node* node : block.nodes) {
      pending.insert(pending.end(), node->blocks.begin(), node->blocks.end());
      if (const Constant* value = node->kind == "prim::Constant" ? node->Find("value") : nullptr) ForEachMember(*value, add);
    }
  }
  return *members_;
}

Vals EnumMembers::ThatMayBe(const torchscript::Type* type, NumberVal number) {
  const std::string_view name = type != nullptr && type->kind == torchscript::TypeKind::kEnum ? std::string_view(type->name) : std::string_view();
  const Type& known = emit_.TypeOf(number.id);
  const bool has_expr = known.contents && !known.contents->empty();
  Vals members;
  for (const auto& [each, member] : All())
    if ((name.empty() || member.constant->class_name == name) && (!has_expr || emit_.facts().MayBe(known.contents->front(), each)))
      members.push_back(member);
  return members;
}

// The value or the name of a member that is known at run time only: that of each member that it may be, on a path for each.
// What then differs between the paths is text often, so that what follows is walked on each by itself.
//   if number < that of the middle one: y = that of the ones before it, else: y = that of the others
Result<const Node*> Evaluator::BranchOnMember(const Node& node, const Val& number) {
  const Vals members = enum_members_.ThatMayBe(node.inputs[0]->type.get(), *number.As<NumberVal>());
  if (members.empty()) return sink_.Error(DiagnosticKind::kBadProgram, "asks an enum that has no members");
  const auto branch = [&](const auto& self, std::span<const Val> among) -> Result<Node*> {
    Block* block = added_.AddBlock();
    if (among.size() == 1) {
      Node* ask = added_.AppendFor(node, block, node.kind, node.overload, {NameOf(among[0])});
      block->outputs = ask->outputs;
      return ask;
    }
    const auto before = among.first(among.size() / 2), others = among.subspan(among.size() / 2);
    FLAMBEAU_TRY(Val is_before, emitter_.Call1("_operator::lt", {number, emitter_.NumberOf(*others[0].As<EnumVal>())}));
    Node* made = added_.AppendFor(node, block, "prim::If", "", {NameOf(std::move(is_before))});
    for (const auto part : {before, others}) {
      FLAMBEAU_TRY(const Node* inner, self(self, part));
      made->blocks.push_back(inner->owner);
    }
    block->outputs = made->outputs;
    return made;
  };
  FLAMBEAU_TRY(Node* root, branch(branch, members));
  root->outputs = node.outputs;
  return root;
}

}  // namespace flambeau::script
