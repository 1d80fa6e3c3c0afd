"""What axe finds wrong for people who do not see, or do not point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

SOURCE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => {
    const found = await window.axe.run(document, {resultTypes: ["violations"]});
    const where = (one) => one.nodes.slice(0, 5).map((node) => node.html.slice(0, 300));
    return found.violations.map((one) => [one.impact, one.id, where(one)]);
}"""


def serious(page: Page) -> list[Any]:
    """The violations that keep somebody from using the page. Axe is put in past the page's own policy."""
    if not SOURCE.exists():
        pytest.fail("axe is not installed: tests/page/install", pytrace=False)
    page.evaluate(SOURCE.read_text(encoding="utf-8"))
    return [one for one in page.evaluate(RUN) if one[0] in ("serious", "critical")]
