"""What a generated program may say: forms of Python in which the generator puts variables.

{f}, {d}, {h}, {i}, {u}, {b}: a variable (float, double, half, integer, small integer, bool); {t}: any; {m}, {q}, {p}: a
float of two, three, four dimensions; {f2}: another variable. {dim}: a dimension of the first variable, {c}: a small
number, {s}: a float, {index}: an index of the first variable. {new}: the name that a statement binds.
"""

from __future__ import annotations

import torch


def forms(text: str) -> list[str]:
    return [form.strip() for line in text.strip().splitlines() for form in line.split(" ; ")]


ARITHMETIC = forms("""
torch.add({t}, {t2}) ; {t} - {t2} ; {t} * {t2} ; torch.div({f}, {f2}.abs() + 1) ; {f} + {c} ; {i} * {s} ; {i} // {c} ; {i} % {c} ; {f} % {s}
torch.div({f}, {s}, rounding_mode="floor") ; torch.div({i}, {c}, rounding_mode="trunc") ; torch.fmod({f}, {s}) ; torch.fmod({i}, {c})
torch.remainder({i}, -{c}) ; torch.remainder({f}, {f2}.abs() + 1) ; {f} ** 2 ; {i} ** 2 ; torch.pow({f}.abs() + 0.5, {f2})
{t} == {t2} ; {f} > {s} ; {i} <= {c} ; {f} < {f2} ; {b} & {b2} ; {b} | {b2} ; ~{b} ; {b} ^ {b2} ; torch.logical_and({i}, {b}) ; {i} & {c} ; {i} << 1 ; ~{i}
torch.where({b}, {t}, {t2}) ; torch.where({f} > 0, {f}, {s}) ; torch.where({b}, {i}, {c}) ; {t}.to(torch.float32) ; {t}.long() ; {t}.bool() ; {t}.int()
{f}.relu() ; {f}.sigmoid() ; {f}.tanh() ; {f}.exp().clamp(max=9.0) ; {f}.abs() ; {f}.neg() ; {f}.sin() ; {f}.floor() ; {f}.round() ; {f}.trunc() ; {f}.sign()
{f}.clamp(-1, 1) ; {f}.clamp(min={s}) ; {i}.clamp(0, {c}) ; F.gelu({f}) ; F.leaky_relu({f}, 0.1) ; F.softplus({f}) ; F.hardtanh({f}) ; F.silu({f}) ; F.elu({f})
{t}.maximum({t2}) ; {f}.minimum({f2}) ; torch.lerp({f}, {f2}, 0.3) ; torch.addcmul({f}, {f2}, {f2}, value={s}) ; torch.isnan({f}) ; {t}.numel() * {f} ; {f}.dim() + {f}
torch.bucketize({f}, torch.tensor([-1.0, 0.0, 1.0])) ; {f} * {t}.size(0) ; {f} / {t}.size({dim})
{t} / 2 ; {i} / {c} ; {u} / {c} ; {i}.float() / ({i2}.abs() + 1) ; torch.true_divide({i}, 2) ; torch.floor_divide({f}, {s}) ; {f} // {s} ; {i} // -{c}
torch.rsqrt({f}.abs() + 0.5) ; torch.sqrt({f}.abs()) ; torch.log({f}.abs() + 0.5) ; torch.log1p({f}.abs()) ; torch.expm1({f}.clamp(max=3)) ; torch.reciprocal({f}.abs() + 1)
torch.erf({f}) ; torch.atan2({f}, {f2}.abs() + 1) ; torch.hypot({f}, {f2}) ; torch.copysign({f}, {f2}) ; torch.frac({f}) ; torch.logit({f}.sigmoid(), 0.01)
torch.square({t}) ; torch.abs({i}) ; {i}.neg() ; {i}.sign() ; torch.clamp({t}, 0, {c}) ; torch.clamp({f}, min={f2}) ; torch.clamp({i}, max={s}) ; {u}.clamp(min={c})
{t} >= {c} ; {t} != {s} ; {i} > {s} ; torch.logical_not({t}) ; torch.logical_xor({t}, {t2}) ; torch.logical_or({b}, {f}) ; {b} == {t} ; {b} * {t} ; {b} + {b2}
{i} | {i2} ; {i} ^ {c} ; {i} >> 1 ; {u} & {c} ; {u} << 1 ; torch.bitwise_not({u}) ; torch.gcd({i}, {i2}) ; {u} * {c} ; {u} + {i} ; {u} - {f} ; {u} + {s} ; {u} // {c} ; {u} % {c}
{f} + torch.tensor({c}) ; {i} + torch.tensor({s}) ; {h} + torch.tensor({s}) ; {h} * {c} ; {h} + {i} ; {h} + {f} ; {d} + {f} ; {d} * {h} ; {d} + {s} ; {d} / {c} ; {d} > {f}
{f} + {f2}.sum() ; {h} * {f}.mean() ; {i} + {f}.mean() ; {i} * {d}.sum().clamp(-2, 2) ; {b} & ({i} > 0) ; {i} + True ; {f} * {b} ; {s} - {i} ; {c} - {f} ; {s} / ({f}.abs() + 1) ; {c} ** {f}.clamp(-2, 2)
torch.where({f} > 0, {i}, {f}) ; torch.where({b}, {s}, {c}) ; torch.where({b}, {i}, {s}) ; torch.where({t} > {c}, {t}, 0) ; torch.where({b}, {h}, {f}) ; torch.where({f} > {f2}, {d}, {f}) ; torch.where({b}, {u}, {i})
torch.rsub({f}, {s}) ; torch.rsub({i}, {i2}, alpha={c}) ; torch.add({f}, {f2}, alpha={s}) ; torch.sub({i}, {i2}, alpha={c}) ; torch.addcdiv({f}, {f2}, {f2}.abs() + 1, value={s}) ; torch.mul({t}, {s})
F.relu6({f}) ; F.hardswish({f}) ; F.hardsigmoid({f}) ; F.mish({f}) ; F.selu({f}) ; F.celu({f}) ; F.softsign({f}) ; F.logsigmoid({f}) ; F.gelu({f}, approximate="tanh") ; F.glu({f}.repeat(2, 2), -1)
F.threshold({f}, 0.2, {s}) ; F.softshrink({f}) ; F.tanhshrink({f}) ; F.hardshrink({f}) ; F.prelu({f}, torch.tensor([0.3])) ; F.relu({i}) ; torch.nan_to_num({f}) ; torch.heaviside({f}, {f2}) ; torch.isfinite({f})
torch.maximum({i}, {f}) ; torch.fmax({f}, {f2}) ; torch.minimum({i}, {i2}) ; torch.float_power({f}.abs() + 1, {s}) ; {i}.float().pow({c}) ; torch.pow({c}, {i}.clamp(0, 3)) ; torch.ldexp({f}, {i}.clamp(0, 3))
torch.isclose({f}, {f2}) ; torch.allclose({f}, {f}) * {f} ; torch.equal({t}, {t}) * {f} ; torch.deg2rad({f}) ; torch.sinc({f}) ; torch.xlogy({f}, {f2}.abs() + 1) ; torch.logaddexp({f}, {f2}) ; torch.ceil({f})
""")

