def export(module, args, kwargs=None, *, dynamic=False, opset=None):
    import torch
    import flambeau
    shapes = None
    if dynamic:
        auto = torch.export.Dim.AUTO
        shapes = {f"x{i}": {d: auto for d, size in enumerate(a.shape) if size > 1} for i, a in enumerate(args)}
    return flambeau.export(module, args, kwargs=kwargs, dynamic_shapes=shapes, opset_version=opset, verbose=False).model_proto
