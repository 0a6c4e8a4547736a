// Schemas of users' operators, in the two readers that there are of their types.
#include <cstdlib>

#include "aten/declarations.h"
#include "reader/torchscript/types.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace flambeau;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  (void)torchscript::ParseSchemaType(text);
  const auto schema = aten::ParseSchema(text);
  aten::Declarations declared;
  if (declared.Declare(text) != (schema && !aten::IsInTables(schema->name))) std::abort();
  if (!schema) return 0;
  if (!schema->name.starts_with(schema->base) || schema->text != text) std::abort();
  for (const aten::SchemaArgument& argument : schema->arguments) {
    if (schema->Find(argument.name) == nullptr) std::abort();
    (void)torchscript::ParseSchemaType(argument.type_text);
  }
  return 0;
}