DTYPES = forms("""
{t}.double() ; {t}.half() ; {t}.to(torch.int32) ; {i}.to(torch.int16) ; {i}.abs().clamp(0, 99).to(torch.uint8) ; {t}.to({t2}) ; {t}.to({t2}.dtype) ; {t}.type_as({t2}) ; {t}.float() ; {f}.to(torch.float32)
{f}.bfloat16().float() ; {f}.half().float() ; {f}.clamp(-9, 9).to(torch.int8) ; {t}.to(torch.float64).sum() ; {b}.int() ; {b}.float() ; {b}.half() ; {t}.sum(dtype=torch.float64) ; {t}.cumsum({dim}, dtype=torch.float32)
{t}.mean({dim}, dtype=torch.float32) ; {f}.softmax({dim}, dtype=torch.float64) ; torch.zeros_like({t}, dtype=torch.int32) ; torch.ones_like({t}, dtype=torch.bool) ; {t}.new_tensor([1, 2]) ; {t}.new_ones(2) + {f}.sum()
torch.tensor({s}, dtype=torch.float64) * {f} ; torch.tensor([1, {c}], dtype=torch.int32) ; torch.tensor({c}, dtype=torch.uint8) + {i} ; torch.full_like({t}, 1, dtype=torch.float16) ; torch.scalar_tensor({s}) * {f}
""")

REDUCTIONS = forms("""
{t}.sum() ; {t}.sum({dim}) ; {t}.sum({dim}, keepdim=True) ; {f}.mean({dim}) ; {f}.mean() ; {t}.prod({dim}) ; {f}.amax({dim}) ; {f}.amin({dim}, keepdim=True)
{f}.max({dim})[0] ; {f}.min({dim})[0] ; {f}.argmax({dim}) ; {f}.argmin({dim}, keepdim=True) ; {f}.var({dim}, unbiased=False) ; {f}.std({dim}, unbiased=False)
{t}.any({dim}) ; {t}.all({dim}) ; {t}.any() ; {f}.cumsum({dim}) ; {t}.cumsum({dim}) ; {f}.logsumexp({dim}) ; {f}.softmax({dim}) ; {f}.log_softmax({dim})
{f}.norm() ; {f}.norm(2, {dim}) ; {f}.sort({dim})[0] ; {f}.sort({dim}, descending=True)[0] ; {f}.topk(1, {dim})[0] ; {f}.median({dim})[0]
{t}.sum((0, -1)) ; {f}.mean((0, -1), keepdim=True) ; {f}.amax((0, -1)) ; {t}.prod() ; {t}.max() ; {t}.min() ; {f}.argmax() ; {i}.max({dim})[0] ; {i}.amin({dim}) ; {t}.all() ; {u}.sum({dim}) ; {b}.sum({dim})
torch.var_mean({f}, {dim}, unbiased=False)[1] ; torch.std_mean({f}, {dim}, unbiased=False)[0] ; {f}.var((0, -1), keepdim=True, unbiased=False) ; torch.aminmax({f}, dim={dim})[1] ; {f}.nanmean({dim}) ; {t}.count_nonzero({dim}) ; {t}.nansum({dim})
{t}.cumprod({dim}) ; {f}.cummax({dim})[0] ; {f}.cummin({dim})[0] ; {f}.logcumsumexp({dim}) ; {f}.kthvalue(1, {dim})[0] ; {i}.sort({dim})[0] ; {i}.sort(dim={dim}, stable=True)[1] ; {i}.argsort(dim={dim}, stable=True) ; {b}.cumsum({dim})
{f}.topk(2, {dim}, largest=False)[0] ; {i}.median() ; {i}.mode({dim})[0] ; {f}.norm(1, {dim}) ; {f}.norm(float("inf"), {dim}) ; torch.linalg.vector_norm({f}, dim={dim}) ; torch.dist({f}, {f2}) ; {i}.flatten().abs().bincount()
F.softmin({f}, {dim}) ; F.softmax({f} * 2, dim={dim}) ; {f}.quantile(0.5, dim={dim}) ; torch.histc({f}, 4, -2.0, 2.0) ; {i}.unique(return_counts=True)[1] ; {i}.unique(return_inverse=True)[1] ; torch.unique_consecutive({i}.flatten()).clone()
""")

