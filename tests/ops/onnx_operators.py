"""ONNX's operators as torch.onnx.ops has them for PyTorch's programs."""

from harness import bools, case, floats, known

HEADS, GROUPED = [floats(2, 4, 5, 8), floats(2, 4, 7, 8), floats(2, 4, 7, 6)], [floats(2, 4, 5, 8), floats(2, 2, 7, 8), floats(2, 2, 7, 6)]
IN_A_ROW = [floats(2, 5, 32), floats(2, 7, 16), floats(2, 7, 16)]

CASES = [
    *[case(attention, *tensors, *rest, name=f"attention with {sorted(how)}", dynamic=False, **how)
      for attention in known("torch.onnx.ops.attention")
      for tensors, rest, how in (
          (HEADS, (), {}), (HEADS, (bools(5, 7),), {"scale": 0.3}), (HEADS, (floats(2, 1, 5, 7),), {"softcap": 2.0}), (HEADS, (), {"is_causal": True}),
          (HEADS, (None, floats(2, 4, 3, 8), floats(2, 4, 3, 6)), {"qk_matmul_output_mode": 1}), (GROUPED, (), {}),
          (IN_A_ROW, (), {"q_num_heads": 4, "kv_num_heads": 2}))],
    *[case(rotary, *args, name=f"rotary_embedding with {sorted(how)}", dynamic=False, **how)
      for rotary in known("torch.onnx.ops.rotary_embedding")
      for args, how in (
          ((floats(2, 4, 5, 8), floats(2, 5, 4), floats(2, 5, 4)), {}), ((floats(2, 4, 5, 8), floats(2, 5, 4), floats(2, 5, 4)), {"interleaved": True}),
          ((floats(2, 5, 32), floats(2, 5, 4), floats(2, 5, 4)), {"num_heads": 4}), ((floats(2, 4, 5, 12), floats(2, 5, 4), floats(2, 5, 4)), {"rotary_embedding_dim": 8}))],
]  # fmt: skip
