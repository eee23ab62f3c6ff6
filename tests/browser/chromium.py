"""A real browser without a window, for tests that look at a page."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver

from tests.conftest import require

NARROW = 600
"""Windows below this width are a telephone's."""


@contextmanager
def chromium() -> Iterator[WebDriver]:
    """A browser that keeps what pages say on its console; skips the test where there is none."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    require(available=bool(binary and driver), what="Chromium with its driver")
    options = Options()
    options.binary_location = binary or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument("--window-size=1200,1100")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


def prefer_dark(browser: WebDriver, *, dark: bool) -> None:
    """Let the browser ask for a dark page, or a light one."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def show_width(browser: WebDriver, width: int) -> None:
    """Let the window be so many pixels wide, as narrow as on a telephone where that is asked for."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < NARROW}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