VIEWS = forms("""
{t}.transpose({dim}, {dim2}) ; {t}.flatten() ; {t}.unsqueeze({dim}) ; {t}.squeeze({dim}) ; {t}.squeeze() ; {t}.flip({dim}) ; {t}.roll(1, {dim}) ; {t}.t()
{t}.movedim({dim}, {dim2}) ; {t}.contiguous() ; {t}.clone() ; {t}.reshape(-1) ; {t}.reshape({t}.size({dim}), -1) ; {t}.view({t}.size(0), -1)
{t}.reshape(-1, {t}.size({dim})) ; {t}.unfold({dim}, 2, 2) ; {t}.select({dim}, 0) ; {t}.select({dim}, -1) ; {t}.narrow({dim}, 1, 2) ; {t}.diagonal()
{t}.chunk(2, {dim})[0] ; {t}.split(2, {dim})[1] ; {t}.unbind({dim})[1] ; {t}.tensor_split(2, {dim})[1] ; {t}.repeat_interleave(2, {dim}) ; {t}.tile(2)
{t}.expand(2, *{t}.shape).clone() ; {t}.repeat(2, 1) ; {t}.repeat(2, 1, 1) ; {t}.swapaxes({dim}, {dim2}) ; {t}.rot90() ; {t}.diff(dim={dim})
{t}.view_as({t}) ; {t}.reshape({t}.shape) ; {t}.expand_as({t}) ; {t}.expand({t}.shape) ; {t}.to(torch.float32) ; {t}.detach() ; {t}.contiguous() ; {t}.flatten(0, -1) ; {t}.flatten(0, 1) ; {t}.unflatten(-1, (1, -1)) ; {t}.permute(*range({t}.dim())[::-1]) ; {t}.mT
{t}.unsqueeze(0).expand(2, *{t}.shape) ; {t}[:1].expand({t}.shape) ; {t}.as_strided((2, 2), (2, 1)) ; {t}.as_strided((2, 2), (3, 2), 1) ; {t}.clone().as_strided((3,), (2,)) ; {t}.contiguous().as_strided((2,), (3,), 1)
{t}.split_with_sizes([1, {t}.size(1) - 1], 1)[1] ; {t}.chunk(3, {dim})[-1] ; {t}.hsplit([1])[0] ; {t}.tensor_split([1, 2], {dim})[2] ; {t}.unfold({dim}, 2, 1) ; {t}.diagonal(1) ; {t}.diagonal(-1, 0, -1) ; torch.diag_embed({t}) ; torch.atleast_2d({t})
{t}.narrow({dim}, 0, {t}.size({dim}) - 1) ; {t}.select(0, {t}.size(0) - 1) ; {t}.fliplr() ; {t}.ravel() ; {t}.unsqueeze(-1).squeeze(-1) ; {t}.swapdims(0, -1) ; {t}.adjoint() ; {t}.reshape(1, -1, 1) ; {t}.view(1, -1) ; {t}.movedim((0, 1), (1, 0)) ; {t}.roll((1, -1), (0, -1)) ; torch.broadcast_to({t}[..., :1], {t}.shape)
""")

INDEXING = forms("""
{t}{index} ; {t}{index} ; {t}{index} ; {t}[..., 0] ; {t}[:, None] ; {t}[{i} % {t}.size(0)] ; {t}[{b}] ; {t}.masked_fill({b}, {c}) ; {f}.masked_fill({b}, {s})
{t}[:, {i} % {t}.size(1)] ; {t}[{i} % {t}.size(0), {i} % {t}.size(1)] ; {t}.index_select(0, ({i} % {t}.size(0)).flatten())
{t}.gather({dim}, torch.zeros_like({t}, dtype=torch.long)) ; torch.take_along_dim({f}, {f}.argsort(0), 0) ; {t}.take({i} % {t}.numel())
{t}[: {t}.size(0) // 2] ; {t}[{t}.size(0) // 2 :] ; {t}[-{t}.size(0) + 1 :] ; {t}[::2] ; {t}[1:-1]
torch.tril({t}) ; torch.triu({t}, 1) ; F.one_hot({i} % 5, 5) ; torch.nonzero({t}) ; {t}.unique() ; {t}.masked_select({b})
{t}.scatter({dim}, torch.zeros_like({t}, dtype=torch.long), {t}) ; {t}.index_add(0, torch.arange({t}.size(0)), {t})
{t}[{t}.size(0) - 1] ; {t}[:, -1:] ; {t}[[0, -1]] ; {t}[..., [1, 0]] ; {t}[[0, 1], [1, 0]] ; {t}[[0, 1], :, [1, 0]] ; {t}[torch.tensor([[0, 1], [1, 0]])] ; {t}[{b}, ...] ; {t}[{t} > 0] ; {t}[:, {b}] ; {t}[-1, ..., 0] ; {t}[None, :, None] ; {t}[0:0]
{t}.gather({dim}, {t}.argsort(dim={dim}, stable=True)) ; {f}.scatter(0, {f}.argsort(dim=0, stable=True), {f2}) ; {f}.scatter({dim}, torch.zeros_like({f}, dtype=torch.long)[:1], {s}) ; {f}.scatter_add({dim}, torch.ones_like({f}, dtype=torch.long), {f})
{f}.scatter_reduce({dim}, torch.zeros_like({f}, dtype=torch.long), {f}, "amax") ; {f}.scatter_reduce({dim}, torch.ones_like({f}, dtype=torch.long), {f}, "mean", include_self=False) ; {f}.scatter_reduce(0, torch.zeros_like({f}, dtype=torch.long), {f}, "sum")
{t}.index_copy({dim}, torch.tensor([1, 0]), {t}.narrow({dim}, 0, 2)) ; {t}.index_fill({dim}, torch.tensor([0]), {c}) ; {f}.index_put(({i} % {f}.size(0),), {f}[0]) ; {f}.index_put(({i} % {f}.size(0),), {f}[0], accumulate=True) ; {f}.index_reduce(0, torch.arange({f}.size(0)), {f}, "amax")
{f}.masked_scatter({f} > 0, {f}.flip(0)) ; {t}.select_scatter({t}[0], 0, -1) ; {t}.slice_scatter({t}[1:], 0, 0, -1) ; {t}.diagonal_scatter({t}.diagonal() * 0) ; torch.where({t} > 0)[0] ; torch.argwhere({t}) ; torch.searchsorted({f}.sort(-1)[0], {f}) ; {t}.take_along_dim({t}.argsort(dim={dim}, stable=True), {dim})
{t}.masked_fill({t} > {c}, 0) ; {f}.masked_fill(~{b}, float("-inf")).softmax(-1).nan_to_num() ; {t}.put({i} % {t}.numel(), {t}.flatten()[0].expand({i}.shape)) ; torch.isin({i}, torch.tensor([0, 1])) ; {t}.index_select({dim}, torch.tensor([1, 0, 1]))
""")

