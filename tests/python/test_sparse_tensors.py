"""Sparse tensors that a model makes or holds are dense in what is captured."""

import pytest
import torch

import flambeau

CAPTURES = {"export": {}, "trace": {"capture": "trace"}}
ADJACENCY = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1, 2], [2, 0, 3, 1]]), torch.tensor([0.5, 1.0, -2.0, 3.0]), (4, 4))


def made(places, values, x):
    return torch.sparse_coo_tensor(places, values, (x.shape[0], x.shape[0]))


USES = {
    "mm": lambda a, x: torch.sparse.mm(a, x),
    "matmul": lambda a, x: a @ x,
    "spmm": lambda a, x: torch.spmm(a, x),
    "mv": lambda a, x: torch.mv(a, x[:, 0]),
    "transposed": lambda a, x: torch.sparse.mm(a.coalesce().t(), x),
    "scaled": lambda a, x: torch.sparse.mm(a * 2, x),
    "addmm": lambda a, x: torch.sparse.addmm(x, a, x, beta=0.5, alpha=2),
    "sums": lambda a, x: torch.sparse.sum(a, 1).to_dense() + torch.sparse.sum(a),
    "dense": lambda a, x: a.to_dense(),
}


class Graph(torch.nn.Module):
    def __init__(self, use):
        super().__init__()
        self.use = use

    def forward(self, places, values, x):
        return self.use(made(places, values, x), x)


def edges(nodes, count):
    return torch.randint(0, nodes, (2, count)), torch.randn(count), torch.randn(nodes, 3)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("capture", CAPTURES)
def test_what_the_model_makes(use, capture):
    first, second = edges(4, 7), edges(6, 11)
    dynamic = ({1: "edges"}, {0: "edges"}, {0: "nodes"})
    options = {"dynamic_shapes": dynamic} if capture == "export" else {"dynamic_axes": dict(zip(("places", "values", "x"), dynamic))}
    program = flambeau.export(Graph(use), first, verbose=False, **CAPTURES[capture], **options)
    for inputs in (first, second):
        torch.testing.assert_close(program(*inputs)[0], use(made(*inputs), inputs[2]))


def test_what_it_makes_by_rows_and_columns_and_of_dense_ones():
    class Others(torch.nn.Module):
        def forward(self, begins, at, values, x):
            by_rows = torch.sparse_csr_tensor(begins, at, values, (3, 4))
            by_columns = torch.sparse_csc_tensor(begins, at, values, (4, 3))
            hybrid = torch.sparse_coo_tensor(at[None], torch.stack([values, values], 1))
            return by_rows @ x, by_columns.to_dense(), hybrid.to_dense(), torch.sparse.mm(x.relu().to_sparse(), x.t())

    inputs = (torch.tensor([0, 2, 2, 4]), torch.tensor([1, 3, 0, 2]), torch.randn(4), torch.randn(4, 5))
    program = flambeau.export(Others(), inputs, verbose=False)
    for got, wanted in zip(program(*inputs), Others()(*inputs), strict=True):
        torch.testing.assert_close(got, wanted)


class Held(torch.nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how
        if how == "buffer":
            self.register_buffer("a", ADJACENCY)
        elif how == "rows":
            self.register_buffer("a", ADJACENCY.to_sparse_csr())
        elif how == "parameter":
            self.a = torch.nn.Parameter(ADJACENCY)
        else:
            self.held = [ADJACENCY] if how == "list" else {"a": ADJACENCY}

    def matrix(self):
        return {"list": lambda: self.held[0], "dict": lambda: self.held["a"]}.get(self.how, lambda: self.a)()

    def forward(self, x):
        return torch.sparse.mm(self.matrix(), x)


@pytest.mark.parametrize("how", ["buffer", "rows", "parameter", "list", "dict"])
@pytest.mark.parametrize("capture", CAPTURES)
def test_what_the_model_holds(how, capture):
    model, x = Held(how), torch.randn(4, 3)
    before = model.matrix()
    program = flambeau.export(model, (x,), verbose=False, **CAPTURES[capture])
    torch.testing.assert_close(program(x)[0], ADJACENCY.to_dense() @ x)
    assert model.matrix() is before and before.layout != torch.strided


class Scripted(torch.nn.Module):
    def forward(self, places: torch.Tensor, values: torch.Tensor, x: torch.Tensor):
        a = torch.sparse_coo_tensor(places, values, [x.shape[0], x.shape[0]])
        return torch.sparse.mm(a.coalesce(), x) + torch._sparse_sum(a)


def test_in_scripts():
    first, second = edges(4, 7), edges(6, 11)
    dynamic = {"places": {1: "edges"}, "values": {0: "edges"}, "x": {0: "nodes"}}
    program = flambeau.export(torch.jit.script(Scripted()), first, dynamo=False, input_names=list(dynamic), dynamic_axes=dynamic, verbose=False)
    for inputs in (first, second):
        torch.testing.assert_close(program(*inputs)[0], Scripted()(*inputs))


class ScriptedAsks(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x * 2 if x.to_sparse().is_sparse else x


def test_scripts_are_not_told_either():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="asks whether a tensor is sparse, where the program makes some that are"):
        flambeau.export(torch.jit.script(ScriptedAsks()), (torch.randn(4, 3),), dynamo=False, verbose=False)


class Asks(torch.nn.Module):
    def __init__(self, ask):
        super().__init__()
        self.ask = ask
        self.register_buffer("a", ADJACENCY)

    def forward(self, x):
        return torch.sparse.mm(self.a, x) if self.ask(self.a) else x


@pytest.mark.parametrize(
    "ask", [lambda a: a.is_sparse, lambda a: a.layout == torch.sparse_coo, lambda a: a.sparse_dim() == 2], ids=["is_sparse", "layout", "sparse_dim"]
)
@pytest.mark.parametrize("capture", CAPTURES)
def test_whether_a_tensor_is_sparse_is_not_told(capture, ask):
    with pytest.raises(flambeau.errors.CaptureError, match="is not known while a model with sparse tensors|has the layout torch.sparse_coo"):
        flambeau.export(Asks(ask), (torch.randn(4, 3),), verbose=False, **CAPTURES[capture])


@pytest.mark.parametrize("capture", CAPTURES)
def test_whether_a_tensor_is_sparse_is_told_where_none_is(capture):
    class Dense(torch.nn.Module):
        def forward(self, x):
            return x * 2 if not x.is_sparse and x.layout == torch.strided else x

    x = torch.randn(4, 3)
    torch.testing.assert_close(flambeau.export(Dense(), (x,), verbose=False, **CAPTURES[capture])(x)[0], x * 2)


@pytest.mark.parametrize("capture", CAPTURES)
def test_what_is_made_of_a_tensor_is_another(capture):
    class Writes(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            z = y.to_sparse().to_dense()
            z.add_(1)
            s = y.to_sparse()
            y += 1
            return y, z, s.to_dense()

    x = torch.randn(4, 3)
    program = flambeau.export(Writes(), (x,), verbose=False, **CAPTURES[capture])
    torch.testing.assert_close(tuple(program(x)), Writes()(x))


@pytest.mark.parametrize("capture", CAPTURES)
def test_which_elements_there_are_is_not_told(capture):
    class Elements(torch.nn.Module):
        def forward(self, places, values, x):
            return made(places, values, x).coalesce().values()

    with pytest.raises(flambeau.errors.CaptureError, match="values expected sparse"):
        flambeau.export(Elements(), edges(4, 7), verbose=False, **CAPTURES[capture])
