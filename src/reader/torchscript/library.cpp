#include "reader/torchscript/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "container/quote.h"
#include "reader/torchscript/numbers.h"
#include "reader/torchscript/types.h"

namespace flambeau::torchscript {
namespace {

// Deeper than any type that PyTorch writes.
constexpr size_t kMaxCopiedBytes = size_t{256} << 20;
constexpr int kMaxLiteralDepth = 64;

constexpr std::pair<std::string_view, TypeKind> kWords[] = {
    {"Tensor", TypeKind::kTensor},   {"int", TypeKind::kInt},         {"float", TypeKind::kFloat},
    {"bool", TypeKind::kBool},       {"complex", TypeKind::kComplex}, {"number", TypeKind::kNumber},
    {"Scalar", TypeKind::kNumber},   {"str", TypeKind::kString},      {"Device", TypeKind::kDevice},
    {"NoneType", TypeKind::kNone},   {"Any", TypeKind::kAny},         {"Generator", TypeKind::kGenerator},
    {"list", TypeKind::kList},       {"Function", TypeKind::kFunction},
};

// How many arguments `Word[…]` takes; 0 for any number.
constexpr struct {
  std::string_view word;
  TypeKind kind;
  size_t arguments;
} kGenerics[] = {
    {"Optional", TypeKind::kOptional, 1}, {"List", TypeKind::kList, 1},      {"Dict", TypeKind::kDict, 2},
    {"Tuple", TypeKind::kTuple, 0},       {"Union", TypeKind::kUnion, 0},    {"Future", TypeKind::kFuture, 1},
    {"RRef", TypeKind::kFuture, 1},       {"Await", TypeKind::kFuture, 1},
};

constexpr std::pair<std::string_view, ClassKind> kBases[] = {
    {"Module", ClassKind::kModule},       {"NamedTuple", ClassKind::kNamedTuple},    {"Enum", ClassKind::kEnum},
    {"Interface", ClassKind::kInterface}, {"ModuleInterface", ClassKind::kInterface},
};

std::pair<std::string_view, std::string_view> SplitName(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return {{}, name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

TypePtr TypeOfConstant(const Constant& constant) {
  if (std::holds_alternative<int64_t>(constant.value)) return IntType();
  if (std::holds_alternative<double>(constant.value)) return FloatType();
  if (std::holds_alternative<std::string>(constant.value)) return StringType();
  return AnyType();
}

}  // namespace

std::string QualifiedName(const Syntax& syntax, ExprId expr) {
  std::string name;
  while (syntax[expr].kind == ExprKind::kAttribute) {
    name.insert(0, "." + std::string(syntax[expr].text));
    expr = syntax[expr].operands[0];
  }
  if (syntax[expr].kind != ExprKind::kName) return {};
  return std::string(syntax[expr].text) + name;
}

const ClassField* ClassInfo::Find(std::string_view field) const {
  const auto found = places.find(field);
  return found == places.end() ? nullptr : &fields[found->second];
}

void ClassInfo::Add(ClassField field) {
  places.try_emplace(field.name, fields.size());
  fields.push_back(std::move(field));
}

Result<const Library::File*> Library::FileOf(std::string_view module) {
  if (const auto found = files_.find(module); found != files_.end()) return &found->second;
  FLAMBEAU_TRY(std::shared_ptr<const SourceFile> source, code_.Load(module, sink_));
  File file;
  if (source) {
    FLAMBEAU_TRY(file.syntax, Parse(std::move(source), sink_));
    FLAMBEAU_CHECK_OK(Index(&file, std::string(module)));
  }
  return &files_.emplace(module, std::move(file)).first->second;
}

Status Library::Index(File* file, const std::string& module) {
  for (const StmtId id : file->syntax->body) {
    const Stmt& stmt = (*file->syntax)[id];
    switch (stmt.kind) {
      case StmtKind::kDef: {
        const std::string_view name = (*file->syntax)[stmt.def].name;
        const std::string qualified = fmt::format("{}.{}", module, name);
        file->functions.try_emplace(std::string(name), FunctionInfo{qualified, file->syntax.get(), stmt.def});
        break;
      }
      case StmtKind::kClass: FLAMBEAU_CHECK_OK(IndexClass(file, module, stmt)); break;
      case StmtKind::kImport:
      case StmtKind::kAssign: break;  // "op_version_set = 1"
      default:
        return file->syntax->source->Error(stmt.begin, "expected the definition of a function or class", sink_);
    }
  }
  return {};
}

namespace {

// torch 1.4 declares no fields of classes: they are what __init__ assigns.
void AddAssignedFields(ClassInfo* info) {
  const auto init = info->methods.find("__init__");
  if (init == info->methods.end()) return;
  const Syntax& syntax = *info->syntax;
  for (const StmtId id : syntax[init->second].body) {
    const Stmt& stmt = syntax[id];
    if (stmt.kind != StmtKind::kAssign || stmt.targets.size() != 1 || !stmt.value) continue;
    const Expr& target = syntax[stmt.targets[0]];
    if (target.kind != ExprKind::kAttribute || syntax[target.operands[0]].text != "self") continue;
    if (info->Find(target.text) == nullptr) info->Add({std::string(target.text), {}, {}, nullptr});
  }
}

}  // namespace

Status Library::IndexClass(File* file, const std::string& module, const Stmt& stmt) {
  const Syntax& syntax = *file->syntax;
  ClassInfo info;
  info.name = fmt::format("{}.{}", module, stmt.text);
  info.syntax = file->syntax.get();
  if (stmt.value) {
    const std::string base = QualifiedName(syntax, stmt.value);
    const auto* known = std::find_if(std::begin(kBases), std::end(kBases), [&](const auto& each) { return each.first == base; });
    if (known == std::end(kBases))
      return syntax.source->Error(stmt.begin, fmt::format("the class {} has a base that is not known", Quote(stmt.text)),
                                  sink_);
    info.kind = known->second;
  }
  for (const StmtId id : stmt.body) FLAMBEAU_CHECK_OK(IndexMember(&info, syntax, syntax[id]));
  if (info.kind == ClassKind::kClass && info.fields.empty()) AddAssignedFields(&info);
  file->classes.try_emplace(std::string(stmt.text), std::move(info));
  return {};
}

Status Library::IndexMember(ClassInfo* info, const Syntax& syntax, const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::kPass: return {};
    case StmtKind::kDef: info->methods.try_emplace(std::string(syntax[stmt.def].name), stmt.def); return {};
    case StmtKind::kDeclare:
    case StmtKind::kAssign: break;
    default: return syntax.source->Error(stmt.begin, "this statement has no meaning in a class", sink_);
  }
  const Expr& target = syntax[stmt.targets[0]];
  if (target.kind == ExprKind::kSubscript) {  // __annotations__["0"] = T
    if (QualifiedName(syntax, target.operands[0]) == "__annotations__" && target.operands.size() == 2 &&
        syntax[target.operands[1]].kind == ExprKind::kString && stmt.value) {
      info->Add({std::string(syntax[target.operands[1]].text), stmt.value, {}, nullptr});
      return {};
    }
    return syntax.source->Error(stmt.begin, "this statement has no meaning in a class", sink_);
  }
  if (target.kind != ExprKind::kName)
    return syntax.source->Error(stmt.begin, "this statement has no meaning in a class", sink_);
  const auto take = [&](auto& names) -> Status {
    if (!stmt.value) return {};
    for (const ExprId name : syntax[stmt.value].operands) names.insert(names.end(), std::string(syntax[name].text));
    return {};
  };
  if (target.text == "__parameters__") return take(info->parameters);
  if (target.text == "__buffers__") return take(info->buffers);
  if (target.text == "__forward_hooks__") return take(info->forward_hooks);
  if (target.text == "__forward_pre_hooks__") return take(info->forward_pre_hooks);
  if (target.text.starts_with("__") && target.text.ends_with("__")) return {};
  info->Add({std::string(target.text), stmt.annotation, stmt.value, nullptr});
  return {};
}

Result<const ClassInfo*> Library::FindClass(std::string_view name) {
  const auto [module, last] = SplitName(name);
  FLAMBEAU_TRY(const File* file, FileOf(module));
  const auto found = file->classes.find(last);
  return found == file->classes.end() ? nullptr : &found->second;
}

Result<const FunctionInfo*> Library::FindFunction(std::string_view name) {
  const auto [module, last] = SplitName(name);
  FLAMBEAU_TRY(const File* file, FileOf(module));
  const auto found = file->functions.find(last);
  return found == file->functions.end() ? nullptr : &found->second;
}

Result<const FunctionInfo*> Library::FindMethod(std::string_view class_name, std::string_view method) {
  FLAMBEAU_TRY(const ClassInfo* info, FindClass(class_name));
  if (info == nullptr) return nullptr;
  const auto found = info->methods.find(method);
  if (found == info->methods.end()) return nullptr;
  std::string name = fmt::format("{}.{}", class_name, method);
  const FunctionInfo function = {name, info->syntax, found->second};
  return &methods_.try_emplace(std::move(name), function).first->second;
}

Result<TypePtr> Library::TypeOf(const ClassInfo& info, int depth) {
  if (info.type) return info.type;
  auto type = std::make_shared<Type>();
  type->name = info.name;
  switch (info.kind) {
    case ClassKind::kModule:
    case ClassKind::kClass: type->kind = TypeKind::kClass; break;
    case ClassKind::kInterface: type->kind = TypeKind::kInterface; break;
    case ClassKind::kEnum: {
      type->kind = TypeKind::kEnum;
      TypePtr element = AnyType();
      if (!info.fields.empty() && info.fields[0].value) {
        FLAMBEAU_TRY(const Constant value, Literal(*info.syntax, info.fields[0].value));
        element = TypeOfConstant(value);
      }
      type->elements.push_back(std::move(element));
      break;
    }
    case ClassKind::kNamedTuple:
      type->kind = TypeKind::kTuple;
      for (const ClassField& field : info.fields) {
        TypePtr element = TensorType();
        if (field.annotation) {
          FLAMBEAU_TRY(element, Resolve(*info.syntax, field.annotation, depth + 1));
        }
        type->elements.push_back(std::move(element));
        type->fields.push_back(field.name);
      }
      break;
  }
  info.type = std::move(type);
  return info.type;
}

Result<TypePtr> Library::Resolve(const Syntax& syntax, ExprId annotation, int depth) {
  const Expr& expr = syntax[annotation];
  if (depth > kMaxTypeDepth)
    return syntax.source->Error(DiagnosticKind::kLimitExceeded, expr.begin,
                                fmt::format("a type is nested more than {} deep", kMaxTypeDepth), sink_);
  switch (expr.kind) {
    case ExprKind::kNone: return NoneType();
    case ExprKind::kSubscript: return ResolveGeneric(syntax, expr, depth);
    case ExprKind::kName:
      for (const auto& [word, kind] : kWords)
        if (expr.text == word) return Type::Of(kind);
      if (expr.text == "Tuple" || expr.text == "tuple") return TupleOf({});
      // Objects that only PyTorch's runtime knows.
      if (expr.text == "Stream" || expr.text == "Storage" || expr.text == "QScheme" || expr.text == "AnyClassType")
        return NamedType(TypeKind::kClass, expr.text == "AnyClassType" ? "" : std::string(expr.text));
      break;
    case ExprKind::kAttribute: {
      const std::string name = QualifiedName(syntax, annotation);
      if (name.starts_with("__torch__.torch.classes.")) return NamedType(TypeKind::kClass, name);
      if (name.empty()) break;
      FLAMBEAU_TRY(const ClassInfo* info, FindClass(name));
      if (info != nullptr) return TypeOf(*info, depth + 1);
      break;
    }
    default: break;
  }
  return syntax.source->Error(
      expr.begin,
      fmt::format("the type {} is not known", Quote(std::string_view(syntax.source->text).substr(expr.begin, expr.end - expr.begin))),
      sink_);
}

Result<TypePtr> Library::ResolveGeneric(const Syntax& syntax, const Expr& expr, int depth) {
  const std::string word = QualifiedName(syntax, expr.operands[0]);
  if (word == "Final" && expr.operands.size() == 2) return Resolve(syntax, expr.operands[1], depth + 1);
  const auto* generic = std::find_if(std::begin(kGenerics), std::end(kGenerics), [&](const auto& each) { return each.word == word; });
  if (generic == std::end(kGenerics))
    return syntax.source->Error(expr.begin, fmt::format("the type {} is not known", Quote(word)), sink_);
  std::vector<TypePtr> elements;
  for (size_t i = 1; i < expr.operands.size(); ++i) {
    const Expr& operand = syntax[expr.operands[i]];
    // "Tuple[()]" has no elements.
    if (operand.kind == ExprKind::kTuple && operand.operands.empty() && generic->kind == TypeKind::kTuple) continue;
    FLAMBEAU_TRY(TypePtr element, Resolve(syntax, expr.operands[i], depth + 1));
    elements.push_back(std::move(element));
  }
  if (generic->arguments != 0 && elements.size() != generic->arguments)
    return syntax.source->Error(expr.begin, fmt::format("{} takes {} types, not {}", word, generic->arguments, elements.size()),
                                sink_);
  if (generic->kind == TypeKind::kOptional) return OptionalOf(elements[0]);
  return Type::Of(generic->kind, std::move(elements));
}

Result<TypePtr> Library::ParseType(std::string_view text, const Location& where) {
  auto source = std::make_shared<SourceFile>(SourceFile{std::string(text), std::string(text), where});
  FLAMBEAU_TRY(std::unique_ptr<Syntax> syntax, Parse(std::move(source), sink_));
  if (syntax->body.size() != 1 || (*syntax)[syntax->body[0]].kind != StmtKind::kExpression)
    return syntax->source->Error(0, fmt::format("{} is no type", Quote(text)), sink_);
  FLAMBEAU_TRY(TypePtr type, Resolve(*syntax, (*syntax)[syntax->body[0]].value));
  return type;
}

Result<const Signature*> Library::SignatureOf(const FunctionInfo& function) {
  if (const auto found = signatures_.find(function.name); found != signatures_.end()) return &found->second;
  const Syntax& syntax = *function.syntax;
  const Def& def = syntax[function.def];
  Signature signature;
  signature.name = function.name;
  for (const Parameter& parameter : def.parameters) {
    FormalArgument formal;
    formal.name = parameter.name;
    formal.type = TensorType();
    if (parameter.annotation) {
      FLAMBEAU_TRY(formal.type, Resolve(syntax, parameter.annotation));
    } else if (parameter.name == "self") {  // of an interface
      FLAMBEAU_TRY(const ClassInfo* owner, FindClass(SplitName(function.name).first));
      if (owner != nullptr) {
        FLAMBEAU_TRY(formal.type, TypeOf(*owner));
      }
    }
    if (parameter.default_value) {
      FLAMBEAU_TRY(formal.default_value, Literal(syntax, parameter.default_value));
    }
    signature.arguments.push_back(std::move(formal));
  }
  TypePtr result = TensorType();
  if (def.result) {
    FLAMBEAU_TRY(result, Resolve(syntax, def.result));
  }
  signature.results.push_back({"", std::move(result)});
  return &signatures_.emplace(function.name, std::move(signature)).first->second;
}

namespace {

// About as much memory as it takes. Constants nest no deeper than their readers let them.
size_t BytesOf(const Constant& constant) {
  const auto of_all = [](const std::vector<Constant>& all) {
    size_t bytes = 0;
    for (const Constant& each : all) bytes += BytesOf(each);
    return bytes;
  };
  size_t bytes = sizeof(Constant);
  if (const auto* text = std::get_if<std::string>(&constant.value)) bytes += text->size();
  if (const auto* list = std::get_if<ListConstant>(&constant.value)) bytes += of_all(list->elements);
  if (const auto* tuple = std::get_if<TupleConstant>(&constant.value)) bytes += of_all(tuple->elements);
  if (const auto* dict = std::get_if<DictConstant>(&constant.value))
    for (const DictEntry& entry : dict->entries) bytes += BytesOf(entry.key) + BytesOf(entry.value);
  return bytes;
}

}  // namespace

Status Library::Charge(const Constant& constant) {
  copied_bytes_ += BytesOf(constant);
  if (copied_bytes_ <= kMaxCopiedBytes) return {};
  return sink_.Error(DiagnosticKind::kLimitExceeded, fmt::format("the constants that code names take more than {} MB", kMaxCopiedBytes >> 20));
}

const TypedConstant* Library::FindConstant(std::string_view name) const {
  size_t index = 0;
  const auto [end, error] = std::from_chars(name.data() + std::min<size_t>(1, name.size()), name.data() + name.size(), index);
  const bool is_name = name.starts_with('c') && error == std::errc() && end == name.data() + name.size();
  return is_name && index < constants_.size() ? &constants_[index] : nullptr;
}

Result<std::vector<Constant>> Library::Elements(const Syntax& syntax, ExprId literal, int depth) {
  std::vector<Constant> values;
  for (const ExprId operand : syntax[literal].operands) {
    FLAMBEAU_TRY(Constant value, Literal(syntax, operand, depth + 1));
    values.push_back(std::move(value));
  }
  return values;
}

// annotate(List[int], []), torch.device("cpu")
Result<Constant> Library::AppliedLiteral(const Syntax& syntax, ExprId literal, int depth) {
  const Expr& expr = syntax[literal];
  const std::string callee = QualifiedName(syntax, expr.operands[0]);
  if (callee == "annotate" && expr.operands.size() == 3) return Literal(syntax, expr.operands[2], depth + 1);
  if (callee == "torch.device" && expr.operands.size() == 2 && syntax[expr.operands[1]].kind == ExprKind::kString)
    return Constant{DeviceConstant{std::string(syntax[expr.operands[1]].text)}};
  return IsNoLiteral(syntax, literal);
}

// __torch__.Color.RED, CONSTANTS.c0
Result<Constant> Library::QualifiedLiteral(const Syntax& syntax, ExprId literal, int depth) {
  const std::string qualified = QualifiedName(syntax, literal);
  const auto [class_name, member] = SplitName(qualified);
  const std::string owner(class_name), name(member);
  if (owner.empty()) return IsNoLiteral(syntax, literal);
  if (owner == "CONSTANTS") {
    const TypedConstant* constant = FindConstant(name);
    return constant != nullptr ? Result<Constant>(constant->value) : IsNoLiteral(syntax, literal);
  }
  FLAMBEAU_TRY(const ClassInfo* info, FindClass(owner));
  const ClassField* field = info != nullptr && info->kind == ClassKind::kEnum ? info->Find(name) : nullptr;
  if (field == nullptr || !field->value) return IsNoLiteral(syntax, literal);
  const ExprKind kind = (*info->syntax)[field->value].kind;
  if (kind == ExprKind::kAttribute || kind == ExprKind::kList || kind == ExprKind::kTuple)  // they are numbers and text
    return IsNoLiteral(*info->syntax, field->value);
  FLAMBEAU_TRY(Constant value, Literal(*info->syntax, field->value, depth + 1));
  return Constant{EnumConstant{owner, name, std::make_shared<const Constant>(std::move(value))}};
}

Failure Library::IsNoLiteral(const Syntax& syntax, ExprId literal) {
  const Expr& expr = syntax[literal];
  const std::string_view text = std::string_view(syntax.source->text).substr(expr.begin, expr.end - expr.begin);
  return syntax.source->Error(expr.begin, fmt::format("{} is no literal", Quote(text)), sink_);
}

Result<Constant> Library::Literal(const Syntax& syntax, ExprId literal, int depth) {
  const Expr& expr = syntax[literal];
  if (depth > kMaxLiteralDepth)
    return syntax.source->Error(DiagnosticKind::kLimitExceeded, expr.begin, "a literal is nested too deep", sink_);
  switch (expr.kind) {
    case ExprKind::kNone: return Constant{};
    case ExprKind::kTrue: return Constant{true};
    case ExprKind::kFalse: return Constant{false};
    case ExprKind::kString: return Constant{std::string(expr.text)};
    case ExprKind::kName:
      if (expr.text == "inf") return Constant{HUGE_VAL};
      if (expr.text == "nan") return Constant{std::nan("")};
      break;
    case ExprKind::kNumber:
      if (std::optional<Constant> number = ParseNumber(expr.text, false)) return *std::move(number);
      break;
    case ExprKind::kUnary: {
      const Expr& positive = syntax[expr.operands[0]];
      if (expr.text != "-") break;
      if (positive.kind != ExprKind::kNumber && positive.text == "inf") return Constant{-HUGE_VAL};
      if (positive.kind != ExprKind::kNumber) break;
      if (std::optional<Constant> number = ParseNumber(positive.text, true)) return *std::move(number);
      break;
    }
    case ExprKind::kList: {
      FLAMBEAU_TRY(std::vector<Constant> values, Elements(syntax, literal, depth));
      return Constant{ListConstant{std::move(values)}};
    }
    case ExprKind::kTuple: {
      FLAMBEAU_TRY(std::vector<Constant> values, Elements(syntax, literal, depth));
      return Constant{TupleConstant{std::move(values)}};
    }
    case ExprKind::kDict: {
      FLAMBEAU_TRY(std::vector<Constant> values, Elements(syntax, literal, depth));
      DictConstant dict;
      for (size_t i = 0; i + 1 < values.size(); i += 2)
        dict.entries.push_back({std::move(values[i]), std::move(values[i + 1])});
      return Constant{std::move(dict)};
    }
    case ExprKind::kApply: return AppliedLiteral(syntax, literal, depth);
    case ExprKind::kAttribute: return QualifiedLiteral(syntax, literal, depth);
    default: break;
  }
  return IsNoLiteral(syntax, literal);
}

}  // namespace flambeau::torchscript
