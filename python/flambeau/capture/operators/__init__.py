"""Replacements of PyTorch's functions, layers and kinds of tensors while a module is captured, where torch.export cannot see through them
or would make numbers of sizes.

- ``stand_ins`` defines opaque operators. ``size_keeping``, ``recurrent_layers``, ``spectrograms``, ``windows``, ``transforms``,
  ``run_time_factors``, ``fake_quantization``, ``finite_differences`` and ``matrix_norms`` keep dynamic sizes.
- ``data_dependent`` has calls that look at data; ``indexing`` and ``tensors_of_lists`` take numbers that a capture knows as symbols;
  ``counted_outputs`` keeps the shape of ``out=``.
- One kind of layer each: ``vision``, ``graphs``, ``transformers``, ``flex_attention``, ``causal_biases``, ``grouped_products``,
  ``averaging_norms``.
- Tensors that are not plain: ``sparse_tensors``, ``subclasses``, ``tensor_data``.
- Transforms of functions: ``gradients``, ``gradient_operators``, ``vmaps``.
"""
