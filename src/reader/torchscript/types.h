// What TorchScript's types mean to each other: equality, subtypes, what joins
// two branches, and the type variables of schemas.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "reader/torchscript/graph.h"

namespace flambeau::torchscript {

// Types nest no deeper than this; their readers see to it.
inline constexpr int kMaxTypeDepth = 64;
// Nor has one more parts, classes counted as one: a tuple of a tuple twice, of that twice, and so on, has any number.
inline constexpr size_t kMaxTypeParts = 20'000;

TypePtr TensorType();
TypePtr IntType();
TypePtr FloatType();
TypePtr BoolType();
TypePtr StringType();
TypePtr NoneType();
TypePtr AnyType();
TypePtr ListOf(TypePtr element);
TypePtr OptionalOf(TypePtr element);  // of an Optional: itself
TypePtr TupleOf(std::vector<TypePtr> elements);
TypePtr NamedType(TypeKind kind, std::string name);

bool IsKind(const TypePtr& type, TypeKind kind);
// Whether it keeps to these limits.
bool IsBounded(const Type& type);
bool Equal(const Type& a, const Type& b);
// May a value of type `type` be used where `wanted` is asked for?
bool IsSubtype(const Type& type, const Type& wanted);
// The type of a variable that has either type; null if there is none but a union.
TypePtr Unify(const TypePtr& a, const TypePtr& b);
// The T of Optional[T]; other types are themselves.
const TypePtr& Unwrap(const TypePtr& type);

// What a schema's type variables stand for in one call.
using TypeVariables = std::map<std::string, TypePtr, std::less<>>;
// Finds the variables of `formal` in `actual`. A mismatch without variables is
// no failure here: IsSubtype finds it.
bool MatchVariables(const TypePtr& formal, const TypePtr& actual, TypeVariables* variables);
// `formal` with its variables replaced; null if one is not known.
TypePtr Substitute(const TypePtr& formal, const TypeVariables& variables);

// The type that a schema writes: "Tensor(a!)[]", "Dict(str, t)", "(int, t)[]?";
// null if it is malformed.
TypePtr ParseSchemaType(std::string_view text);

}  // namespace flambeau::torchscript
