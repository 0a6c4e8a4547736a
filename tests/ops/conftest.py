"""Collects the cases of the family files beside it, one test a case and mode."""

from __future__ import annotations

import importlib
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

import harness  # noqa: E402

BATCHES = harness.Batches()
# Cases that fail and are owed a fix, by test id; one that passes must leave the list.
KNOWN_FAILURES = set((HERE / "known_failures.txt").read_text().splitlines())


def families() -> list[str]:
    ours = {"harness", "literal", "census_calls", "conftest", "converted_rows"}
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem not in ours and not p.stem.startswith("test_"))


def _flatten(rows):
    for row in rows:
        if isinstance(row, harness.Case):
            yield row
        else:
            yield from _flatten(row)


def pytest_addoption(parser):
    parser.addoption("--family", action="append", help="only the cases of that file in tests/ops")
    parser.addoption("--opset", type=int, action="append", help="only that opset")


def in_selection(mode: str, opset: int, one: harness.Case, index: int, everything: bool) -> bool:
    """What runs by default: every third case at the default opset, with dynamic sizes where it has any; each other
    opset a share, in turn. Who asks for a family, an opset or a keyword, or sets FLAMBEAU_TEST_ALL, gets everything
    there is of it."""
    if opset in harness.OLDER_OPSETS:
        share = len(harness.OLDER_OPSETS) * (2 if everything else 24)
        return mode == "dynamic" and index % share == harness.OLDER_OPSETS.index(opset) * (1 if everything else 4)
    if opset != harness.DEFAULT_OPSET:
        return mode == "dynamic" and index % (len(harness.OTHER_OPSETS) * (1 if everything else 8)) == harness.OTHER_OPSETS.index(opset)
    return everything or (index % 3 == 0 and (mode == "dynamic" or one.dynamic is False))


def pytest_generate_tests(metafunc):
    if "one" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--family") or families()
    opsets = metafunc.config.getoption("--opset")
    everything = bool(os.environ.get("FLAMBEAU_TEST_ALL")) or narrowed(metafunc.config)
    arguments, ids, seen = [], [], {}
    for family in chosen:
        for i, one in enumerate(_flatten(importlib.import_module(family).CASES)):
            count = seen[family, one.name] = seen.get((family, one.name), 0) + 1
            label = f"{family}/{one.name}" + (f"#{count}" if count > 1 else "")
            for mode in harness.MODES:
                if mode == "dynamic" and one.dynamic is False:
                    continue
                for opset in one.opsets:
                    if opsets is None and not in_selection(mode, opset, one, i, everything):
                        continue
                    if opsets is not None and opset not in opsets:
                        continue
                    name = f"{label}-{mode}-{opset}"
                    marks = [pytest.mark.xdist_group(f"ops-{family}")]
                    if name in KNOWN_FAILURES:
                        marks.append(pytest.mark.xfail(reason="listed in known_failures.txt", strict=True))
                    arguments.append(pytest.param(one, mode, opset, marks=marks))
                    ids.append(name)
    metafunc.parametrize("one,mode,opset", arguments, ids=ids)


def pytest_collection_finish(session):
    names = ("one", "mode", "opset")
    BATCHES.plan([tuple(item.callspec.params[name] for name in names)
                  for item in session.items if hasattr(item, "callspec") and item.callspec.params.keys() >= set(names)])


@pytest.fixture
def batches():
    return BATCHES


# --- every row of the operator table has a case --------------------------------------
# Cases may run in several processes; what each captured meets in the first one.

EXERCISED: set[str] = set()


def narrowed(config) -> bool:
    return bool(config.getoption("--family") or config.getoption("--opset") or config.getoption("keyword"))


def whole_suite(config) -> bool:
    return not narrowed(config) and any(pathlib.Path(a.split("::")[0]).resolve() in (HERE, HERE.parent) for a in config.args)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    EXERCISED.update(getattr(node, "workeroutput", {}).get("operators", ()))


def pytest_sessionfinish(session, exitstatus):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["operators"] = sorted(BATCHES.operators)
        return
    EXERCISED.update(BATCHES.operators)
    if exitstatus != 0 or not EXERCISED or not whole_suite(session.config) or not os.environ.get("FLAMBEAU_TEST_ALL"):
        return
    import flambeau

    rows = {op.schema.split("(")[0] for op in flambeau.operators()}
    session.config.stash[PROBLEMS] = [f"{row} has no numeric case: add one to tests/ops" for row in sorted(rows - EXERCISED)]
    if session.config.stash[PROBLEMS]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


PROBLEMS = pytest.StashKey[list[str]]()


def pytest_terminal_summary(terminalreporter, config):
    for problem in config.stash.get(PROBLEMS, []):
        terminalreporter.write_line(f"FAILED operator table: {problem}")
