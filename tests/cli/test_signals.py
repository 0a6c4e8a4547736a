"""Interrupts, terminals and broken pipes."""

import os
import pty
import resource
import signal
import subprocess
import time

import pytest
from described import write_input
from large import BYTES, write_weights

PROGRAM = "input x: float32[2, 3]\ny: float32[2, 3] = aten.relu.default(x)\nreturn y\n"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """An archive that takes a while to copy."""
    path = tmp_path_factory.mktemp("large") / "large.pt2"
    write_weights(path)
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_the_target_as_it_was(flambeau, large, tmp_path, number):
    target = tmp_path / "model.onnx"
    target.write_text("before")
    process = subprocess.Popen([flambeau, "convert", large, "-o", target, "--external-data", "always"], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while process.poll() is None and not any(path != target for path in tmp_path.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "[interrupted]" in err
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_nothing_is_drawn_where_there_is_no_terminal(flambeau, large, tmp_path):
    result = subprocess.run([flambeau, "convert", large, "-o", tmp_path / "model.onnx"], capture_output=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert (tmp_path / "model.onnx").stat().st_size > BYTES


def slowed(flambeau, large, tmp_path, *options):
    """What a conversion that takes more than a second draws on a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen([flambeau, "convert", large, "-o", tmp_path / "model.onnx", *options], stderr=slave)
    os.close(slave)
    for _ in range(4):  # stopped for more than a second near its start: a slow machine
        time.sleep(0.005)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.4)
        process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=60) == 0
    drawn = b""
    try:
        while part := os.read(master, 65536):
            drawn += part
    except OSError:  # the other end is closed
        pass
    os.close(master)
    return drawn


def test_a_terminal_sees_a_bar_that_is_gone_at_the_end(flambeau, large, tmp_path):
    drawn = slowed(flambeau, large, tmp_path, "--external-data", "always")
    assert b"writing" in drawn and b"MB" in drawn
    assert drawn.endswith(b"\r\x1b[K")


def test_quiet_draws_nothing(flambeau, large, tmp_path):
    assert slowed(flambeau, large, tmp_path, "--external-data", "always", "-q") == b""


def test_a_closed_pipe_is_no_crash(flambeau):
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run([flambeau, "ops"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert result.returncode == 1
    assert "standard output cannot be written" in result.stderr


def test_a_full_disk_under_standard_output_is_no_success(flambeau, tmp_path):
    write_input(tmp_path / "model.pt2", "program", PROGRAM)
    with open("/dev/full", "w") as full:
        result = subprocess.run([flambeau, "dump", tmp_path / "model.pt2"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert "No space left" in result.stderr


@pytest.mark.parametrize("external", ["auto", "always"])
def test_a_full_disk_leaves_the_target_as_it_was(flambeau, large, tmp_path, external):
    target = tmp_path / "model.onnx"
    target.write_text("before")
    result = subprocess.run(
        [flambeau, "convert", large, "-o", target, "--external-data", external], capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES // 2, BYTES // 2)),
    )  # fmt: skip
    assert result.returncode == 1
    assert "[cannot-write]" in result.stderr and "model.onnx" in result.stderr
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
