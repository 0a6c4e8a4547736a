"""Pages in a real browser, by Playwright: Debian's `chromium` if it is installed, else those tests are skipped."""

import asyncio
import os
import shutil
import sys

import pytest
from playwright.async_api import async_playwright

if (folder := os.environ.get("FLAMBEAU_PYTHON")) is not None:
    sys.path.insert(0, folder)

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# What a script finds there: the page's own data set, to which it adds, and the keyboard.
SCRIPT = """async () => {
  const out = document.documentElement.dataset, page = window.flambeauReport, view = page.view;
  const press = async (target, key) => {
    if (target === document.body) document.activeElement.blur(); else target.focus({preventScroll: true});
    await pressKey(key);
  };
  %s
  return {...out};
}"""


async def visit(uri: str, script: str, scheme: str) -> dict[str, str]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        try:
            page = await browser.new_page(viewport={"width": 1200, "height": 800}, color_scheme=scheme)
            page.set_default_timeout(120_000)
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            await page.expose_function("pressKey", page.keyboard.press)
            await page.goto(uri)
            found = await page.evaluate(SCRIPT % script)
            assert not errors, errors
            return found
        finally:
            await browser.close()


@pytest.fixture(scope="session")
def browse(tmp_path_factory):
    """Opens a page, runs a script in it, and gives what that left in `document.documentElement.dataset`."""
    if BROWSER is None:
        pytest.skip("there is no Chromium")

    def run(page: str, script: str, scheme: str = "light") -> dict[str, str]:
        path = tmp_path_factory.mktemp("page") / "page.html"
        path.write_text(page, encoding="utf-8")
        return asyncio.run(visit(path.as_uri(), script, scheme))

    return run
