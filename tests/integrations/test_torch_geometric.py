"""torch_geometric: graph layers through both exporters, run on a graph of other sizes."""

from __future__ import annotations

import io

import pytest
import torch

from .conftest import library

library("torch_geometric")
from torch_geometric import nn as G  # noqa: E402
from torch_geometric import safe_onnx_export  # noqa: E402


def graph(nodes: int, edges: list[tuple[int, int]]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(nodes, 8), torch.tensor(edges).T.contiguous()


def mlp(inputs: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(inputs, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16))


LAYERS = {
    "GCN": lambda: G.GCNConv(8, 16),
    "SAGE": lambda: G.SAGEConv(8, 16),
    "GATv2": lambda: G.GATv2Conv(8, 4, heads=2),
    "GIN": lambda: G.GINConv(mlp(8)),
    "Cheb": lambda: G.ChebConv(8, 16, 3),
    "Transformer": lambda: G.TransformerConv(8, 4, heads=2),
    "GatedGraph": lambda: G.GatedGraphConv(16, 2),
    "GEN": lambda: G.GENConv(8, 16),
    "whole GCN": lambda: G.models.GCN(8, 16, 2, 3),
    "whole GIN": lambda: G.models.GIN(8, 16, 2, 3),
}
# What a trace cannot say: PyG makes a Python number of a tensor, or computes something else for torch.onnx.
EXPORTED_ONLY = {
    "Edge": lambda: G.EdgeConv(mlp(16)),
    "SAGE max": lambda: G.SAGEConv(8, 16, aggr="max"),
    "PNA": lambda: G.PNAConv(8, 16, ["mean", "min", "max", "std"], ["identity", "amplification"], torch.tensor([0, 4, 3, 1])),
}
FIRST = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3), (2, 5)]
SECOND = [(0, 1), (1, 8), (2, 3), (8, 4), (4, 7), (5, 0), (0, 3), (2, 5), (6, 5), (7, 6), (3, 1)]


def check(model: torch.nn.Module, dynamo: bool) -> None:
    model.eval()
    first, second = graph(6, FIRST), graph(9, SECOND)
    if dynamo:
        program = torch.onnx.export(model, first, dynamic_shapes=({0: "nodes"}, {1: "edges"}))
    else:
        axes = {"x": {0: "nodes"}, "edge_index": {1: "edges"}}
        program = torch.onnx.export(model, first, io.BytesIO(), dynamo=False, input_names=["x", "edge_index"], dynamic_axes=axes)
    for args in (first, second):
        with torch.no_grad():
            torch.testing.assert_close(program(*args)[0], model(*args), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, dynamo):
    check(LAYERS[name](), dynamo)


@pytest.mark.parametrize("name", EXPORTED_ONLY)
def test_exported_layer(name):
    check(EXPORTED_ONLY[name](), dynamo=True)


@pytest.mark.parametrize("options", [{}, {"num_bases": 2}, {"num_blocks": 4}], ids=str)
def test_relations(options):
    model = G.RGCNConv(8, 16, num_relations=3, **options).eval()
    first, second = ((*graph(n, edges), torch.arange(len(edges)) % 3) for n, edges in ((6, FIRST), (9, SECOND)))
    program = torch.onnx.export(model, first, dynamic_shapes=({0: "nodes"}, {1: "edges"}, {0: "edges"}))
    for args in (first, second):
        with torch.no_grad():
            torch.testing.assert_close(program(*args)[0], model(*args), rtol=1e-4, atol=1e-5)


class Pooled(torch.nn.Module):
    def __init__(self, pool):
        super().__init__()
        self.layer, self.pool = G.GCNConv(8, 8), pool

    def forward(self, x, edge_index, batch):
        return self.pool(self.layer(x, edge_index), batch)


@pytest.mark.parametrize("pool", [G.global_mean_pool, G.global_max_pool, G.global_add_pool], ids=lambda pool: pool.__name__)
def test_pool(pool):
    """The number of graphs is the content of a tensor."""
    model = Pooled(pool).eval()
    first, second = graph(6, FIRST), graph(9, SECOND)
    batches = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2])
    program = torch.onnx.export(model, (*first, batches[0]), dynamic_shapes=({0: "nodes"}, {1: "edges"}, {0: "nodes"}))
    for args, batch in zip((first, second), batches):
        torch.testing.assert_close(program(*args, batch)[0], model(*args, batch).detach(), rtol=1e-4, atol=1e-5)


def test_its_own_wrapper(tmp_path):
    model = G.models.GraphSAGE(8, 16, 2, 3).eval()
    assert safe_onnx_export(model, graph(6, FIRST), str(tmp_path / "model.onnx"))
    assert (tmp_path / "model.onnx").exists()
