#include "reader/torchscript/types.h"

#include <algorithm>
#include <utility>

namespace flambeau::torchscript {
namespace {

bool AllEqual(const std::vector<TypePtr>& a, const std::vector<TypePtr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TypePtr& x, const TypePtr& y) { return Equal(*x, *y); });
}

// Takes its parts from those that are left.
bool TakeParts(const Type& type, size_t& left, int depth) {
  if (left == 0 || depth > kMaxTypeDepth) return false;
  --left;
  return !type.name.empty() || std::ranges::all_of(type.elements, [&](const TypePtr& each) { return TakeParts(*each, left, depth + 1); });
}

bool IsNumber(TypeKind kind) {
  return kind == TypeKind::kInt || kind == TypeKind::kFloat || kind == TypeKind::kComplex || kind == TypeKind::kNumber;
}

}  // namespace

#define FLAMBEAU_SINGLE_TYPE(function, kind)                           \
  TypePtr function() {                                                 \
    static const TypePtr type = Type::Of(TypeKind::kind);              \
    return type;                                                       \
  }
FLAMBEAU_SINGLE_TYPE(TensorType, kTensor)
FLAMBEAU_SINGLE_TYPE(IntType, kInt)
FLAMBEAU_SINGLE_TYPE(FloatType, kFloat)
FLAMBEAU_SINGLE_TYPE(BoolType, kBool)
FLAMBEAU_SINGLE_TYPE(StringType, kString)
FLAMBEAU_SINGLE_TYPE(NoneType, kNone)
FLAMBEAU_SINGLE_TYPE(AnyType, kAny)
#undef FLAMBEAU_SINGLE_TYPE

TypePtr ListOf(TypePtr element) { return Type::Of(TypeKind::kList, {std::move(element)}); }
TypePtr OptionalOf(TypePtr element) {
  if (IsKind(element, TypeKind::kOptional)) return element;
  return Type::Of(TypeKind::kOptional, {std::move(element)});
}
TypePtr TupleOf(std::vector<TypePtr> elements) { return Type::Of(TypeKind::kTuple, std::move(elements)); }
TypePtr NamedType(TypeKind kind, std::string name) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->name = std::move(name);
  return type;
}

bool IsKind(const TypePtr& type, TypeKind kind) { return type->kind == kind; }

const TypePtr& Unwrap(const TypePtr& type) { return IsKind(type, TypeKind::kOptional) ? type->elements[0] : type; }

bool IsBounded(const Type& type) {
  size_t left = kMaxTypeParts;
  return TakeParts(type, left, 0);
}

bool Equal(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.name != b.name || a.elements.size() != b.elements.size()) return false;
  if (a.kind == TypeKind::kUnion) {  // in any order
    return std::all_of(a.elements.begin(), a.elements.end(), [&](const TypePtr& x) {
      return std::any_of(b.elements.begin(), b.elements.end(), [&](const TypePtr& y) { return Equal(*x, *y); });
    });
  }
  return AllEqual(a.elements, b.elements);
}

