import torch
from harness import case, floats, ints, known
from literal import literal
from torch.nn import functional as F

aten = torch.ops.aten
x, y = floats(4, 5), floats(4, 5)
p, q = floats(4, 5, low=0.05, high=0.95), floats(4, 5, low=0.05, high=0.95)
signs = torch.tensor([1.0, -1.0, 1.0, -1.0])
scores, classes = floats(4, 5), ints(4, low=0, high=5)
image, labels, weight = floats(2, 5, 3, 4), ints(2, 3, 4, low=0, high=5), floats(5, low=0.1)
several = torch.tensor([[3, 0, -1, 1, 2], [4, 3, 2, 1, 0], [-1, 0, 1, 2, 3], [1, 1, -1, -1, -1]])  # ends at -1
ROWS = {0: [0], 1: [0]}  # the classes stay as they are
MODES = ("none", "mean", "sum")
# In pieces; the operator that computes them says its dtype in its arguments.
IN_CHUNKS = [options(batch_chunk_size=3) for options in known("torch.nn.LinearCrossEntropyOptions")]
LAYER = floats(4, 6), floats(5, 6)


def reductions(fn, *args, **options):
    for mode in MODES:
        yield case(fn, *args, reduction=mode, **options)


CASES = [
    *(reductions(op, x, y) for op in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss)),
    case(F.mse_loss, x, y, dtypes=[torch.float64, torch.float16]),
    case(F.smooth_l1_loss, x, y, beta=0.0),
    case(F.smooth_l1_loss, x, x, beta=1e-9, dtypes=[torch.float16], name="smooth_l1_loss with a beta that is none in float16"),
    case(F.smooth_l1_loss, x, y, beta=2.0),
    case(F.binary_cross_entropy_with_logits, x, y.double().sigmoid(), name="logits of a wider target"),
    case(lambda a, b: F.cross_entropy(a, b), x, y.double().softmax(1), name="probabilities of another precision"),
    case(lambda a, b: F.triplet_margin_loss(a, b, a + 1), x, y.double(), name="triplet of two precisions"),
    case(F.huber_loss, x, y, delta=0.5),
    reductions(F.binary_cross_entropy, p, q),
    case(F.binary_cross_entropy, torch.tensor([0.0, 1.0, 0.5]), torch.tensor([0.0, 0.0, 1.0])),
    case(F.binary_cross_entropy, p, q, weight=y.abs()),
    reductions(F.binary_cross_entropy_with_logits, x, q),
    case(F.binary_cross_entropy_with_logits, x * 100, q),
    case(F.binary_cross_entropy_with_logits, x, q, weight=y.abs(), pos_weight=weight),
    reductions(F.kl_div, x, q),
    case(F.kl_div, x.double(), q),
    case(F.soft_margin_loss, x, signs[:, None].expand(4, 5).long()),
    case(F.kl_div, x, torch.tensor([0.0, 0.2, 0.3, 0.5, 0.0])),
    case(F.kl_div, x, y, log_target=True, reduction="batchmean", dynamic=False),
    reductions(F.poisson_nll_loss, x, y.abs()),
    case(F.poisson_nll_loss, x, y.abs() * 2, full=True),
    case(F.poisson_nll_loss, x.abs(), y.abs(), log_input=False),
    reductions(F.nll_loss, scores, classes, dynamic=ROWS),
    reductions(F.nll_loss, scores, classes, weight=weight, dynamic=ROWS),
    case(F.nll_loss, scores, torch.tensor([1, 2, 2, 4]), ignore_index=2, dynamic=ROWS),
    case(F.nll_loss, image, labels, weight=weight, dynamic={0: [0, 2], 1: [0, 1]}),
    case(F.nll_loss, floats(5), torch.tensor(3), dynamic=False),
    case(aten.nll_loss.default, scores, classes, dynamic=ROWS),
    case(aten.nll_loss2d.default, image, labels, dynamic=False),
    case(aten.nll_loss_forward.default, scores, classes, None, 1, -100, dynamic=ROWS),
    case(aten.nll_loss2d_forward.default, image, labels, weight, 2, 1, dynamic=False),
    reductions(F.cross_entropy, scores, classes, dynamic=ROWS),
    reductions(F.cross_entropy, image, labels, weight=weight, label_smoothing=0.1, dynamic={0: [0], 1: [0]}),
    reductions(F.cross_entropy, image, image.softmax(1), weight=weight, label_smoothing=0.1, dynamic={0: [0], 1: [0]}),
    case(F.cross_entropy, scores, torch.tensor([1, 2, 2, 4]), ignore_index=2, label_smoothing=0.2, dynamic=ROWS),
    case(F.cross_entropy, scores, torch.tensor([1, -100, 2, 4]), dynamic=ROWS),
    case(F.cross_entropy, scores, scores.softmax(1), dynamic=ROWS),
    case(F.cross_entropy, floats(5), torch.tensor(3), dynamic=False),
    *[reductions(F.linear_cross_entropy, *LAYER, classes, dynamic=ROWS) for _ in IN_CHUNKS],
    *[reductions(F.linear_cross_entropy, *LAYER, classes, options=options, dynamic=False, **how)
      for options in IN_CHUNKS
      for how in ({}, {"linear_bias": floats(5), "weight": weight}, {"ignore_index": 2})],
    *[case(F.linear_cross_entropy, *LAYER, classes, options=options, label_smoothing=0.2, dynamic=False) for options in IN_CHUNKS],
    reductions(F.soft_margin_loss, x, signs[:, None].expand(4, 5)),
    reductions(F.hinge_embedding_loss, x, signs[:, None].expand(4, 5)),
    reductions(F.hinge_embedding_loss, x, y),
    case(F.hinge_embedding_loss, x, x > 0, reduction="sum"),
    reductions(F.margin_ranking_loss, x, y, signs[:, None], margin=0.5),
    case(F.margin_ranking_loss, ints(4, 5), ints(4, 5), ints(4, 5)),
    case(F.cosine_similarity, x, y),
    case(F.cosine_similarity, 300 * floats(2, 64), 300 * floats(2, 64), dtypes=[torch.float16], name="cosine_similarity of vectors whose squares pass float16"),
    case(F.cosine_similarity, floats(2, 3, 4), floats(3, 1), dim=1),
    case(F.cosine_similarity, torch.zeros(2, 3), floats(2, 3)),
    case(F.cosine_similarity, floats(1, 4), floats(3, 4), dim=0, dynamic={1: [0]}),
    case(F.cosine_similarity, floats(3, 4), floats(4), dim=0, dynamic={0: [0]}),
    case(F.cosine_similarity, torch.tensor(1.5), floats(3, 4)),
    reductions(F.cosine_embedding_loss, x, y, signs, margin=0.2),
    case(F.pairwise_distance, x, y),
    case(F.pairwise_distance, x, y, p=1, keepdim=True),
    reductions(F.triplet_margin_loss, x, y, p),
    case(F.pairwise_distance, ints(4, 5), ints(4, 5), keepdim=True),
    case(F.cosine_embedding_loss, ints(4, 5), ints(4, 5), ints(4, low=0, high=2)), case(F.cosine_embedding_loss, x, y, signs > 0, margin=-0.7),
    *(literal(aten.nll_loss_nd.default, floats(3, 200), torch.tensor([3, 156, 199], dtype=torch.uint8), reduction=n) for n in (0, 1)),
    case(F.triplet_margin_loss, ints(4, 5), ints(4, 5), ints(4, 5), swap=True),
    reductions(F.multi_margin_loss, scores, classes, weight=weight, p=2, margin=0.5, dynamic=ROWS),
    case(F.multi_margin_loss, scores, classes),
    case(F.multi_margin_loss, floats(5), torch.tensor(3), dynamic=False),
    reductions(F.multilabel_margin_loss, scores, several, dynamic=ROWS, again=False),
    case(F.multilabel_margin_loss, floats(5), torch.tensor([3, 0, -1, 1, 2]), dynamic=False, again=False),
    case(aten.multilabel_margin_loss_forward.default, scores, several, 1, dynamic=False, again=False),
    case(aten.multilabel_margin_loss.default, scores, several, 2, dynamic=False, again=False),
    case(lambda a, b, c: F.triplet_margin_loss(a, b, c, margin=0.5, p=1, swap=True), x, y, p, name="triplet swapped"),
    *(case(fn, torch.tensor([[float("inf"), 1.0, float("inf")], [0.5, float("nan"), 2.0]]), target, reduction="none", again=False, dynamic=False)
      for fn, target in ((F.multi_margin_loss, torch.tensor([0, 1])), (F.multilabel_margin_loss, torch.tensor([[0, -1, 1], [1, 0, -1]])))),
]
