"""Live programs to the engine: captured ones, TorchScript graphs, and traces. Weights go by pointer."""
