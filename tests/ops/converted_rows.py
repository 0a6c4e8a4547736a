"""Which rows of the operator table the programs use that are exported."""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

from flambeau import _engine, exporter
from flambeau.options import make_options

CALL = re.compile(r"\b(\w+::\w+(?:\.\w+)?)\(")


@contextlib.contextmanager
def recording(rows: set[str]) -> Iterator[None]:
    """Adds the rows of each program that is exported meanwhile, as it stands when writes and views are gone."""

    def spy(read: Callable[..., Any]) -> Callable[..., Any]:
        def of(*args: Any, **kwargs: Any) -> Any:
            source = read(*args, **kwargs)

            def build(export_params: bool) -> _engine.Program:
                text, _ = _engine.dump(source.build(export_params), "functional", make_options())
                rows.update(CALL.findall(text))
                return source.build(export_params)

            return dataclasses.replace(source, build=build)

        return of

    readers = {name: getattr(exporter, name) for name in ("of_script", "of_export")}
    try:
        for name, read in readers.items():
            setattr(exporter, name, spy(read))
        yield
    finally:
        for name, read in readers.items():
            setattr(exporter, name, read)
