"""What a captured program holds that is no operator of ATen, or of an opset that is to come, written out."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram

__all__ = ["without_newer_operators", "without_vmap"]


def without_vmap(exported: ExportedProgram) -> ExportedProgram:
    """The program over whole batches; the program itself if it has no ``torch.vmap``.

    torch.export records the calls that enter and leave a vmap, and between them
    operators on tensors that seem to lack a dimension. Tracing the program again
    runs the calls.
    """
    for module in exported.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            if node.op == "call_function" and getattr(node.target, "__module__", "") == "torch._functorch.predispatch":
                return exported.run_decompositions({})
    return exported


def without_newer_operators(exported: ExportedProgram, opset: int) -> ExportedProgram:
    """The program with those operators written out that the opset lacks; the program itself if there are none.

    torch.onnx.ops keeps, for each, the PyTorch code that computes the same.
    """
    from torch.onnx.ops._impl import ONNX_ATEN_DECOMP_TABLE

    def is_newer(target: object) -> bool:
        if not isinstance(target, torch._ops.OpOverload) or target.namespace != "onnx":
            return False
        return int(target._overloadname.removeprefix("opset") or 0) > opset

    used = {
        node.target
        for module in exported.graph_module.modules()
        if isinstance(module, torch.fx.GraphModule)
        for node in module.graph.nodes
        if node.op == "call_function" and is_newer(node.target)
    }
    if not used:
        return exported
    return exported.run_decompositions({op: ONNX_ATEN_DECOMP_TABLE[op] for op in used if op in ONNX_ATEN_DECOMP_TABLE})
