"""Writes src/onnx/operator_table.inc: every version of every ONNX operator."""

from generated import Generated, Pool, boolean, dtype_set, dtype_sets, main, quoted, rows
from onnx_schemas import SOURCE, attributes_of, default_of, schemas

ATTRIBUTE_TYPES = {
    "INT": "kInt", "FLOAT": "kFloat", "STRING": "kString", "TENSOR": "kTensor", "GRAPH": "kGraph",
    "SPARSE_TENSOR": "kSparseTensor", "TYPE_PROTO": "kTypeProto", "INTS": "kInts", "FLOATS": "kFloats",
    "STRINGS": "kStrings",
}  # fmt: skip


class Table:
    def __init__(self):
        self.sets, self.types, self.formals, self.attributes = Pool(), Pool(), Pool(), Pool()
        self.ints, self.strings = Pool(), Pool()
        self.versions, self.operators = [], []

    def set_index(self, enumerators):
        return self.sets.add([dtype_set(enumerators)])[0]

    def type_row(self, name, types):
        tensors, sequences, optionals = dtype_sets(types)
        return f"{{{quoted(name)}, kSets[{self.set_index(tensors)}], kSets[{self.set_index(sequences)}], {boolean(optionals)}}}"

    def default_fields(self, attribute):
        value = default_of(attribute)
        kind = attribute.type.name
        if value is None:
            return ""
        if kind == "INT":
            return f", .default_int = {value}"
        if kind == "FLOAT":
            return f", .default_float = {value!r}"
        if kind == "STRING":
            return f", .default_string = {quoted(value)}"
        if kind == "INTS":
            return ", .default_list = {%d, %d}" % self.ints.add([str(item) for item in value])
        if kind == "STRINGS":
            return ", .default_list = {%d, %d}" % self.strings.add([quoted(item) for item in value])
        raise ValueError(f"default of type {kind}")

    def attribute_row(self, attribute):
        flags = ", .required = true" if attribute.required else ""
        if default_of(attribute) is not None:
            flags += ", .has_default = true"
        return f"{{.name = {quoted(attribute.name)}, .type = AttributeType::{ATTRIBUTE_TYPES[attribute.type.name]}{flags}{self.default_fields(attribute)}}}"

    def formal_row(self, formal, types):
        option = f"k{formal.option.name}"
        heterogeneous = "" if formal.is_homogeneous else ", .homogeneous = false"
        return f"{{.name = {quoted(formal.name)}, .option = {option}, .type = {types.index(formal.type_str)}{heterogeneous}}}"

    def add_version(self, schema):
        constraints = {item.type_param_str: item.allowed_type_strs for item in schema.type_constraints}
        for formal in [*schema.inputs, *schema.outputs]:
            constraints.setdefault(formal.type_str, [formal.type_str])
        names = list(constraints)
        types = self.types.add([self.type_row(name, constraints[name]) for name in names])
        inputs = self.formals.add([self.formal_row(formal, names) for formal in schema.inputs])
        outputs = self.formals.add([self.formal_row(formal, names) for formal in schema.outputs])
        attributes = self.attributes.add([self.attribute_row(item) for item in attributes_of(schema)])
        ranges = ", ".join("{%d, %d}" % item for item in (inputs, outputs, attributes, types))
        has_function = schema.has_function or schema.has_context_dependent_function
        self.versions.append(
            f"{{{quoted(schema.name)}, {schema.since_version}, {ranges}, {schema.min_input}, {schema.max_input}, "
            f"{schema.min_output}, {schema.max_output}, {boolean(schema.deprecated)}, {boolean(has_function)}}}"
        )

    def text(self):
        def array(kind, name, items):
            return f"constexpr {kind} {name}[] = {{\n{rows(items)}}};\n"

        return "".join([
            array("DTypeSet", "kSets", self.sets.items),
            array("TypeConstraint", "kTypes", self.types.items),
            array("FormalParameter", "kFormals", self.formals.items),
            array("int64_t", "kDefaultInts", self.ints.items),
            array("std::string_view", "kDefaultStrings", self.strings.items),
            array("AttributeSchema", "kAttributes", self.attributes.items),
            "// Sorted by name, then by version.\n",
            array("OperatorVersion", "kVersions", self.versions),
        ])  # fmt: skip


def generate():
    table = Table()
    for versions in schemas().values():
        for schema in versions:
            table.add_version(schema)
    return Generated(SOURCE, {"src/onnx/operator_table.inc": table.text()})


if __name__ == "__main__":
    raise SystemExit(main(generate))
