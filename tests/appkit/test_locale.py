"""The user's language and dates, from the system."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from fazm_memory import translation
from tests.appkit.app_env import AppEnv
from tests.appkit.standin.mac import Mac


def test_the_menu_and_its_spoken_labels_are_in_the_language_of_the_mac(mac: Mac, tmp_path: Path) -> None:
    mac.languages = ["fr-FR", "de-DE"]
    env = AppEnv(mac, tmp_path)
    env.work()
    env.memory.sessions.handoff(env.memory.sessions.listing()[0]["id"], to="human", note="Welcher Ordner?")

    def script() -> None:
        assert mac.titles()[0] == "Aufzeichnung läuft"
        assert "Einstellungen …" in mac.titles()
        question = mac.item("? Welcher Ordner?")
        assert question._p["accessibilityLabel"] == "Frage: Welcher Ordner?"
        assert question._p["accessibilityHelp"] == "Rename the invoices wartet auf deine Antwort"
        (item,) = mac.status_items
        assert item.button()._p["accessibilityLabel"] == "Fazm Memory: Aufzeichnung läuft"
        translated = translation.format_weekday_time(datetime(2026, 11, 16, 6))
        assert translated.startswith("EEEE jmm fr-FR 2026-11-16")

    env.play(script)
    env.memory.close()


def test_the_settings_choose_another_language(mac: Mac) -> None:
    from fazm_memory.macos.system import preferred_language

    mac.languages = ["de-DE"]
    assert (preferred_language("auto"), preferred_language("en")) == ("de", "en")


def test_every_item_of_the_menu_has_a_label_for_voiceover(mac: Mac, tmp_path: Path) -> None:
    env = AppEnv(mac, tmp_path)
    env.work()

    def script() -> None:
        from tests.appkit.standin.app import items

        waiting, seen = list(items(mac.menu())), 0
        while waiting:
            item = waiting.pop()
            if not item._p.get("separatorItem"):
                assert item._p["accessibilityLabel"].strip(), item._p["title"]
                seen += 1
            if item._p.get("submenu") is not None:
                waiting += items(item._p["submenu"])
        assert seen > 20

    env.play(script)
    env.memory.close()
