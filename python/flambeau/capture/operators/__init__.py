"""What stands in the place of PyTorch's functions, layers and kinds of tensors while a module is captured, where torch.export cannot see
through them or would make numbers of sizes.

``stand_ins`` makes operators that nothing looks into; those of ``recurrent_layers``, ``spectrograms``, ``windows``,
``transforms``, ``run_time_factors``, ``fake_quantization``, ``finite_differences`` and ``matrix_norms`` keep sizes, as the functions
of ``size_keeping`` do. ``data_dependent`` has calls that look at data, ``indexing`` and ``tensors_of_lists`` take
numbers that a capture knows as symbols. ``vision``, ``graphs``, ``transformers``, ``flex_attention``, ``causal_biases``,
``grouped_products`` and ``averaging_norms`` are about one kind of layer each, ``sparse_tensors``, ``subclasses`` and ``tensor_data`` about tensors that
are not plain ones, ``gradients``, ``gradient_operators`` and ``vmaps`` about transforms of functions.
"""
