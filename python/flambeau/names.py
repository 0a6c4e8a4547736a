"""Names of inputs and outputs that the caller gives twice."""

from __future__ import annotations

from . import _engine

__all__ = ["distinguish"]


def distinguish(options: _engine.Options) -> list[tuple[str, str]]:
    """Let each name stand once: the last input or output keeps it, those before get a number, as torch's TorchScript exporter has it.

    Returns:
        What was renamed, and how.
    """
    inputs, outputs = options.input_names, options.output_names
    names = [*inputs, *outputs]
    renamed: list[tuple[str, str]] = []
    for i, name in enumerate(names):
        if name and name in names[i + 1 :]:
            count = 1
            while f"{name}.{count}" in names:
                count += 1
            names[i] = f"{name}.{count}"
            renamed.append((name, names[i]))
    if renamed:
        options.input_names, options.output_names = names[: len(inputs)], names[len(inputs) :]
    return renamed
