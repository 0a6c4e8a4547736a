"""The man pages: a page for each command, from the tables that the help is made from."""

import os
import re
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def pages(flambeau, tmp_path_factory):
    folder = tmp_path_factory.mktemp("man") / "made"
    subprocess.run([flambeau, "man", folder], check=True)
    return {path.name: path.read_text() for path in folder.iterdir()}


def shown(flambeau, *words):
    return subprocess.run([flambeau, *words, "--help"], capture_output=True, text=True, check=True).stdout


def test_each_command_has_a_page_that_the_first_names(flambeau, pages):
    commands = re.findall(r"^  (\w+) {2,}", shown(flambeau).partition("Subcommands:")[2].partition("Examples:")[0], re.MULTILINE)
    assert {"convert", "verify"} <= set(commands) and "man" not in commands
    assert pages.keys() == {"flambeau.1", *(f"flambeau-{command}.1" for command in commands)}
    for command in commands:
        assert f"flambeau\\-{command}\\fR(1)" in pages["flambeau.1"]


@pytest.mark.parametrize("command", ["convert", "inspect", "dump", "ops", "completion"])
def test_a_page_has_the_options_of_the_help(flambeau, pages, command):
    page = pages[f"flambeau-{command}.1"].replace("\\-", "-")
    options = set(re.findall(r"(?<![\w-])--[a-z-]+", shown(flambeau, command).partition("Options:")[2].partition("Examples:")[0]))
    assert options and options <= set(re.findall(r"--[a-z-]+", page))


@pytest.mark.parametrize("command", ["verify", "diff", "doctor"])
def test_a_page_has_what_python_takes(pages, command):
    """Name and description of each argument, and no other."""
    help_ = subprocess.run(
        [sys.executable, "-m", "flambeau", command, "--help"],
        capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"},
    ).stdout
    listed = re.findall(r"^  ([\w-].*?)  +(.*)$", help_, re.MULTILINE)
    assert ("-h, --help", "show this help message and exit") in listed
    page = pages[f"flambeau-{command}.1"].partition("OPTIONS")[2].partition(".SH SEE")[0]
    page = re.sub(r"\\f[BIR]", "", page).replace("\\-", "-")
    assert sorted(re.findall(r"^\.TP\n(.*)\n(.*)$", page, re.MULTILINE)) == sorted(listed)


def test_nothing_is_taken_for_a_request(pages):
    known = {"TH", "SH", "TP"}
    for text in pages.values():
        for line in text.splitlines():
            assert not line.startswith("'") and (not line.startswith(".") or line[1:3] in known), line
            assert not re.search(r"\\(?!-|e|&|f[BIR])", line), line


def test_exit_codes_are_those_of_the_help(flambeau, pages):
    listed = re.findall(r"^  (\d+)  (.*)$", shown(flambeau), re.MULTILINE)
    assert len(listed) > 4
    page = pages["flambeau.1"].partition("EXIT STATUS")[2].replace("\\-", "-")
    for code, meaning in listed:
        assert f"\\fB{code}\\fR\n{meaning}\n" in page


def test_a_folder_that_cannot_be_made(flambeau, tmp_path):
    (tmp_path / "file").touch()
    result = subprocess.run([flambeau, "man", tmp_path / "file"], capture_output=True, text=True)
    assert result.returncode == 1 and "flambeau: cannot" in result.stderr
