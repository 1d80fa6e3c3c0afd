"""What a person asked of the system the page does: no motion, more contrast, forced colours, an accent."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import OpenPage
from tests.page.serving import Served
from tests.page.test_accessible import SCREENS, go
from tests.page.test_verbs import press, told

# The longest time that anything takes to move, in seconds, and all names of animations.
MOTION = """() => {
    const all = [...document.querySelectorAll("*")].flatMap((one) => ["", "::before", "::after"].map(
        (part) => getComputedStyle(one, part)));
    const longest = (lists) => Math.max(...lists.flatMap((list) => list.split(", ").map(parseFloat)));
    return {
        moves: longest(all.map((style) => style.transitionDuration)),
        animations: [...new Set(all.map((style) => style.animationName))].filter((name) => name !== "none"),
    };
}"""
# How far the words of something stand out from what they stand on: WCAG's ratio, of what is really painted.
RATIO = """(one, behind) => {
    const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const seen = (...colours) => {
        for (const colour of colours) { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1); }
        const part = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = paint.getImageData(0, 0, 1, 1).data;
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const { color, backgroundColor } = getComputedStyle(one);
    const [light, dark] = [seen(behind, backgroundColor), seen(behind, backgroundColor, color)].sort(
        (a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
}"""
# What stands in a colour that is hardly another than that of what it stands on.
OUT_OF_SIGHT = f"""() => {{
    const ratio = {RATIO};
    const clear = (one) => /, 0\\)$/.test(getComputedStyle(one).backgroundColor);
    const under = (one) => (one && clear(one) ? under(one.parentElement) : one);
    const behind = (one) => getComputedStyle(under(one) || document.body).backgroundColor;
    const shown = (one) => one.checkVisibility({{ visibilityProperty: true }}) && one.innerText?.trim();
    return [...document.querySelectorAll("button, a, p, span, li, h1, h2, h3, label")]
        .filter((one) => shown(one) && ratio(one, behind(one)) < 3)
        .map((one) => [one.className, one.innerText.slice(0, 40)]);
}}"""
# Of the first of each, all at one moment: the page may draw its rows anew between two questions.
RATIOS = f"""(names) => {{
    const behind = getComputedStyle(document.body).backgroundColor;
    return Object.fromEntries(names.map((name) => [name, ({RATIO})(document.querySelector(name), behind)]));
}}"""
WINDOW = "() => getComputedStyle(document.body).backgroundColor"


def token(page: Page, name: str) -> str:
    """A colour of the page's own names, as it comes out."""
    return str(
        page.evaluate(
            """(name) => {
                const probe = document.createElement("span");
                probe.style.setProperty("forced-color-adjust", "none");
                probe.style.setProperty("color", `var(--fm-${name})`);
                document.body.append(probe);
                const { color } = getComputedStyle(probe);
                probe.remove();
                return color;
            }""",
            name,
        )
    )


def system(page: Page, colour: str) -> str:
    return str(
        page.evaluate(
            """(colour) => {
                const probe = document.createElement("span");
                probe.style.setProperty("forced-color-adjust", "none");
                probe.style.setProperty("color", colour);
                document.body.append(probe);
                const { color } = getComputedStyle(probe);
                probe.remove();
                return color;
            }""",
            colour,
        )
    )


def background(page: Page, selector: str) -> Any:
    return page.locator(selector).first.evaluate("(one) => getComputedStyle(one).backgroundColor")


@pytest.mark.parametrize("wish", ["no-preference", "reduce"])
def test_nothing_moves_for_who_wants_no_motion(own: Served, open_page: OpenPage, wish: str) -> None:
    page = open_page(own, f"#/s/{own.world.ids['today']}", reduced_motion=wish)
    press(page, "Pause")
    told(page, "Paused.")
    found = page.evaluate(MOTION)
    if wish == "reduce":
        assert found == {"moves": 0, "animations": []}
    else:
        assert found["moves"] > 0
        assert found["animations"] == ["fm-rise"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_who_wants_more_contrast_gets_it(shown: Served, open_page: OpenPage, scheme: str) -> None:
    quiet = (".row-time", ".session-about", ".session-line", ".lanes-name", ".recording-words")
    ratios: dict[str, dict[str, float]] = {}
    for wish in ("no-preference", "more"):
        page = open_page(shown, f"#/s/{shown.world.ids['release']}", contrast=wish, color_scheme=scheme)
        for one in quiet:
            expect(page.locator(one).first).to_be_visible()
        ratios[wish] = page.evaluate(RATIOS, list(quiet))
        line = page.locator(".filters").evaluate("(one) => getComputedStyle(one).borderBottomColor")
        assert (line == token(page, "text")) == (wish == "more")
    assert min(ratios["no-preference"].values()) >= 4.5
    assert min(ratios["more"].values()) >= 12  # as far apart as the page's own text is
    assert all(ratios["more"][one] > ratios["no-preference"][one] for one in quiet)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_under_forced_colours_what_is_chosen_is_still_told_apart(
    shown: Served, open_page: OpenPage, scheme: str
) -> None:
    page = open_page(shown, forced_colors="active", color_scheme=scheme)
    go(page, shown, "#/s/{site}@11")
    chosen = system(page, "Highlight")
    for selector in (
        ".row[aria-selected=true]",
        ".session[aria-current]",
        ".screens a[aria-current]",
        ".filters [aria-pressed=true]",
        ".moment .btn.primary",
    ):
        expect(page.locator(selector).first).to_be_visible()
        assert background(page, selector) == chosen, selector
    for selector in (".row[aria-selected=true] .pill", ".session[aria-current] .pill"):
        words = page.locator(selector).first.evaluate("(one) => getComputedStyle(one).color")
        assert words == system(page, "HighlightText"), selector
    go(page, shown, "#/context")
    assert background(page, ".segmented > [aria-pressed=true]") == chosen
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    assert (
        keys.evaluate("(one) => getComputedStyle(one).borderTopWidth") == "1px"
    )  # there is no shadow around it


def test_under_forced_colours_the_lanes_are_drawn_in_the_systems(shown: Served, open_page: OpenPage) -> None:
    """A canvas is not forced by the browser: what is drawn must be told apart from what it is drawn on."""
    page = open_page(shown, f"#/s/{shown.world.ids['release']}")
    expect(page.locator(".row-time").first).to_be_visible()
    for forced in ("none", "active"):
        page.emulate_media(forced_colors=forced)
        page.wait_for_function(
            """(wanted) => {
                const probe = document.createElement("span");
                probe.style.setProperty("color", wanted);
                document.body.append(probe);
                const colour = getComputedStyle(probe).color;
                probe.remove();
                const drawn = document.querySelector(".lanes-canvas");
                const canvas = new OffscreenCanvas(drawn.width, drawn.height);
                const copy = canvas.getContext("2d", { willReadFrequently: true });
                copy.drawImage(drawn, 0, 0);
                const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
                const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
                for (let at = 0; at < data.length; at += 4) {
                    if (data[at + 3] !== 255) continue;
                    if (data[at] === r && data[at + 1] === g && data[at + 2] === b) return true;
                }
                return false;
            }""",
            arg=token(page, "lane-actions"),
        )
    assert token(page, "lane-actions") == system(page, "LinkText")
    assert token(page, "hover") == system(page, "Canvas")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "accent", ["#0075ff", "#ffc600", "#62ba46", "#f74f9e", "#8c8c8c", "#000000", "#ffffff"]
)
def test_any_accent_of_the_system_can_be_read(
    shown: Served, open_page: OpenPage, scheme: str, accent: str
) -> None:
    """The style sheet's own formulas, with each of some accents in the place of the system's word for it."""
    page = open_page(shown, "#/settings", color_scheme=scheme)
    expect(page.get_by_role("heading", level=1)).to_be_visible()

    def give(route: Any) -> None:
        answer = route.fetch()
        assert "AccentColor" in answer.text()
        route.fulfill(response=answer, body=answer.text().replace("AccentColor", accent))

    page.route("**/css/tokens.css", give)
    page.goto("about:blank")
    go(page, shown, "#/s/{site}@11")
    behind = page.evaluate(WINDOW)
    for selector in (".moment .btn.primary", ".filters [aria-pressed=true]", ".row[aria-selected=true]"):
        assert page.locator(selector).first.evaluate(RATIO, behind) >= 4.5, selector
    link = page.locator(".drawer-part a").first
    assert link.evaluate(RATIO, behind) >= 4.5


def test_the_accent_is_the_systems(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/settings")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert token(page, "accent") == system(page, "oklch(from AccentColor min(l, 0.53) c h)")
    box = page.locator("main").evaluate("(one) => getComputedStyle(one).accentColor")  # ticks, meters
    assert box == token(page, "accent")


def test_forced_colours_leave_nothing_out_of_sight(shown: Served, open_page: OpenPage) -> None:
    """Words in the very colour of what they stand on."""
    page = open_page(shown, forced_colors="active", color_scheme="dark")
    hidden: dict[str, Any] = {}
    for screen in SCREENS:
        go(page, shown, screen)
        hidden[screen] = page.evaluate(OUT_OF_SIGHT)
    assert {screen: words for screen, words in hidden.items() if words} == {}