JOINS = forms("""
torch.cat([{t}, {t2}], {dim}) ; torch.cat([{t}, {t}], {dim}) ; torch.stack([{t}, {t}], {dim}) ; torch.broadcast_to({t}, (2, *{t}.shape)).clone() ; torch.meshgrid({t}.flatten(), {t2}.flatten(), indexing="ij")[0].clone()
torch.cat([{t}, {t2}, {t3}]) ; torch.stack([{t}, {t2}]) ; torch.stack([{f}.sum(), {f2}.mean(), torch.tensor({s})]) ; torch.hstack([{t}, {t2}]) ; torch.vstack([{t}, {t2}]) ; torch.cat([{i}.flatten(), {f}.flatten()]) ; torch.cat([{t}[:0], {t}]) ; torch.dstack([{t}, {t}]) ; torch.column_stack([{t}, {t2}])
torch.cat(torch.split({t}, 2)) ; torch.stack({t}.unbind({dim})) ; torch.cat({t}.chunk(2, {dim})[::-1], {dim}) ; torch.stack([row * 2 for row in {t}.unbind(0)][:2]) ; torch.cartesian_prod({i}[:3].flatten(), {i}.flatten()) ; torch.block_diag({m}, {m2}) ; torch.broadcast_tensors({t}, {t2})[0].clone() ; torch.combinations({i}.flatten()[:4])
""")

FACTORIES = forms("""
torch.arange({t}.size(0)) ; torch.arange({t}.size({dim})) * {c} ; torch.zeros({t}.size(0), 3) ; torch.ones_like({t}) ; torch.full_like({t}, {c})
torch.zeros_like({t}, dtype=torch.float32) ; {t}.new_zeros({t}.size(0)) ; {t}.new_full((2, {t}.size({dim})), {c}) ; torch.eye({t}.size(0))
torch.full(({t}.size(0), 2), {s}) ; torch.linspace(0.0, 1.0, 5) ; torch.tensor([1.5, -2.0, {s}]) ; torch.tensor([1, {c}, 3]) ; torch.tensor({c})
torch.arange(0, {t}.size(0), 2) ; torch.arange({t}.size(0), 0, -1) ; torch.arange(0.0, 2.0, 0.5) ; torch.full(({t}.size(0),), {c}) ; torch.full_like({t}, {s}, dtype=torch.float32) ; torch.linspace(0, 1, {t}.size(0)) ; torch.empty(0) ; torch.ones({t}.size(0), 1, dtype=torch.long) ; torch.ones({t}.size(0), {t}.size(0)).tril()
torch.eye(3, 2) ; torch.tensor([True, False]) ; torch.zeros({t}.shape) ; torch.ones({t}.size(0) * 2) ; torch.zeros(2, {t}.size(0) // 2) ; torch.arange({t}.numel()).view({t}.shape) ; torch.logspace(0, 1, 3) ; torch.tril_indices(3, 3)[0] ; torch.hann_window(4)
""")

PRODUCTS = forms("""
{f} @ {f2} ; torch.matmul({f}, {f2}.transpose(-1, -2)) ; {f} @ {f}.transpose(-1, -2) ; torch.outer({f}.flatten(), {f2}.flatten()) ; F.linear({f}, {f2}) ; torch.einsum("...i,...i->...", {f}, {f2}) ; torch.cdist({f}, {f2})
torch.einsum("ij,ik->jk", {m}, {m2}) ; torch.einsum("bij,bkj->bik", {q}, {q2}) ; torch.einsum("ij->ji", {m}) ; torch.einsum("bij->bj", {q}) ; torch.einsum("bij,bj->bi", {q}, {m}) ; torch.einsum("ii->i", {m} @ {m}.t()) ; torch.bmm({q}, {q2}.transpose(1, 2)) ; torch.addmm({m}, {m} @ {m}.t(), {m}, beta={s})
torch.baddbmm({q}, {q} @ {q}.mT, {q}, alpha={s}) ; torch.mv({m}, {m}[0]) ; torch.dot({m}[0], {m}[0]) ; torch.tensordot({m}, {m}, ([0], [0])) ; torch.kron({m}[:2], {m2}[:2]) ; torch.inner({m}, {m2}) ; {i} @ {i}.transpose(-1, -2) ; {d} @ {d}.transpose(-1, -2) ; torch.linalg.multi_dot([{m}, {m}.t(), {m}]) ; torch.trace({m} @ {m}.t()) ; torch.chain_matmul({m}, {m}.t()) ; torch.vdot({m}[0], {m}[0]) ; {m}.t().matmul({m2}).softmax(-1)
F.scaled_dot_product_attention({q}, {q}, {q2}) ; F.scaled_dot_product_attention({q}, {q2}, {q2}, is_causal=True) ; F.bilinear({m}, {m}, torch.ones(2, {m}.size(1), {m}.size(1))) ; F.cosine_similarity({f}, {f2}, dim=-1) ; F.pairwise_distance({m}, {m2}) ; F.embedding({i} % 3, torch.ones(3, 2)) ; F.embedding({i} % {m}.size(0), {m}) ; torch.linalg.cross({m}[:, :3], {m2}[:, :3]) ; F.mse_loss({f}, {f2}) ; F.cross_entropy({m}, {i}[: {m}.size(0)].flatten() % 2) ; F.nll_loss({m}, torch.zeros({m}.size(0), dtype=torch.long)) ; F.smooth_l1_loss({f}, {f2}, reduction="none")
""")

