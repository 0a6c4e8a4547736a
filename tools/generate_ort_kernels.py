"""Writes src/onnx/runtime_kernels.inc: the kernels of onnxruntime's CPU provider, by version and types."""

import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

from generated import Generated, Pool, dtype_set, dtype_sets, main, quoted, rows

DOMAINS = {"": "", "com.microsoft": "com.microsoft::"}
# Kernels that are off by more than rounding, which nothing is to use: this one takes angles of all turns in float32, so that a
# transform of 400 elements is off by 300 rounding errors of the largest. In float64 it is as fast.
TOO_COARSE = {("DFT", "tensor(float)")}


def constraints(kernel):
    """Sorted ((parameter, element types), …); only what holds a tensor counts."""
    found = []
    for name, types in sorted(kernel.type_constraints.items()):
        tensors, sequences, _ = dtype_sets([each for each in types if (kernel.op_name, each) not in TOO_COARSE])
        found.append((name, tensors or sequences))
    return tuple(found)


def merged(kernels):
    """Kernels that differ in one parameter's types become one, so that nothing but their number changes."""
    kernels = sorted(set(kernels))
    for position in range(max(map(len, kernels))):
        groups = {}
        for kernel in kernels:
            rest = tuple(item if place != position else item[0] for place, item in enumerate(kernel))
            groups.setdefault(rest, []).append(kernel)
        kernels = []
        for group in groups.values():
            if len(group) > 1:
                name = group[0][position][0]
                types = tuple(sorted({dtype for kernel in group for dtype in kernel[position][1]}))
                group = [(*group[0][:position], (name, types), *group[0][position + 1 :])]
            kernels += group
    return kernels


def generate():
    by_operator = {}
    for kernel in get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider" and kernel.domain in DOMAINS:
            key = (DOMAINS[kernel.domain] + kernel.op_name, *kernel.version_range)
            by_operator.setdefault(key, []).append(constraints(kernel))
    types, kernels = Pool(), []
    for (name, first, last), variants in sorted(by_operator.items()):
        for variant in merged(variants):
            start, count = types.add([f"{{{quoted(param)}, {dtype_set(dtypes)}}}" for param, dtypes in variant])
            kernels.append(f"{{{quoted(name)}, {first}, {last}, {{{start}, {count}}}}}")
    body = (
        f"constexpr KernelTypes kKernelTypes[] = {{\n{rows(types.items)}}};\n"
        "// Sorted by name, then by version.\n"
        f"constexpr Kernel kKernels[] = {{\n{rows(kernels)}}};\n"
    )
    return Generated(f"onnxruntime {onnxruntime.__version__}", {"src/onnx/runtime_kernels.inc": body})


if __name__ == "__main__":
    raise SystemExit(main(generate))
