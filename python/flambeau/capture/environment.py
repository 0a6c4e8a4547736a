"""What stands in the place of what torch cannot see through, while a module is captured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from ..held import held_by
from ..state import kept_attributes
from .containers import known_results
from .fake_cache import only_short_sizes_remembered
from .loops import sequential_scans, uncounted_numbers
from .operators.averaging_norms import averaging_norms
from .operators.causal_biases import dense_biases
from .operators.data_dependent import CapturableCalls, unmoved_modules
from .operators.fake_quantization import sized_fake_quantization
from .operators.flex_attention import dense_flex_attention
from .operators.gradient_operators import multilabel_losses
from .operators.graphs import one_way_of_products
from .operators.grouped_products import grouped_products
from .operators.recurrent_layers import opaque_layers
from .operators.sparse_tensors import dense_state
from .operators.subclasses import kept_methods
from .operators.tensor_data import seen_data
from .operators.transformers import every_mask
from .operators.vision import capturable_detectors
from .operators.vmaps import recordable_vmaps
from .sizes.conversions import (
    attention_by_size,
    computable_sizes,
    dynamic_lengths,
    dynamic_tensors,
    dynamic_types,
    noticed_conversions,
    short_sizes,
    unbounded_counts,
    unsolved_equations,
)
from .sizes.functions_of_sizes import functions_of_sizes
from .sizes.overlaps import overlaps_by_strides
from .sizes.progressions import Progressions
from .sizes.slices import undecided_slices
from .surroundings import autocast_within, exporting, lines_of_models, mode, named_keywords, silence, unexplained_recompilations, unoptimized_scripts, unprofiled
from .torch_export import load_dynamo

__all__ = ["Seen", "environment", "replacements"]


class Seen(NamedTuple):
    """What a capture came upon, and may be done again without."""

    vmaps: list[str]
    undecided_slices: list[Any]


@contextlib.contextmanager
def replacements(model: Any, conversions: list[str]) -> Iterator[Seen]:
    """While it is open, what torch cannot see through is replaced by what it can. Dynamo reads Python's code itself, and is left alone.

    Args:
        conversions: Gets the modules that make numbers of sizes.
    """
    with contextlib.ExitStack() as stack:
        for context in (dense_state(held_by(model)), known_results(model), CapturableCalls(), Progressions(), dynamic_tensors(), dynamic_types()):
            stack.enter_context(context)
        for context in (seen_data(), kept_methods()):
            stack.enter_context(context)
        vmaps = stack.enter_context(recordable_vmaps())
        for context in (noticed_conversions(conversions), functions_of_sizes(), attention_by_size(), unmoved_modules(), uncounted_numbers()):
            stack.enter_context(context)
        yield Seen(vmaps, stack.enter_context(undecided_slices()))


@contextlib.contextmanager
def environment(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None, verbose: bool, dynamic: bool
) -> Iterator[None]:
    """While it is open, they are there: for every capture, whatever is tried.

    Args:
        dynamic: Whether sizes are dynamic.
    """
    load_dynamo()
    with contextlib.ExitStack() as stack:
        for context in (
            kept_attributes(model, (args, kwargs)),
            mode(model, training),
            named_keywords(model, kwargs) if dynamic else contextlib.nullcontext(),
            autocast_within(model),
            silence(verbose),
            unexplained_recompilations(),
            unprofiled(),
            unoptimized_scripts(),
            multilabel_losses(),
            exporting(),
            lines_of_models(),
            opaque_layers(),
            averaging_norms(),
            dense_flex_attention(),
            dense_biases(),
            grouped_products(),
            every_mask(),
            capturable_detectors(),
            sequential_scans(),
            one_way_of_products(),
            computable_sizes(),
            short_sizes(),
            sized_fake_quantization(),
            unbounded_counts(),
            unsolved_equations(),
            overlaps_by_strides(),
            dynamic_lengths(),
            only_short_sizes_remembered(),
        ):
            stack.enter_context(context)
        yield