LAYERS = forms("""
F.pad({f}, (1, 2)) ; F.pad({f}, (1, 1), mode="reflect") ; F.pad({t}, (0, 1), value={c}) ; F.layer_norm({f}, {f}.shape[-1:]) ; F.normalize({f}, dim={dim})
F.pad({t}, (-1, 1)) ; F.pad({t}, (1, 0, 0, 2)) ; F.pad({q}, (1, 1), mode="replicate") ; F.pad({p}, (1, 1, 2, 1), mode="circular") ; F.pad({q}, (1, 1), mode="circular") ; F.pad({t}, ({t}.size(0), 0)) ; F.rms_norm({f}, {f}.shape[-1:]) ; F.layer_norm({q}, {q}.shape[1:]) ; F.instance_norm({p}, eps=0.1) ; F.group_norm({p}, 1) ; F.batch_norm({p}, {p}.mean((0, 2, 3)), {p}.var((0, 2, 3), unbiased=False)) ; F.local_response_norm({p}, 2)
F.avg_pool1d({q}, 2) ; F.max_pool1d({q}, 2, 1) ; F.max_pool2d({p}, 2) ; F.max_pool2d({p}, 2, 1, 1) ; F.avg_pool2d({p}, 2, 1, ceil_mode=True) ; F.avg_pool2d({p}, 3, 2, 1, count_include_pad=False) ; F.adaptive_avg_pool2d({p}, 1) ; F.adaptive_avg_pool2d({p}, (2, 1)) ; F.adaptive_max_pool2d({p}, 2) ; F.lp_pool2d({p}.abs() + 0.1, 2, 2) ; F.max_pool2d({p}, 3, 2, 1, ceil_mode=True) ; F.max_pool2d({p}, 2, return_indices=True)[1]
F.conv2d({p}, torch.ones(2, {p}.size(1), 2, 2)) ; F.conv2d({p}, torch.ones({p}.size(1), 1, 2, 2), groups={p}.size(1), padding=1) ; F.conv1d({q}, torch.ones(3, {q}.size(1), 1)) ; F.conv_transpose2d({p}, torch.ones({p}.size(1), 1, 2, 2), stride=2) ; F.conv2d({p}, torch.ones(2, {p}.size(1), 3, 3), padding="same") ; F.unfold({p}, 2) ; F.conv1d({q}, torch.ones(2, {q}.size(1), 2), torch.ones(2), padding=1, dilation=2)
F.interpolate({p}, scale_factor=2) ; F.interpolate({p}, size=(3, 4), mode="bilinear") ; F.interpolate({p}, scale_factor=2, mode="bilinear", align_corners=True) ; F.interpolate({q}, scale_factor=2, mode="linear") ; F.interpolate({p}, size=({p}.size(2) * 2, 3)) ; F.interpolate({p}, scale_factor=2, mode="bicubic") ; F.interpolate({p}, size=2, mode="area") ; F.pixel_shuffle({p}.repeat(1, 2, 1, 1), 2) ; F.pixel_unshuffle({p}[:, :, :2, :2], 2) ; F.channel_shuffle({p}, 2) ; F.grid_sample({p}, torch.zeros({p}.size(0), 2, 2, 2), align_corners=False)
F.dropout({f} + 0, 0.5, False) ; F.softmax({p}, 1) ; F.glu({p}, 1) ; F.fold(F.unfold({p}, 2, stride=2), ({p}.size(2) // 2 * 2, {p}.size(3) // 2 * 2), 2, stride=2) ; F.upsample({p}, scale_factor=2) ; F.normalize({p}, p=1.0, dim=1) ; F.avg_pool2d({p}.flatten(2).unsqueeze(1), (1, 2)) ; {p}.to(memory_format=torch.channels_last) ; {p}.contiguous(memory_format=torch.channels_last).permute(0, 2, 3, 1).reshape({p}.size(0), -1)
""")

# What goes over complex numbers and comes back, and what has an algorithm of its own.
MATHEMATICS = forms("""
torch.complex({f}, {f2} + 0 * {f}).abs() ; torch.view_as_real(torch.complex({f}, {f})) ; torch.polar({f}.abs(), {f}).real ; (torch.complex({f}, {f}) * {s}).imag ; torch.complex({f}, {f}).sum({dim}).real ; torch.complex({f}, {f}.flip(0))[..., 0].abs() ; (torch.complex({m}, {m}) @ torch.complex({m}.t(), {m}.t())).imag
({f} * 1j).imag ; ({f} + 1j).conj().imag + {f} ; torch.complex({f}, -{f}).conj().clone().imag ; torch.view_as_real({f} + 2j)[..., 1] ; torch.complex({f}, {f}).mean({dim}).imag ; torch.angle(torch.complex({f}.abs() + 1, {f})) ; torch.cat([torch.complex({f}, {f}), torch.complex({f2}, {f2})]).real ; torch.where({f} > 0, torch.complex({f}, {f}), 1j).imag
torch.lgamma({f}.abs() + 0.5) ; torch.digamma({f}.abs() + 1) ; torch.erfinv({f}.tanh() * 0.9) ; torch.special.i0({f}.clamp(-3, 3)) ; torch.special.entr({f}.abs()) ; torch.special.log_ndtr({f}) ; torch.special.zeta({f}.abs() + 2, 1.5) ; torch.polygamma(1, {f}.abs() + 1) ; torch.igamma({f}.abs() + 0.5, {f}.abs()) ; torch.special.bessel_j0({f}) ; torch.special.xlog1py({f}, {f}.abs()) ; torch.mvlgamma({f}.abs() + 2, 2) ; torch.erfc({f}) ; torch.special.expit({i}) ; torch.nextafter({f}, {f2}) ; torch.signbit({f}) ; torch.trapezoid({f}, dim={dim}) ; torch.cumulative_trapezoid({f}) ; torch.gradient({f}, dim=0)[0] ; torch.renorm({m}, 2, 0, 1.0) ; torch.cov({m}) ; torch.corrcoef({m} + torch.rand(0).sum()) ; torch.vander({m}[0]) ; torch.nanquantile({f}, 0.25) ; torch.nanmedian({f}, {dim})[0] ; torch.msort({f}) ; torch.bucketize({f}, torch.tensor([0.0, 1.0]), right=True)
F.embedding_bag({i}.flatten() % 3, torch.ones(3, 2), torch.tensor([0, 1]), mode="sum") ; F.one_hot({i} % 3) ; F.ctc_loss(torch.cat([{q}, {q}], -1).log_softmax(-1), torch.ones({q}.size(1), 1, dtype=torch.long), torch.full(({q}.size(1),), {q}.size(0)), torch.ones({q}.size(1), dtype=torch.long)) ; F.binary_cross_entropy({f}.sigmoid(), {f2}.sigmoid() + 0 * {f}) ; F.kl_div({f}, {f}.exp().clamp(max=3)) ; F.huber_loss({f}, {f2}) ; F.triplet_margin_loss({m}, {m}.flip(0), {m} * 2) ; F.cosine_embedding_loss({m}, {m}.flip(0), torch.ones({m}.size(0))) ; F.multi_margin_loss({m}, torch.zeros({m}.size(0), dtype=torch.long)) ; F.gaussian_nll_loss({f}, {f}, {f}.abs() + 1) ; F.affine_grid({q}[:1, :2, :3] * 0 + 1, (1, 1, 2, 3)) ; F.max_unpool2d(*F.max_pool2d({p}, 2, return_indices=True), 2) ; F.fractional_max_pool2d({p}, 2, output_size=1, _random_samples=torch.zeros({p}.size(0), {p}.size(1), 2)) ; F.adaptive_avg_pool1d({q}, 3) ; F.adaptive_max_pool1d({q}, 2) ; F.lp_pool1d({q}, 2, 2) ; F.conv3d({p}.unsqueeze(0), torch.ones(1, {p}.size(0), 1, 2, 2)) ; F.conv_transpose1d({q}, torch.ones({q}.size(1), 2, 3), stride=2, padding=1) ; F.interpolate({p}.repeat(1, 1, 4, 4), scale_factor=0.5, mode="bilinear", antialias=True) ; F.interpolate({p}, scale_factor=1.5, recompute_scale_factor=True) ; F.interpolate({p}, size=(5, 3), mode="nearest-exact") ; F.pad({p}, (1, 0, 1, 0), mode="replicate") ; F.alpha_dropout({f}, 0.5, False) ; F.rrelu({f}) ; F.hinge_embedding_loss({f}, torch.ones_like({f}))
""")

