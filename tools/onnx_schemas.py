"""ONNX's operators, read from the installed onnx, as both generators of src/onnx want them."""

import numpy
import onnx

SOURCE = f"onnx {onnx.__version__}"


def schemas():
    """name -> schemas of all versions, oldest first, of the default domain."""
    operators = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            operators.setdefault(schema.name, []).append(schema)
    return {name: sorted(operators[name], key=lambda schema: schema.since_version) for name in sorted(operators)}


def default_of(attribute):
    """The default as a Python value, or None; a float as its shortest decimal: 0.9, not 0.8999999761581421."""
    if not attribute.default_value.name:
        return None
    value = onnx.helper.get_attribute_value(attribute.default_value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return float(str(numpy.float32(value)))
    if isinstance(value, (list, tuple)):
        return [item.decode() if isinstance(item, bytes) else item for item in value]
    return value


def attributes_of(schema):
    """Required ones first, then by name: onnx's own order is a hash map's."""
    return sorted(schema.attributes.values(), key=lambda attribute: (not attribute.required, attribute.name))
