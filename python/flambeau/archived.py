"""One of the programs that an archive holds, as PyTorch loads it."""

from __future__ import annotations

import dataclasses
import zipfile
from typing import TYPE_CHECKING, Any

from .errors import OnnxExporterError

if TYPE_CHECKING:
    import torch

__all__ = ["ArchivedProgram", "chosen_method"]


@dataclasses.dataclass(frozen=True)
class ArchivedProgram:
    """A program in an archive; torch is imported when it is loaded.

    Attributes:
        path: Of the archive.
        model_name: Which of the models of a ``.pt2`` archive; None means the one named "model", or the only one.
        method: Which method of a TorchScript archive's module; None means ``forward``.
    """

    path: str
    model_name: str | None = None
    method: str | None = None

    @property
    def is_torchscript(self) -> bool:
        """Whether the file is an archive of ``torch.jit.save``: only these hold TorchScript's constants."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                return any(name.partition("/")[2] == "constants.pkl" for name in archive.namelist())
        except (OSError, zipfile.BadZipFile):
            return False

    def exported(self) -> torch.export.ExportedProgram:
        """What ``torch.export.save`` or ``torch.export.pt2_archive.package_pt2`` wrote.

        Raises:
            OnnxExporterError: torch cannot load the archive, or it holds no such model.
        """
        import torch

        if self.method is not None:
            raise OnnxExporterError(
                f"the method '{self.method}' is asked for, but {self.path} holds models, which have none; choose by model_name (--model)"
            )
        try:
            if self.model_name is None and not self._holds_other_names():
                return torch.export.load(self.path)
            from .torch_names import found, missing

            load = found("torch.export.pt2_archive._package.load_pt2")
            if load is None:
                raise OnnxExporterError(f"model_name chooses among several models, and {missing('torch.export.pt2_archive._package.load_pt2')}")
            programs = load(self.path).exported_programs
        except Exception as error:
            raise OnnxExporterError(f"torch cannot load {self.path}: {error}") from error
        name = next(iter(programs)) if self.model_name is None and len(programs) == 1 else self.model_name
        if name not in programs:
            asked = f"{len(programs)} models, none of them named 'model'" if name is None else f"no model '{name}'"
            known = ", ".join(f"'{each}'" for each in sorted(programs))
            raise OnnxExporterError(f"{self.path} holds {asked}; choose one by its name: {known}")
        return programs[name]

    def _holds_other_names(self) -> bool:
        """Whether the archive has models, and none of the name that ``torch.export.load`` takes."""
        with zipfile.ZipFile(self.path) as archive:
            names = [name.partition("/")[2] for name in archive.namelist()]
        models = [name for name in names if name.startswith("models/") and name.endswith(".json")]
        return bool(models) and "models/model.json" not in models

    def script(self) -> torch.jit.ScriptModule | torch._C.ScriptMethod:
        """What ``torch.jit.save`` wrote, on the CPU: the module, or the method that is asked for.

        Raises:
            OnnxExporterError: torch cannot load the archive, or the module has no such method.
        """
        import torch

        if self.model_name is not None:
            raise OnnxExporterError(
                f"the model '{self.model_name}' is asked for, but {self.path} holds one TorchScript module; choose among its methods by method (--method)"
            )
        try:
            module = torch.jit.load(self.path, map_location="cpu")
        except Exception as error:
            hint = "flambeau.convert(path, target, inputs={'x': 'float32[n,3]'}) reads archives without torch, also those of operators that it no longer has"
            raise OnnxExporterError(f"torch cannot load {self.path}: {error}\n{hint}") from error
        return chosen_method(module, self.method)


def chosen_method(module: Any, method: str | None) -> Any:
    """The module, or one of its methods.

    Raises:
        OnnxExporterError: It is no TorchScript module, or has no such method.
    """
    import torch

    if method is None or method == "forward":
        return module
    if not isinstance(module, torch.jit.ScriptModule):
        raise OnnxExporterError(
            f"the method '{method}' is asked for, but a {type(module).__qualname__} has none to choose from: "
            "only TorchScript modules and archives of them do"
        )
    known = module._c._method_names()
    if method not in known:
        raise OnnxExporterError(f"{module.original_name} has no method '{method}'; choose one of {', '.join(known)}")
    return getattr(module, method)