# Of which the last digits depend on the order of sums, where what a program does next may ask whether one is 0.
ROUNDED = [f"torch.round({form} * 64 + 0.3) / 64" for form in forms("""
torch.fft.rfft({f}).abs() ; torch.fft.rfft({f}, dim={dim}).real ; torch.fft.irfft(torch.fft.rfft({f}), n={f}.size(-1)) ; torch.fft.rfft2({m}).real ; torch.fft.fftshift({f}, {dim}) ; torch.fft.ihfft({f}, dim={dim}).real ; torch.fft.rfft({f}, n=4, norm="ortho").real ; torch.fft.hfft(torch.complex({f}, {f}), n={f}.size(-1) + 1) ; torch.stft({f}.flatten(), 2, 1, return_complex=True, window=torch.ones(2)).abs()
torch.linalg.inv({m}[:2, :2] * 0.1 + torch.eye(2)) ; torch.linalg.det({m}[:2, :2]) ; torch.linalg.solve({m}[:2, :2] * 0.1 + torch.eye(2), {m}[:2]) ; torch.linalg.cholesky({m} @ {m}.t() + torch.eye({m}.size(0))) ; torch.linalg.qr({m})[1].abs()[0] ; torch.linalg.svdvals({m}) ; torch.linalg.eigvalsh({m} + {m}.t() if {m}.size(0) == {m}.size(1) else {m} @ {m}.t()) ; torch.linalg.matrix_power({m} @ {m}.t() * 0.1, 2) ; torch.linalg.norm({m}, "fro") ; torch.linalg.norm({f}, 1, {dim}) ; torch.linalg.slogdet({m} @ {m}.t() + torch.eye({m}.size(0)))[1] ; torch.linalg.solve_triangular({m}[:2, :2].triu() * 0.1 + torch.eye(2), {m}[:2], upper=True) ; torch.linalg.matrix_exp({m}[:2, :2] * 0.1)
""")]

EXPRESSIONS = [*ARITHMETIC, *DTYPES, *REDUCTIONS, *VIEWS, *INDEXING, *JOINS, *FACTORIES, *PRODUCTS, *LAYERS, *MATHEMATICS, *ROUNDED]

# Statements that bind several names, which may be views of one tensor.
BINDINGS = forms("""
{new}, {new}b = {t}.chunk(2, {dim}) ; {new}, {new}b = {t}.split([1, {t}.size({dim}) - 1], {dim}) ; {new}, {new}b = {t}.unbind({dim})[:2] ; {new}, {new}b = {f}.max({dim}) ; {new}, {new}b = {f}.sort(dim={dim}, stable=True) ; {new}, {new}b = {f}.min({dim})
{new}, {new}b = torch.var_mean({f}, {dim}, unbiased=False) ; {new}, {new}b = {t}.tensor_split(2, {dim}) ; {new}, {new}b = torch.broadcast_tensors({t}, {t2})[0].clone(), {t} * 1 ; {new} = {new}b = {t}.clone() ; {new} = {t}.size(0) * torch.ones(2) ; {new}, {new}b = {i}.unique(return_inverse=True)
{new} = {new}b = {t}.contiguous() ; {new} = {new}b = {t}.to({t}.dtype) ; {new}, {new}b = {f}.cummax({dim}) ; {new}, {new}b = torch.frexp({f}) ; {new}, {new}b = torch.aminmax({f}) ; {new}, {new}b = torch.split({t}, {t}.size({dim}) - 1, {dim})
""")

