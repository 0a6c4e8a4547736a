"""``python -m flambeau``: what needs Python's side: verify, diff, doctor."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable, Sequence

from .errors import OnnxExporterError

EXIT_DIFFERENT = 4


def _verify(arguments: argparse.Namespace) -> int:
    from .archived import ArchivedProgram
    from .verification.archives import verify_archive

    archive = ArchivedProgram(arguments.archive, arguments.model, arguments.method)
    constants = dict(map(_constant, arguments.input))
    return 0 if verify_archive(archive, arguments.onnx, per_node=arguments.nodes, constants=constants) else EXIT_DIFFERENT


def _constant(text: str) -> tuple[str, object]:
    """(name, value) of "n=3"."""
    name, separator, value = text.partition("=")
    try:
        if not separator:
            raise ValueError("no '='")
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        raise OnnxExporterError(f"--input {text}: write NAME=VALUE, where VALUE is a number, 'text', None, or a list of such") from None


def _diff(arguments: argparse.Namespace) -> int:
    from .diff import diff_models

    differences = diff_models(arguments.a, arguments.b)
    print("\n".join(differences) if differences else "no differences")
    return EXIT_DIFFERENT if differences else 0


def _doctor(arguments: argparse.Namespace) -> int:
    from .doctor import diagnose

    lines, fine = diagnose()
    print("\n".join(lines))
    return 0 if fine else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 done, 1 failed, 2 usage, 4 the models differ."""
    parser = argparse.ArgumentParser("flambeau", description="Checks converted models, and the installation.")
    commands = parser.add_subparsers(required=True, metavar="command")

    def add(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    verify = add("verify", _verify, "Compare an ONNX model with the captured program that it came from.")
    verify.add_argument("archive", help="the .pt2 or TorchScript archive")
    verify.add_argument("onnx", help="the converted model")
    verify.add_argument("--model", metavar="NAME", help="which of the models of a .pt2 archive that holds several")
    verify.add_argument("--method", metavar="NAME", help="which method of a TorchScript archive's module, instead of forward")
    verify.add_argument(
        "--input", metavar="NAME=VALUE", action="append", default=[], help="what the model was converted with in place of an input: n=3; may be repeated"
    )
    verify.add_argument("--nodes", action="store_true", help="also find the first captured node that differs")
    diff = add("diff", _diff, "Compare two ONNX models: interface, structure by module, weights, metadata.")
    diff.add_argument("a", help="an ONNX model")
    diff.add_argument("b", help="the other one")
    add("doctor", _doctor, "Say what this installation can do.")
    arguments = parser.parse_args(argv)
    try:
        return arguments.run(arguments)
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}" if error.filename and error.strerror else f"error: {error}", file=sys.stderr)
    except OnnxExporterError as error:
        print(f"error: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
