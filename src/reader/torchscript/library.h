// The code of an archive: its functions and classes by qualified name, found
// and parsed when they are asked for.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "container/zip.h"
#include "reader/torchscript/graph.h"
#include "reader/torchscript/signature.h"
#include "reader/torchscript/syntax.h"

namespace flambeau::torchscript {

enum class ClassKind : uint8_t { kModule, kClass, kNamedTuple, kEnum, kInterface };

struct ClassField {
  std::string name;
  ExprId annotation, value;  // each may be invalid
  mutable TypePtr assigned;  // without an annotation: what the constructor assigns, once it is known
};

struct ClassInfo {
  std::string name;  // "__torch__.model.Net"
  ClassKind kind = ClassKind::kClass;
  const Syntax* syntax = nullptr;
  std::vector<ClassField> fields;  // of an enum: its members
  std::map<std::string, size_t, std::less<>> places;  // of the fields
  std::set<std::string, std::less<>> parameters, buffers;
  std::vector<std::string> forward_pre_hooks, forward_hooks;  // methods that calls of the module run, in order
  std::map<std::string, DefId, std::less<>> methods;
  mutable TypePtr type;  // once it is known
  mutable bool constructor_read = false;

  const ClassField* Find(std::string_view field) const;
  void Add(ClassField field);
};

// A function or method of the archive.
struct FunctionInfo {
  std::string name;  // "__torch__.model.Net.forward"
  const Syntax* syntax = nullptr;
  DefId def;
};

// CONSTANTS.c0 of the archive.
struct TypedConstant {
  Constant value;
  TypePtr type;
};

// Where code comes from: an archive, or a test's text.
class CodeSource {
 public:
  virtual ~CodeSource() = default;
  // The file of a module, "__torch__.torch.nn.modules.linear"; null if there is none.
  virtual Result<std::shared_ptr<const SourceFile>> Load(std::string_view module, Sink& sink) = 0;
};

class Library {
 public:
  Library(CodeSource& code, Sink& sink) : code_(code), sink_(sink) {}
  Library(const Library&) = delete;

  // Null if there is none of that name; a failure if its file is broken.
  Result<const ClassInfo*> FindClass(std::string_view name);
  Result<const FunctionInfo*> FindFunction(std::string_view name);
  Result<const FunctionInfo*> FindMethod(std::string_view class_name, std::string_view method);

  // The type that an annotation says.
  Result<TypePtr> Resolve(const Syntax& syntax, ExprId annotation) { return Resolve(syntax, annotation, 0); }
  // The type of that class, NamedTuple, enum or interface.
  Result<TypePtr> TypeOf(const ClassInfo& info) { return TypeOf(info, 0); }
  // Of what it is called with; parsed once.
  Result<const Signature*> SignatureOf(const FunctionInfo& function);
  // The type of an annotation that stands by itself: "List[int]".
  Result<TypePtr> ParseType(std::string_view text, const Location& where);

  // CONSTANTS.c0, c1, … of the archive. Code that names them can be read from then on.
  void SetConstants(std::vector<TypedConstant> constants) { constants_ = std::move(constants); }
  // Null if there is none of that name ("c0").
  const TypedConstant* FindConstant(std::string_view name) const;

  // Before code that names the constant, or calls what does, gets a copy of it: code is short, and constants may be long.
  Status Charge(const Constant& constant);

  // What a literal of the code says: defaults of parameters, members of enums.
  Result<Constant> Literal(const Syntax& syntax, ExprId literal) { return Literal(syntax, literal, 0); }

  Sink& sink() { return sink_; }

 private:
  struct File {
    std::unique_ptr<Syntax> syntax;  // null if there is no such file
    std::map<std::string, ClassInfo, std::less<>> classes;
    std::map<std::string, FunctionInfo, std::less<>> functions;
  };
  // Null if there is no such file.
  Result<const File*> FileOf(std::string_view module);
  Status Index(File* file, const std::string& module);
  Status IndexClass(File* file, const std::string& module, const Stmt& stmt);
  Status IndexMember(ClassInfo* info, const Syntax& syntax, const Stmt& stmt);
  Result<TypePtr> Resolve(const Syntax& syntax, ExprId annotation, int depth);
  Result<TypePtr> ResolveGeneric(const Syntax& syntax, const Expr& expr, int depth);
  Result<TypePtr> TypeOf(const ClassInfo& info, int depth);
  Result<Constant> Literal(const Syntax& syntax, ExprId literal, int depth);
  Result<std::vector<Constant>> Elements(const Syntax& syntax, ExprId literal, int depth);
  Result<Constant> AppliedLiteral(const Syntax& syntax, ExprId literal, int depth);
  Result<Constant> QualifiedLiteral(const Syntax& syntax, ExprId literal, int depth);
  Failure IsNoLiteral(const Syntax& syntax, ExprId literal);

  CodeSource& code_;
  Sink& sink_;
  std::map<std::string, File, std::less<>> files_;
  std::map<std::string, FunctionInfo, std::less<>> methods_;
  std::map<std::string, Signature, std::less<>> signatures_;
  std::vector<std::unique_ptr<Syntax>> types_;
  std::vector<TypedConstant> constants_;
  size_t copied_bytes_ = 0;
};

// "a.b.c" of nested attributes of names; empty if it is none.
std::string QualifiedName(const Syntax& syntax, ExprId expr);

}  // namespace flambeau::torchscript
