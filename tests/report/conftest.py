"""Pages in a real browser: Debian's `chromium` if it is installed, else those tests are skipped."""

import os
import re
import shutil
import subprocess
import sys

import pytest

if (folder := os.environ.get("FLAMBEAU_PYTHON")) is not None:
    sys.path.insert(0, folder)

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def browse(tmp_path_factory):
    """Opens a page, runs a script in it, and gives what it left in `document.documentElement.dataset`."""
    if BROWSER is None:
        pytest.skip("there is no Chromium")

    def run(page: str, script: str, *options: str) -> dict[str, str]:
        folder = tmp_path_factory.mktemp("page")
        code = f"""<script>
        const out = document.documentElement.dataset, page = window.flambeauReport, view = page.view;
        const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", {{key, bubbles: true, cancelable: true}}));
        (async () => {{ {script} }})().catch(error => {{ out.error = error.stack; }});
        </script>"""
        path = folder / "page.html"
        path.write_text(page.replace("</body>", code + "</body>"), encoding="utf-8")
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
                   "--virtual-time-budget=3000", "--window-size=1200,800", *options, "--dump-dom", path.as_uri()]
        dom = subprocess.run(command, capture_output=True, text=True, timeout=180).stdout
        root = re.search(r"<html[^>]*>", dom)
        assert root is not None, "the browser gave no page"
        found = dict(re.findall(r'data-([a-z-]+)="([^"]*)"', root.group()))
        assert "error" not in found, found["error"]
        return found

    return run
