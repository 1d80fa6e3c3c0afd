"""Preferences of the system: more contrast, forced colours, any accent colour. Chromium only."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.axe import serious_problems
from tests.page.conftest import OpenPage
from tests.page.screens import SCREENS, open_screen
from tests.page.server import Server

# The WCAG contrast ratio of the text of an element, of the colours that are really painted.
RATIO = """(element, behind) => {
    const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const luminance = (...colours) => {
        for (const colour of colours) { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1); }
        const part = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = paint.getImageData(0, 0, 1, 1).data;
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const { color, backgroundColor } = getComputedStyle(element);
    const both = [luminance(behind, backgroundColor), luminance(behind, backgroundColor, color)];
    const [light, dark] = both.sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
}"""
# The ratios of the first element of each selector, at one moment, since rows may be redrawn in between.
RATIOS = f"""(selectors) => {{
    const behind = getComputedStyle(document.body).backgroundColor;
    const ratio = {RATIO};
    return Object.fromEntries(
        selectors.map((name) => [name, ratio(document.querySelector(name), behind)]));
}}"""
# Text in nearly the colour of its background.
INVISIBLE = f"""() => {{
    const ratio = {RATIO};
    const clear = (each) => /, 0\\)$/.test(getComputedStyle(each).backgroundColor);
    const under = (each) => (each && clear(each) ? under(each.parentElement) : each);
    const behind = (each) => getComputedStyle(under(each) || document.body).backgroundColor;
    const shown = (each) => each.checkVisibility({{ visibilityProperty: true }}) && each.innerText?.trim();
    return [...document.querySelectorAll("button, a, p, span, li, h1, h2, h3, label")]
        .filter((each) => shown(each) && ratio(each, behind(each)) < 3)
        .map((each) => [each.className, each.innerText.slice(0, 40)]);
}}"""
COLOUR = """(colour) => {
    const probe = document.createElement("span");
    probe.style.setProperty("forced-color-adjust", "none");
    probe.style.setProperty("color", colour);
    document.body.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
}"""
# Whether a colour is drawn on the canvas of the lanes.
DRAWN = """(colour) => {
    const drawn = document.querySelector(".lanes-canvas");
    const canvas = new OffscreenCanvas(drawn.width, drawn.height);
    const copy = canvas.getContext("2d", { willReadFrequently: true });
    copy.drawImage(drawn, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
    for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] === 255 && data[at] === r && data[at + 1] === g && data[at + 2] === b) return true;
    }
    return false;
}"""
# The formulas of tokens.css with another accent colour.
SET_ACCENT = """async (accent) => {
    const text = await (await fetch("css/tokens.css")).text();
    if (!text.includes("AccentColor")) throw new Error("tokens.css does not use the accent of the system");
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text.replaceAll("AccentColor", accent));
    document.adoptedStyleSheets = [sheet];
}"""
ACCENTS = ("#0075ff", "#ffc600", "#62ba46", "#f74f9e", "#8c8c8c", "#000000", "#ffffff")


def token(page: Page, name: str) -> str:
    """The computed value of a colour of tokens.css."""
    return str(page.evaluate(COLOUR, f"var(--fm-{name})"))


def system(page: Page, colour: str) -> str:
    return str(page.evaluate(COLOUR, colour))


def style(page: Page, selector: str, prop: str) -> Any:
    return page.locator(selector).first.evaluate("(each, prop) => getComputedStyle(each)[prop]", prop)


def test_axe_finds_no_serious_problem_with_more_contrast(shared_server: Server, open_page: OpenPage) -> None:
    page = open_page(shared_server, contrast="more")
    found = {}
    for screen in SCREENS:
        open_screen(page, shared_server, screen)
        found[screen] = serious_problems(page.evaluate)
    assert {screen: wrong for screen, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_more_contrast_is_provided(shared_server: Server, open_page: OpenPage, scheme: str) -> None:
    selectors = [".row-time", ".session-about", ".session-facts-line", ".lanes-name", ".recording-text"]
    page = open_page(shared_server, f"#/s/{shared_server.world.ids['release']}", color_scheme=scheme)
    ratios: dict[str, dict[str, float]] = {}
    for contrast in ("no-preference", "more"):
        page.emulate_media(contrast=contrast)
        for selector in selectors:
            expect(page.locator(selector).first).to_be_visible()
        ratios[contrast] = page.evaluate(RATIOS, selectors)
        line = style(page, ".filters", "borderBottomColor")
        assert (line == token(page, "text")) == (contrast == "more")
    assert min(ratios["no-preference"].values()) >= 4.5
    assert min(ratios["more"].values()) >= 12
    assert all(ratios["more"][name] > ratios["no-preference"][name] for name in selectors)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_with_forced_colours_selected_items_are_distinct(
    shared_server: Server, open_page: OpenPage, scheme: str
) -> None:
    page = open_page(shared_server, forced_colors="active", color_scheme=scheme)
    open_screen(page, shared_server, "#/s/{site}@11?then")
    highlight = system(page, "Highlight")
    for selector in (
        ".row[aria-selected=true]",
        ".session[aria-current]",
        ".screens a[aria-current]",
        ".filters [aria-pressed=true]",
        ".playhead-bar .btn.primary",
    ):
        expect(page.locator(selector).first).to_be_visible()
        assert style(page, selector, "backgroundColor") == highlight, selector
    for selector in (".row[aria-selected=true] .pill", ".session[aria-current] .pill"):
        assert style(page, selector, "color") == system(page, "HighlightText"), selector
    open_screen(page, shared_server, "#/context")
    assert style(page, ".segmented > [aria-pressed=true]", "backgroundColor") == highlight
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert style(page, "dialog.shortcuts", "borderTopWidth") == "1px"  # instead of a shadow


def test_with_forced_colours_the_lanes_use_the_system_colours(
    shared_server: Server, open_page: OpenPage
) -> None:
    """The browser does not force colours on a canvas."""
    page = open_page(shared_server, f"#/s/{shared_server.world.ids['release']}")
    expect(page.locator(".row-time").first).to_be_visible()
    for forced in ("none", "active"):
        page.emulate_media(forced_colors=forced)
        page.wait_for_function(DRAWN, arg=token(page, "lane-actions"))
    assert token(page, "lane-actions") == system(page, "LinkText")
    assert token(page, "hover") == system(page, "Canvas")


def test_with_forced_colours_no_text_is_invisible(shared_server: Server, open_page: OpenPage) -> None:
    page = open_page(shared_server, forced_colors="active", color_scheme="dark")
    found = {}
    for screen in SCREENS:
        open_screen(page, shared_server, screen)
        found[screen] = page.evaluate(INVISIBLE)
    assert {screen: texts for screen, texts in found.items() if texts} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_with_any_accent(shared_server: Server, open_page: OpenPage, scheme: str) -> None:
    page = open_page(shared_server, color_scheme=scheme, reduced_motion="reduce")
    open_screen(page, shared_server, "#/s/{site}@11?then")
    selectors = [".playhead-bar .btn.primary", ".filters [aria-pressed=true]", ".row[aria-selected=true]",
                 ".event-section a"]  # fmt: skip
    for selector in selectors:
        expect(page.locator(selector).first).to_be_visible()
    for accent in ACCENTS:
        page.evaluate(SET_ACCENT, accent)
        assert token(page, "accent") == system(page, f"oklch(from {accent} min(l, 0.53) c h)")
        ratios = page.evaluate(RATIOS, selectors)
        assert min(ratios.values()) >= 4.5, (accent, ratios)


def test_the_accent_is_that_of_the_system(shared_server: Server, open_page: OpenPage) -> None:
    page = open_page(shared_server, "#/settings")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert token(page, "accent") == system(page, "oklch(from AccentColor min(l, 0.53) c h)")
    assert style(page, "main", "accentColor") == token(page, "accent")  # checkboxes, meters
