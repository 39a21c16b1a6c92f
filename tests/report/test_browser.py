"""The page in a real browser: quiet, self-contained, as wide as its window."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from evaluand.report.page import render_page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))),
    None,
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium or google-chrome on PATH"
)
Scheme = Literal["light", "dark"]
WIDTHS = (360, 1280)


@dataclass
class Seen:
    """What a page did while it was open."""

    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One headless browser for the module."""
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=quiet)
        yield started
        started.close()


@pytest.fixture
def written(
    tmp_path: Path, summary: dict[str, Any], samples: list[dict[str, Any]]
) -> Path:
    """The report as a file."""
    path = tmp_path / "report.html"
    path.write_text(render_page(summary, samples), encoding="utf-8")
    return path


def _open(
    browser: Browser, path: Path, width: int, scheme: Scheme
) -> tuple[Page, Seen]:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    page, seen = context.new_page(), Seen()
    page.on("console", lambda message: seen.messages.append(message.text))
    page.on("pageerror", lambda error: seen.messages.append(str(error)))
    page.on("dialog", lambda dialog: seen.messages.append(dialog.message))
    page.on("request", lambda request: seen.requests.append(request.url))
    page.goto(path.as_uri())
    return page, seen


def _overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_quiet_and_never_scrolls_sideways(
    browser: Browser, written: Path, width: int, scheme: Scheme
) -> None:
    """Closed and with every section open: no message, one request, no overflow."""
    page, seen = _open(browser, written, width, scheme)
    assert _overflow(page) <= 0
    page.evaluate(
        "for (const each of document.querySelectorAll('details')) each.open = true"
    )
    assert _overflow(page) <= 0
    assert seen.requests == [written.as_uri()]
    assert seen.messages == []
    assert page.locator("script").count() == 0
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_one_drawing_of_the_ladder_shows_at_each_width(
    browser: Browser, written: Path, width: int
) -> None:
    """A phone sees the upright list, a wide page the row; never both."""
    page, _ = _open(browser, written, width, "light")
    shown = [page.locator(f".{kind} svg").is_visible() for kind in ("wide", "tall")]
    assert shown == [width > 704, width <= 704]
    page.context.close()


CONTRAST = """() => {
  const lum = c => { const [r, g, b] = c.map(v => v / 255).map(
    v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = css => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const behind = node => { for (; node; node = node.parentElement) {
    const c = rgb(getComputedStyle(node).backgroundColor); if (c[3] === 255) return c.slice(0, 3); }
    return [255, 255, 255]; };
  const worst = [];
  for (const node of document.querySelectorAll('p, th, td, .sub, .value, .tag, summary, a, dt, dd, ins, del, .hidden-char, .chip')) {
    if (!node.checkVisibility() || !node.textContent.trim()) continue;
    const [a, b] = [lum(rgb(getComputedStyle(node).color)), lum(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) worst.push([node.className || node.tagName, ratio.toFixed(2)].join(' '));
  }
  return [...new Set(worst)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(
    browser: Browser, written: Path, scheme: Scheme
) -> None:
    """Every text stands out from what is behind it by at least 4.5 to 1 (WCAG AA)."""
    page, _ = _open(browser, written, 1280, scheme)
    page.evaluate(
        "for (const each of document.querySelectorAll('details')) each.open = true"
    )
    assert page.evaluate(CONTRAST) == []
    page.context.close()


def test_print_shows_what_is_closed_on_screen(browser: Browser, written: Path) -> None:
    """On paper the closed sections are laid out, on white, without the contents list."""
    page, seen = _open(browser, written, 1280, "dark")
    sample = page.locator("#samples article").first
    assert not sample.is_visible()
    page.emulate_media(media="print")
    assert sample.bounding_box() is not None
    assert page.evaluate(
        "document.querySelector('#samples article').checkVisibility({contentVisibilityAuto: true})"
    )
    assert (
        page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert not page.locator("nav").is_visible()
    assert _overflow(page) <= 0
    assert len(page.pdf(format="A4")) > 10_000
    assert seen.messages == []
    page.context.close()