# Statements that write in place; the variable itself may be a view of another.
WRITES = forms("""
{t}.add_({c}) ; {f}.mul_({s}) ; {f}.sub_({f2}) ; {t}.zero_() ; {t}.fill_({c}) ; {f}.relu_() ; {f}.clamp_(-1, 1) ; {t}{index} = {c} ; {f}{index} = {s} ; {t}{index} += {c}
{t}[0] = {t}[-1] ; {t}[:, 0] = {c} ; {t}.select({dim}, 0).add_({c}) ; {t}.narrow({dim}, 0, 1).fill_({c}) ; {f}.transpose({dim}, {dim2}).mul_(2) ; {t}[..., -1] *= 2
{t}[{b}] = {c} ; {f}[{f} > 0] = {s} ; {t}.masked_fill_({b}, {c}) ; {t}.copy_({t2}) ; {t}[1:] = {t}[:-1].clone() ; {f}.view(-1)[::2].neg_() ; {f}.flatten()[0] = {s}
{t}[{i} % {t}.size(0)] = {c} ; {f}.index_fill_(0, torch.tensor([0, 2]), {s}) ; {t}.diagonal().fill_({c}) ; {f}.exp_().clamp_(max=3.0) ; {t}.t()[0] = {c}
{f}.index_put_(({i} % {f}.size(0),), torch.tensor({s}), accumulate=True) ; {t}.squeeze_({dim}) ; {t}.unsqueeze_({dim}) ; {t}.transpose_({dim}, {dim2})
{t}.chunk(2, {dim})[0].zero_() ; {t}.unbind({dim})[1].add_({c}) ; {t}.split(2, {dim})[1].mul_(2) ; {t}[..., ::2].copy_({t}[..., :1]) ; {t}.permute(*range({t}.dim())[::-1])[0] = {c} ; {t}.movedim({dim}, 0)[0].fill_({c}) ; {t}.unsqueeze({dim}).add_({c}) ; {t}.squeeze().fill_({c}) ; {t}.reshape(-1)[1] = {c} ; {t}.view({t}.size(0), -1)[:, 0] = {c}
{t}.scatter_({dim}, torch.zeros_like({t}, dtype=torch.long), {c}) ; {f}.scatter_add_(0, torch.zeros_like({f}, dtype=torch.long), {f2}) ; {t}.index_copy_({dim}, torch.tensor([1, 0]), {t}.narrow({dim}, 0, 2).clone()) ; {t}.index_add_({dim}, torch.tensor([0, 0]), {t}.narrow({dim}, 0, 2).clone()) ; {f}.masked_scatter_({f} > 0, {f}.flip(0)) ; {f}[[0, 1]] = {f}[[1, 0]] ; {f}[:, [0, 1]] *= {s} ; {t}.index_put_((torch.tensor([0, 1]), torch.tensor([1, 0])), {t}[0, 0])
{t}.as_strided((2, 2), (2, 1)).fill_({c}) ; {t}.as_strided((2,), (3,), 1).add_({c}) ; {t}.clone().as_strided((2,), (2,)).zero_() ; {t}.tril_() ; {t}.triu_(1) ; {t}.t_() ; {t}.swapaxes_({dim}, {dim2}) ; {f}.sigmoid_() ; {f}.tanh_() ; {f}.floor_() ; {f}.abs_() ; {t}.neg_() ; {t}.bitwise_not_() ; {b}.logical_not_() ; {b}.logical_and_({b2}) ; {i}.remainder_({c}) ; {i}.floor_divide_({c}) ; {i} += {i2} ; {f} += {i} ; {f} *= {b} ; {f} -= {f2}.mean()
{f}.add_({f2}, alpha={s}) ; {f}.addcmul_({f2}, {f2}) ; {f}.lerp_({f2}, 0.5) ; {f}.div_({c}) ; {i}.div_({c}, rounding_mode="floor") ; {f}.pow_(2).clamp_(max=4) ; {f}.copy_({i}) ; {i}.copy_({f}) ; {f}.fill_({f2}.sum()) ; {f}[0].copy_({f2}[0]) ; {f}[-1] = {f2}[0].sum() ; {f}.fill_diagonal_({s}) ; {f}.cumsum_({dim}) ; {f}.clamp_min_({s}) ; {f}.masked_fill_({f} > 0, {s}) ; {f}.where({f} > 0, {f2}).add_(1) ; F.relu({f}, inplace=True) ; F.hardtanh({f}, inplace=True) ; F.elu({f}, inplace=True) ; F.leaky_relu({f}[0], 0.1, inplace=True)
{t}.contiguous().add_({c}) ; {t}.to(torch.float32).add_({c}) ; {t}.expand({t}.shape).add_({c}) ; {t}.view_as({t}).zero_() ; {t}.detach().add_({c}) ; {t}.reshape({t}.shape).mul_(2) ; {t}.roll(1, 0).add_(1) ; torch.add({f}, {f2}, out={f2}) ; torch.mul({f}, 2, out={f}) ; {t}.unflatten(-1, (1, -1)).zero_() ; {t}.unfold({dim}, 2, 2).add_({c}) ; {f}.set_({f2})
""")

# Regions of torch.export, whose operators eager PyTorch runs as well.
HIGHER_ORDER = forms("""
{new} = torch.ops.higher_order.cond({f}.sum() > {s}, lambda a: (a * 2,), lambda a: (a - 1,), ({f},))[0] ; {new} = torch.ops.higher_order.cond({b}.any(), lambda a, c: (a + c.sum(),), lambda a, c: (a.clone(),), ({f}, {f2}))[0] ; {new}, {new}b = torch.ops.higher_order.cond({f}.mean() > 0, lambda a: (a.sum(0), a * {c}), lambda a: (a.amax(0), a - 1), ({f},))
{new} = torch.ops.higher_order.while_loop(lambda k, a: k < 3, lambda k, a: (k + 1, a * {s}), (torch.tensor(0), {f}.clone()), ())[1] ; {new} = torch.ops.higher_order.while_loop(lambda k, a, c: k < 4, lambda k, a, c: (k + 2, a + c.mean()), (torch.tensor({c}), {f}.clone()), ({f2},))[1] ; {new} = torch.ops.higher_order.while_loop(lambda a: a.abs().sum() > 3.1416, lambda a: (a * 0.5,), ({f}.clone(),), ())[0]
""")

