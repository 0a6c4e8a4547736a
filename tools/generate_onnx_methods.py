"""Writes the typed methods of onnx::Builder: one for each operator in its newest version.

src/onnx/operator_attributes.inc: one struct an operator with attributes.
src/onnx/operator_methods.inc: declarations, included inside `class Builder`.
src/onnx/operator_methods_impl.inc: definitions, in terms of Builder::Emit.
"""

import keyword
import re

from generated import Generated, main, quoted
from onnx_schemas import SOURCE, attributes_of, default_of, schemas

CPP_TYPES = {
    "INT": "int64_t", "FLOAT": "double", "STRING": "std::string", "INTS": "Ints", "FLOATS": "Floats",
    "STRINGS": "Strings", "TENSOR": "DataId", "GRAPH": "BlockId",
}  # fmt: skip
LISTS = ("INTS", "FLOATS", "STRINGS")
CPP_KEYWORDS = {
    "auto", "bool", "case", "char", "const", "default", "delete", "do", "double", "enum", "export", "float", "int",
    "long", "new", "operator", "private", "public", "register", "short", "signed", "static", "struct", "switch",
    "template", "this", "typename", "union", "unsigned", "using", "virtual", "void",
}  # fmt: skip


def identifier(name):
    return name + "_" if name in CPP_KEYWORDS or keyword.iskeyword(name) else name


def snake_case(name):
    return identifier(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def literal(value):
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return "{" + ", ".join(map(literal, value)) + "}"
    return repr(value)


class Attribute:
    def __init__(self, operator, attribute, steady):
        self.name, self.field = attribute.name, identifier(attribute.name)
        self.kind, self.required = attribute.type.name, attribute.required
        self.default, self.steady = default_of(attribute), steady
        # An empty list means an absent one, except where it is a value of its own.
        self.empty_is_absent = self.kind in LISTS and self.default is None and operator != "Constant"

    def declaration(self):
        kind = CPP_TYPES[self.kind]
        if self.required:
            return f"  {kind} {self.field};"
        if self.default is not None:
            return f"  {kind} {self.field} = {literal(self.default)};"
        return f"  {kind} {self.field} = {{}};" if self.empty_is_absent else f"  std::optional<{kind}> {self.field} = {{}};"

    def addition(self):
        value = f"{quoted(self.name)}, attributes.{self.field}"
        if self.default is not None and self.steady:
            default = literal(self.default)
            return f"  list.Add({value}, {CPP_TYPES[self.kind] if self.kind in LISTS else ''}{default});"
        return f"  list.AddUnlessEmpty({value});" if self.empty_is_absent and not self.required else f"  list.Add({value});"


class Method:
    """One operator: parameters are (C++ type, name, default or None)."""

    def __init__(self, versions):
        schema = versions[-1]
        self.name = schema.name
        self.attributes = [
            Attribute(schema.name, item, self.is_steady(versions, item.name))
            for item in attributes_of(schema)
            if item.type.name in CPP_TYPES
        ]
        self.inputs = [(item.option.name, snake_case(item.name)) for item in schema.inputs]
        options = [item.option.name for item in schema.outputs]
        self.variadic_output = "Variadic" in options
        self.outputs = len(options)
        # Optional results are asked for; where all are optional, all are given.
        self.usual_outputs = options.count("Single") or self.outputs
        self.optional_output = "Optional" in options

    @staticmethod
    def is_steady(versions, attribute):
        """Whether every version has the same default, so that leaving it out means the same in every opset."""
        defaults = [default_of(version.attributes[attribute]) for version in versions if attribute in version.attributes]
        return all(default == defaults[0] for default in defaults)

    @property
    def result(self):
        if self.variadic_output:
            return "std::vector<Tensor>"
        return "Tensor" if self.outputs == 1 else f"std::array<Tensor, {self.outputs}>"

    def operands(self, with_optional):
        for option, name in self.inputs:
            if option == "Single":
                yield ("Tensor", name, None)
            elif option == "Variadic":
                yield ("const Tensors&", name, None)
            elif with_optional:
                yield ("Tensor", name, "{}")

    def parameters(self, with_optional=True):
        found = list(self.operands(with_optional))
        if self.attributes:
            required = any(item.required for item in self.attributes) or not with_optional
            found.append((f"const {self.name}Attributes&", "attributes", None if required else "{}"))
        if self.variadic_output:
            found.append(("size_t", "outputs", None))
        elif self.optional_output:
            found.append(("int", "outputs", str(self.usual_outputs)))
        # A default may stand only where all parameters after it have one.
        for place in reversed(range(len(found) - 1)):
            if found[place + 1][2] is None:
                found[place] = (*found[place][:2], None)
        return found

    @property
    def has_short_form(self):
        """Without the optional inputs, so that attributes can follow the required ones."""
        has_optional = any(option == "Optional" for option, _ in self.inputs)
        return has_optional and bool(self.attributes) and self.name != "Loop"

    def struct(self):
        lines = "\n".join(item.declaration() for item in self.attributes)
        return f"struct {self.name}Attributes {{\n{lines}\n}};\n"

    def declarations(self):
        forms = [True, False] if self.has_short_form else [True]
        return "".join(f"{self.result} {self.name}({self.spelled(form, True)});\n" for form in forms)

    def spelled(self, with_optional, defaults):
        return ", ".join(
            f"{kind} {name}" + (f" = {default}" if defaults and default else "")
            for kind, name, default in self.parameters(with_optional)
        )

    def definitions(self):
        lines = [f"{self.result} Builder::{self.name}({self.spelled(True, False)}) {{"]
        list_argument = "{}"
        if self.attributes:
            list_argument = "list"
            lines += ["  AttributeList list;", *(item.addition() for item in self.attributes)]
        single = ", ".join(name for option, name in self.inputs if option != "Variadic")
        variadic = [name for option, name in self.inputs if option == "Variadic"]
        operands = "operands"
        if variadic and not single:
            operands = variadic[0]
        elif single:
            lines.append(f"  std::vector<Tensor> operands = {{{single}}};" if variadic else f"  const Tensor operands[] = {{{single}}};")
            lines += [f"  operands.insert(operands.end(), {name}.begin(), {name}.end());" for name in variadic]
        else:
            operands = "{}"
        asked = "outputs" if self.variadic_output or self.optional_output else str(self.outputs)
        call = f"Emit({quoted(self.name)}, {operands}, {list_argument}, {asked})"
        if self.variadic_output:
            lines.append(f"  return {call};")
        elif self.outputs == 1:
            lines.append(f"  return {call}.front();")
        else:
            lines.append(f"  return FirstOf<{self.outputs}>({call});")
        lines.append("}\n")
        text = "\n".join(lines)
        if self.has_short_form:
            given = {name for _, name, _ in self.parameters(False)}
            passed = ", ".join(name if name in given else "{}" for _, name, _ in self.parameters())
            text += f"{self.result} Builder::{self.name}({self.spelled(False, False)}) {{\n  return {self.name}({passed});\n}}\n"
        return text


def generate():
    methods = [Method(versions) for versions in schemas().values() if not versions[-1].deprecated]
    return Generated(SOURCE, {
        "src/onnx/operator_attributes.inc": "\n".join(item.struct() for item in methods if item.attributes),
        "src/onnx/operator_methods.inc": "".join(item.declarations() for item in methods),
        "src/onnx/operator_methods_impl.inc": "\n".join(item.definitions() for item in methods),
    })  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main(generate))