bool IsSubtype(const Type& type, const Type& wanted) {
  if (wanted.kind == TypeKind::kAny || Equal(type, wanted)) return true;
  if (type.kind == TypeKind::kUnion)
    return std::all_of(type.elements.begin(), type.elements.end(),
                       [&](const TypePtr& each) { return IsSubtype(*each, wanted); });
  if (type.kind == TypeKind::kOptional)
    return IsSubtype(*type.elements[0], wanted) && IsSubtype(*NoneType(), wanted);
  switch (wanted.kind) {
    case TypeKind::kOptional: return type.kind == TypeKind::kNone || IsSubtype(type, *wanted.elements[0]);
    case TypeKind::kUnion:
      return std::any_of(wanted.elements.begin(), wanted.elements.end(),
                         [&](const TypePtr& each) { return IsSubtype(type, *each); });
    case TypeKind::kNumber: return IsNumber(type.kind);
    case TypeKind::kTensor: return type.kind == TypeKind::kTensor;
    case TypeKind::kTuple:
      // A NamedTuple is a tuple; it is no other NamedTuple.
      return type.kind == TypeKind::kTuple && (wanted.name.empty() || wanted.name == type.name) &&
             std::equal(type.elements.begin(), type.elements.end(), wanted.elements.begin(), wanted.elements.end(),
                        [](const TypePtr& x, const TypePtr& y) { return IsSubtype(*x, *y); });
    case TypeKind::kFuture: return type.kind == TypeKind::kFuture && IsSubtype(*type.elements[0], *wanted.elements[0]);
    case TypeKind::kList:  // "AnyList" has no element type
      return type.kind == TypeKind::kList && wanted.elements.empty();
    case TypeKind::kEnum: return type.kind == TypeKind::kEnum && wanted.name.empty();
    case TypeKind::kClass: return type.kind == TypeKind::kClass && wanted.name.empty();
    // That the class has the interface's methods was checked when it was saved.
    case TypeKind::kInterface: return type.kind == TypeKind::kClass || type.kind == TypeKind::kInterface;
    default: return false;
  }
}

TypePtr Unify(const TypePtr& a, const TypePtr& b) {
  if (IsSubtype(*a, *b)) return b;
  if (IsSubtype(*b, *a)) return a;
  if (IsKind(a, TypeKind::kNone)) return OptionalOf(b);
  if (IsKind(b, TypeKind::kNone)) return OptionalOf(a);
  if (IsKind(a, TypeKind::kOptional) || IsKind(b, TypeKind::kOptional)) {
    TypePtr element = Unify(Unwrap(a), Unwrap(b));
    return element ? OptionalOf(std::move(element)) : nullptr;
  }
  if (a->kind != b->kind || a->elements.size() != b->elements.size()) return nullptr;
  if (a->kind != TypeKind::kTuple && a->kind != TypeKind::kFuture) return nullptr;
  std::vector<TypePtr> elements;
  for (size_t i = 0; i < a->elements.size(); ++i) {
    TypePtr element = Unify(a->elements[i], b->elements[i]);
    if (!element) return nullptr;
    elements.push_back(std::move(element));
  }
  return Type::Of(a->kind, std::move(elements));
}

bool MatchVariables(const TypePtr& formal, const TypePtr& actual, TypeVariables* variables) {
  if (IsKind(formal, TypeKind::kVariable)) {
    const auto [found, is_new] = variables->try_emplace(formal->name, actual);
    if (is_new) return true;
    TypePtr both = Unify(found->second, actual);
    if (!both) return false;
    found->second = std::move(both);
    return true;
  }
  if (IsKind(formal, TypeKind::kOptional)) {
    if (IsKind(actual, TypeKind::kNone)) return true;  // says nothing; Substitute fails if nothing else does
    return MatchVariables(formal->elements[0], Unwrap(actual), variables);
  }
  if (formal->elements.empty() || !formal->name.empty()) return true;  // classes have no variables
  // A list of a variable takes a tuple of elements that agree.
  if (IsKind(formal, TypeKind::kList) && IsKind(actual, TypeKind::kTuple)) {
    return std::all_of(actual->elements.begin(), actual->elements.end(), [&](const TypePtr& each) {
      return MatchVariables(formal->elements[0], each, variables);
    });
  }
  if (formal->kind != actual->kind || formal->elements.size() != actual->elements.size())
    return true;  // IsSubtype says what is wrong, if anything is
  for (size_t i = 0; i < formal->elements.size(); ++i)
    if (!MatchVariables(formal->elements[i], actual->elements[i], variables)) return false;
  return true;
}