# Regions of TorchScript, which write {v}, a float.
REGIONS = (
    "if bool({f}.sum() > {s}):\n    {v} = {v} * 2\nelse:\n    {v} = {v} - {f2}.sum()",
    "if {t}.size(0) > 4:\n    {v} = {v} + 1",
    "if bool({v}.mean() > 0):\n    {v}[0] = {s}",
    "for j in range({t}.size(0)):\n    {v} = {v} + {t}[j].sum()",
    "for j in range({t}.size(0)):\n    if bool({t}[j].sum() > 0):\n        {v} = {v} * 0.5",
    "for j in range(3):\n    {v}[j % {v}.size(0)] = {s}",
    "for j in range({v}.size(0)):\n    if bool({v}[j].sum() > {s}):\n        break\n    {v}[j] = {v}[j] * 2",
    "k = 0\nwhile k < {t}.size(0):\n    {v} = {v} + k\n    k += 2",
    "parts = [{v}[0]]\nfor j in range({v}.size(0)):\n    parts.append({v}[j] * j)\n{v} = torch.stack(parts)",
    "for row in {v}.unbind(0):\n    {v} = {v} + row.sum()",
    "for j in range({v}.size(0)):\n    if j % 2 == 0:\n        continue\n    {v}[j].mul_({s})",
    "if bool({f}.sum() > {s}):\n    {v}.add_(1)\nelse:\n    {v}.select(0, 0).zero_()",
    "if bool({b}.any()):\n    {v} = {v}.clone()\n    {v}[0] = {s}\n{v}[-1] += 1",
    "for j in range({t}.size(0)):\n    for k in range(2):\n        {v} = {v} + j * k",
    "total = 0.0\nfor j in range({v}.size(0)):\n    total += float({v}[j].sum())\n{v} = {v} + total",
    "count = 0\nfor j in range({i}.size(0)):\n    if bool({i}[j].sum() > 0):\n        count += 1\n{v} = {v} * count",
    "while bool({v}.abs().sum() > 4.0):\n    {v} = {v} * 0.5",
    "parts = torch.split({v}, 2)\n{v} = torch.cat([part * k for k, part in enumerate(parts)])",
    "for k, row in enumerate({v}.unbind(0)):\n    row.add_(k)",
    "parts = [row * 2 for row in {v}.unbind(0)]\nfor j in range(len(parts)):\n    parts[j] += j\n    parts[0].mul_({s})\n{v} = torch.stack(parts)",
    "parts = [row + 1 for row in {v}.unbind(0)]\nif bool({v}.sum() > {s}):\n    parts[-1].zero_()\nelse:\n    parts[0] -= {s}\n{v} = torch.stack(parts)",
    "parts = [{v} * 1, {v} * 2]\nfor j in range({v}.size(0)):\n    parts[j % 2][j] = {s}\n{v} = parts[0] + parts[1]",
    "parts = []\nfor j in range({v}.size(0)):\n    {v}[j] = {v}[j] * {s}\n    parts.append({v}[j])\n{v} = torch.stack(parts)",
    "parts = []\nj = 0\nwhile j < {v}.size(0):\n    {v}[j] += {v}[j - 1]\n    parts.insert(0, {v}[j])\n    j += 1\n{v} = torch.stack(parts)",
    "parts = []\nfor row in {v}.unbind(0):\n    parts.append(row.add_({s}))\n{v} = torch.stack(parts)",
    "pieces = {v}.split(2)\npieces[0].mul_({s})\n{v} = torch.cat(pieces)",
    "rows = [row.sum() for row in {v}.unbind(0)]\n{v} = {v} + rows[-1]",
    "if {v}.dim() > 1:\n    {v} = {v} + {v}.sum(-1, keepdim=True)\nelse:\n    {v} = {v} * 2",
    "for j in range({v}.size(0) - 1, 0, -1):\n    {v}[j] = {v}[j - 1]",
    "table = {\"a\": {v}, \"b\": {f}}\n{v} = table[\"a\"] + table[\"b\"].sum()",
    "j = 0\nwhile j < {v}.size(0) and bool({v}[j].sum() > {s}):\n    {v}[j] = 0\n    j += 1",
    "parts = [{v}, {v} * 2]\nparts.append({v} + 1)\nparts.reverse()\n{v} = parts.pop() + parts[0]",
    "parts = [{v}[j] for j in range({v}.size(0))]\nparts.insert(0, {v}[-1])\n{v} = torch.stack(parts)",
    "parts = [row * 2 for row in {v}.unbind(0)]\nfor j in range(len(parts)):\n    parts[j] = parts[j] + j\n{v} = torch.stack(parts[::-1])",
    "parts = [{v}[0]]\nfor j in range({t}.size(0)):\n    if bool({t}[j].sum() > 0):\n        parts.append(parts[-1] * 0.5)\n{v} = torch.stack(parts).sum(0)",
    "first, second = {v}, {f}.sum()\nfor j in range({t}.size(0)):\n    first, second = first + second, first.sum() * 0.1\n{v} = first",
    "count = int({i}.abs().sum()) % 3\nfor j in range(count):\n    {v} = {v} + j\n{v} = {v}[: max(count, 1)]",
    "for row, other in zip({v}.unbind(0), {v}.flip(0).unbind(0)):\n    row.add_(other.sum() * 0.1)",
    "sizes = [{t}.size(k) for k in range({t}.dim())]\n{v} = {v} * sizes[0] + sizes[-1]",
    "if bool({b}.any()) and bool({f}.sum() > 0):\n    {v} = {v}[1:]\nelif bool({f}.mean() < {s}):\n    {v} = {v}[:1]",
    "total = 0\nfor j in range({v}.size(0)):\n    if bool({v}[j].sum() > 0):\n        total += j\n        continue\n    total -= 1\n{v} = {v} * total",
    "best = {v}[0]\nfor j in range({v}.size(0)):\n    if bool({v}[j].sum() > best.sum()):\n        best = {v}[j]\n{v} = {v} - best",
    "while True:\n    {v} = {v} * 0.5\n    if bool({v}.abs().sum() < 2.0):\n        break",
    "pair = ({v}, {v}.size(0))\nif bool({b}.all()):\n    pair = ({v} + 1, 3)\n{v} = pair[0] * pair[1]",
    "for j in range({v}.size(0)):\n    for k in range(j):\n        {v}[j] += {v}[k] * 0.1",
    "found = torch.zeros(0)\nfor j in range({v}.size(0)):\n    if bool({v}[j].sum() > 0):\n        found = torch.cat([found, {v}[j].flatten()[:1]])\n{v} = {v} + found.sum() + found.size(0)",
    "k = {v}.size(0)\nwhile k > 1:\n    k = k // 2\n    {v} = {v}[:k] + {v}[-k:]",
    "limit = float({f}.sum())\nif limit > {s}:\n    {v} = {v} * limit\nelse:\n    {v} = {v} / (abs(limit) + 1)",
    "flags = [bool(row.sum() > 0) for row in {v}.unbind(0)]\nfor j, flag in enumerate(flags):\n    if flag:\n        {v}[j] = -{v}[j]",
    "for j in range({v}.size(0)):\n    if bool({v}[j].sum() > {s}):\n        {v} = torch.cat([{v}[:j], {v}[j + 1 :] * 2, {v}[j : j + 1]])\n        break",
    "table = {\"sum\": {v}.sum()}\nfor j in range(3):\n    table[\"sum\"] = table[\"sum\"] * 0.5 + {f}.mean()\n{v} = {v} + table[\"sum\"]",
)

FLOAT, INTEGER, SMALL = (torch.float32,), (torch.int64, torch.int32), (torch.int8, torch.uint8, torch.int16)
# By a place's first letter: the dtypes, and the number of dimensions, of the variables that fit it.
KINDS: dict[str, tuple[tuple[torch.dtype, ...] | None, int | None]] = {
    "f": (FLOAT, None),
    "d": ((torch.float64,), None),
    "h": ((torch.float16,), None),
    "i": (INTEGER, None),
    "u": (SMALL, None),
    "b": ((torch.bool,), None),
    "t": (None, None),
    "v": (FLOAT, None),
    "m": (FLOAT, 2),
    "q": (FLOAT, 3),
    "p": (FLOAT, 4),
}
