"""What users ask of a conversion, as the engine takes it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from . import _engine

__all__ = ["external_data_mode", "make_options"]


def external_data_mode(external_data: bool | str | None) -> _engine.ExternalData:
    """The engine's word for a user's ``external_data``.

    None is "auto", True "always", False "never".
    """
    if isinstance(external_data, bool):
        external_data = "always" if external_data else "never"
    modes = {
        "auto": _engine.ExternalData.AUTO,
        "always": _engine.ExternalData.ALWAYS,
        "never": _engine.ExternalData.NEVER,
        "reference": _engine.ExternalData.REFERENCE,
    }
    mode = modes.get(external_data or "auto")
    if mode is None:
        raise ValueError(f"external_data is {external_data!r}; it must be a bool, None or one of {', '.join(modes)}")
    return mode


def seed_of_draws(seed: int | None) -> int | None:
    """The engine's seed for a user's.

    Raises:
        ValueError: It is none that 64 bits hold.
    """
    if seed is None:
        return None
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise ValueError(f"seed is {seed!r}; it must be None or an integer from 0 to 2**64 - 1")
    return number


def make_options(
    *,
    opset_version: int | None = None,
    external_data: bool | str | None = None,
    metadata: str | None = None,
    target: str = "ort",
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dim_names: Mapping[str, str] | None = None,
    inputs: Mapping[str, str] | None = None,
    model_name: str | None = None,
    method: str | None = None,
    optimize: bool = True,
    state_outputs: bool = False,
    keep_initializers_as_inputs: bool = False,
    export_params: bool = True,
    seed: int | None = None,
    user_metadata: Mapping[str, str] | None = None,
    custom_opsets: Mapping[str, int] | None = None,
    operator_schemas: Sequence[str] | None = None,
) -> _engine.Options:
    """The engine's options. See :func:`flambeau.convert` for what they mean.

    Raises:
        ValueError: ``external_data``, ``metadata`` or ``target`` is none of the known words, or ``seed`` no number of 64 bits.
    """
    levels = {
        "release": _engine.Metadata.RELEASE,
        "namespace": _engine.Metadata.NAMESPACE,
        "default": _engine.Metadata.DEFAULT,
        "debug": _engine.Metadata.DEBUG,
    }
    if metadata is not None and metadata not in levels:
        raise ValueError(f"metadata is {metadata!r}; it must be one of {', '.join(levels)}")
    targets = {"ort": _engine.Target.ORT, "strict": _engine.Target.STRICT}
    if target not in targets:
        raise ValueError(f"target is {target!r}; it must be one of {', '.join(targets)}")
    options = _engine.Options()
    options.opset = _engine.DEFAULT_OPSET if opset_version is None else opset_version
    options.external_data = external_data_mode(external_data)
    options.metadata = None if metadata is None else levels[metadata]
    options.target = targets[target]
    options.input_names = list(input_names or ())
    options.output_names = list(output_names or ())
    options.dim_names = list((dim_names or {}).items())
    options.inputs = list((inputs or {}).items())
    options.model = model_name or ""
    options.method = method or ""
    options.optimize = optimize
    options.state_outputs = state_outputs
    options.keep_initializers_as_inputs = keep_initializers_as_inputs
    options.export_params = export_params
    options.seed = seed_of_draws(seed)
    options.user_metadata = list((user_metadata or {}).items())
    options.custom_opsets = list((custom_opsets or {}).items())
    options.operator_schemas = list(operator_schemas or ())
    return options