TypePtr Substitute(const TypePtr& formal, const TypeVariables& variables) {
  if (IsKind(formal, TypeKind::kVariable)) {
    const auto found = variables.find(formal->name);
    return found == variables.end() ? nullptr : found->second;
  }
  if (formal->elements.empty() || !formal->name.empty()) return formal;
  bool changed = false;
  std::vector<TypePtr> elements;
  for (const TypePtr& each : formal->elements) {
    TypePtr element = Substitute(each, variables);
    if (!element) return nullptr;
    changed |= element != each;
    elements.push_back(std::move(element));
  }
  if (!changed) return formal;
  auto type = std::make_shared<Type>(*formal);
  type->elements = std::move(elements);
  return type;
}

namespace {

constexpr std::pair<std::string_view, TypeKind> kSchemaWords[] = {
    {"Tensor", TypeKind::kTensor},
    {"int", TypeKind::kInt},
    {"SymInt", TypeKind::kInt},
    {"float", TypeKind::kFloat},
    {"SymFloat", TypeKind::kFloat},
    {"bool", TypeKind::kBool},
    {"SymBool", TypeKind::kBool},
    {"complex", TypeKind::kComplex},
    {"Scalar", TypeKind::kNumber},
    {"number", TypeKind::kNumber},
    {"str", TypeKind::kString},
    {"Device", TypeKind::kDevice},
    {"NoneType", TypeKind::kNone},
    {"None", TypeKind::kNone},
    {"Any", TypeKind::kAny},
    {"Generator", TypeKind::kGenerator},
    // TorchScript has ints for these.
    {"ScalarType", TypeKind::kInt},
    {"Layout", TypeKind::kInt},
    {"MemoryFormat", TypeKind::kInt},
    {"AnyEnumType", TypeKind::kEnum},
    {"AnyClassType", TypeKind::kClass},
};

class SchemaTypeParser {
 public:
  explicit SchemaTypeParser(std::string_view text) : rest_(text) {}

  TypePtr Run() {
    TypePtr type = Parse(0);
    return rest_.empty() ? type : nullptr;
  }

 private:
  void SkipSpaces() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  bool Take(char c) {
    SkipSpaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // "(a!)", "(a -> *)", "(*)": which storage, not which type.
  void SkipAlias() {
    SkipSpaces();
    if (!rest_.starts_with('(')) return;
    const size_t close = rest_.find(')');
    if (close != rest_.npos) rest_.remove_prefix(close + 1);
  }

  TypePtr Parse(int depth) {
    if (depth > kMaxTypeDepth) return nullptr;
    SkipSpaces();
    TypePtr type = rest_.starts_with('(') ? ParseElements(TypeKind::kTuple, depth) : ParseWord(depth);
    while (type) {
      SkipAlias();
      if (Take('?')) {
        type = OptionalOf(type);
      } else if (Take('[')) {
        const size_t close = rest_.find(']');
        if (close == rest_.npos) return nullptr;
        rest_.remove_prefix(close + 1);
        type = ListOf(type);
      } else {
        break;
      }
    }
    return type;
  }

  TypePtr ParseElements(TypeKind kind, int depth) {
    std::vector<TypePtr> elements;
    Take('(');
    while (!Take(')')) {
      TypePtr element = Parse(depth + 1);
      if (!element) return nullptr;
      elements.push_back(std::move(element));
      if (!Take(',') && !rest_.starts_with(')')) return nullptr;
    }
    return Type::Of(kind, std::move(elements));
  }

  TypePtr ParseWord(int depth) {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" ()[]?,"));
    if (word.empty()) return nullptr;
    rest_.remove_prefix(word.size());
    if (word == "Dict") return ParseElements(TypeKind::kDict, depth);
    if (word == "Future" || word == "RRef" || word == "Await") return ParseElements(TypeKind::kFuture, depth);
    for (const auto& [name, kind] : kSchemaWords)
      if (word == name) return Type::Of(kind);
    const bool is_variable = word.starts_with('t') && word.find('.') == word.npos;
    return NamedType(is_variable ? TypeKind::kVariable : TypeKind::kClass, std::string(word));
  }

  std::string_view rest_;
};

}  // namespace

TypePtr ParseSchemaType(std::string_view text) { return SchemaTypeParser(text).Run(); }

}  // namespace flambeau::torchscript
