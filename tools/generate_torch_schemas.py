"""Writes src/aten/torch_schemas.inc: the schemas of all of PyTorch's operators.

Sorted by operator; the overloads of one operator keep the order in which torch
registered them, which is the order in which TorchScript tries them.
"""

import torch

from generated import Generated, main, quoted, rows


def generate():
    # Between operators, torch's order is that of a hash map.
    schemas = sorted(torch._C._jit_get_all_schemas(), key=lambda schema: schema.name)
    names = [f"{schema.name}.{schema.overload_name}".rstrip(".") for schema in schemas]
    index = sorted(range(len(schemas)), key=names.__getitem__)
    lines = "".join(f"    {quoted(str(schema))},\n" for schema in schemas)
    body = (
        f'constexpr std::string_view kTorchVersion = "{torch.__version__}";\n'
        "// Sorted by operator; overloads in the order of their registration.\n"
        f"constexpr std::string_view kTorchSchemas[] = {{\n{lines}}};\n"
        '// Positions in kTorchSchemas, sorted by "ns::name.overload" ("ns::name" for the default overload).\n'
        f"constexpr uint16_t kTorchSchemasByName[] = {{\n{rows(map(str, index))}}};\n"
    )
    return Generated(f"torch {torch.__version__}", {"src/aten/torch_schemas.inc": body})


if __name__ == "__main__":
    raise SystemExit(main(generate))
