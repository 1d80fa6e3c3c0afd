"""Accessibility problems found by axe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => {
    const found = await window.axe.run(document, {resultTypes: ["violations"]});
    const where = (violation) => violation.nodes.slice(0, 5).map((node) => node.html.slice(0, 300));
    return found.violations.map((violation) => [violation.impact, violation.id, where(violation)]);
}"""


def serious_problems(evaluate: Callable[[str], Any]) -> list[Any]:
    """The serious and critical violations of a page. Axe is injected past the page's policy."""
    if not SOURCE.exists():
        pytest.fail("axe is not installed: tests/page/install", pytrace=False)
    if not evaluate("() => Boolean(window.axe)"):
        evaluate(f"() => {{ {SOURCE.read_text(encoding='utf-8')} }}")
    return [violation for violation in evaluate(RUN) if violation[0] in ("serious", "critical")]
