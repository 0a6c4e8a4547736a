"""The rules of src/aten/aliasing.def over real tensors."""

import pathlib
import re

import torch

TABLE = pathlib.Path(__file__).parents[2] / "src/aten/aliasing.def"


def rows(macro):
    for row in re.findall(rf"^FLAMBEAU_{macro}\(([^()]*)\)$", TABLE.read_text(), re.MULTILINE):
        yield [part.strip().strip('"') for part in row.split(",")]


ALIASES = {op: (argument, when) for op, argument, when in rows("ALIAS")}
WRITES = {row[0]: row[1:] for row in rows("WRITE")}
SELVES = {op for (op,) in rows("SELF")}
assert ALIASES and WRITES and SELVES


def arguments_of(schema, args, kwargs):
    values = dict(zip((a.name for a in schema.arguments), args))
    return {a.name: kwargs.get(a.name, values.get(a.name, a.default_value)) for a in schema.arguments}


def row_of(table, op):
    name = op._schema.name + ("." + op._schema.overload_name if op._schema.overload_name else "")
    return table.get(name) or table.get(op._schema.name)


def aliased_argument(op, result):
    """The name of the argument with which a result may share storage, and when."""
    schema = op._schema
    row = row_of(ALIASES, op)
    if row and any(a.name == row[0] for a in schema.arguments):
        return row
    # "Tensor(a)[]": the bindings do not show the annotations of lists' elements.
    arguments, returns = str(schema).rsplit(" -> ", 1)
    returns = re.findall(r"Tensor(?:\((\w+)!?\))?", returns)
    if len(schema.returns) > 1 and result >= len(returns):
        return None
    letter = returns[0 if len(schema.returns) == 1 else result] if returns else ""
    for argument in schema.arguments:
        if letter and re.search(rf"Tensor\({letter}(!| -> \*)?\)[\[\]?]* {argument.name}\b", arguments):
            return argument.name, "kAlways"
    return None


def is_alias(when, arguments, tensor, result):
    """Whether the rule says that they share storage; None where it does not know."""
    match when:
        case "kAlways":
            return True
        case "kNever":
            return False
        case "kUnless":
            return not (arguments["train"] and arguments["p"] != 0)
        case "kSameDtype":
            if tensor.dtype != result.dtype or arguments.get("copy"):
                return False
            if arguments.get("device") is not None or isinstance(arguments.get("other"), torch.Tensor) and "copy" in arguments:
                return None
            return memory_format_holds(arguments.get("memory_format"), tensor, None)
        case "kContiguous":
            return memory_format_holds(arguments.get("memory_format"), tensor, torch.contiguous_format)
        case "kStrides":
            try:
                tensor.view(result.shape)
                return True
            except RuntimeError:
                return False
        case "kReal":
            return None if tensor.is_complex() else True
        case "kUnsummed":
            inside, arrow, outside = arguments["equation"].partition("->")
            summed = set(inside) - set(outside) - set(", .") if arrow else {letter for letter in inside if inside.count(letter) > 1}
            return False if summed and len(arguments["tensors"]) == 1 else None
        case "kUnknown":
            return None
    raise ValueError(f"{TABLE.name} has a rule that this test does not know: {when}")


def memory_format_holds(memory_format, tensor, absent):
    if isinstance(memory_format, int):
        formats = [torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d]
        memory_format = formats[memory_format]
    memory_format = absent if memory_format is None else memory_format
    if memory_format in (None, torch.preserve_format):
        return True
    return tensor.is_contiguous(memory_format=memory_format)


def written_arguments(op, arguments):
    row = row_of(WRITES, op)
    if row:
        first, second, when, _ = row
        if when and not arguments[when]:
            return set()
        return {name for name in (first, second) if name and arguments.get(name) is not None}
    return {a.name for a in op._schema.arguments if a.alias_info and a.alias_info.is_write}
