"""The database is made from what was published and from nothing else, and knows what we need to know."""

from __future__ import annotations

import json
import lzma

from tests.appkit.sdk.database import load, read, selector_of
from tests.appkit.sdk.make import Maker, packed
from tests.appkit.sdk.published import Published
from tests.appkit.sdk.scan import FRAMEWORKS

NOTHING = {
    name: {}
    for name in ("classes", "formal_protocols", "informal_protocols", "functions", "externs", "typedefs")
}


def published() -> Published:
    """An SDK of two classes and a function, in the form of the real one."""
    text = {"name": "text", "type_name": "ThingName", "typestr": "@"}
    block = {"typestr": "@?", "callable": {"arguments": {"0": {}, "1": {}}, "retval": {"type": "v"}}}
    methods = [
        {"selector": "say:", "class_method": False, "args": [text], "retval": {"typestr": "v"}},
        {"selector": "ask:", "class_method": False, "args": [block], "retval": {"typestr": "Z"}},
        {"selector": "find:", "class_method": False, "args": [{"typestr": "^@"}], "retval": {"typestr": "Z"}},
    ]
    foundation = {
        **NOTHING,
        "classes": {
            "NSObject": {"methods": []},
            "NSString": {"methods": [], "super": "NSObject"},
            "NSThing": {"methods": methods[::-1], "super": "NSObject"},
        },
        "typedefs": {"ThingName": "NSString *"},
        "functions": {"NSDo": {"args": [{"typestr": "q"}], "retval": {"typestr": "v"}, "introduced": "14.2"}},
        "externs": {"NSThingName": {"typestr": "@", "type_name": "ThingName", "deprecated": "12.0"}},
    }
    scans = dict.fromkeys(FRAMEWORKS.values(), NOTHING) | {FRAMEWORKS["Foundation"]: foundation}
    metadata = dict.fromkeys([*FRAMEWORKS, "Quartz.CoreGraphics"], "import objc")
    metadata["Foundation"] = """\
import objc
constants = "$NSThingName$"
enums = "$NSThingBig@7$NSThingHalf@0.5$"
functions = {"NSDo": (b"vq",)}
aliases = {"NSThingLarge": "NSThingBig"}
objc.registerMetaDataForSelector(b"NSThing", b"find:", {"arguments": {2: {"type_modifier": b"o"}}})
"""
    return Published(
        {folder: "// comment\n" + json.dumps({"definitions": one}) for folder, one in scans.items()}, metadata
    )


def test_methods_are_read_with_their_types() -> None:
    made = read(Maker(published()).make())
    says = {key: (one.returns, one.arguments) for key, one in made.classes["NSThing"].methods.items()}
    assert says == {
        "-say:": ("v", ("@NSString",)),
        "-ask:": ("B", ("block/1",)),
        "-find:": ("B", ("out",)),
    }


def test_names_values_and_systems_are_read() -> None:
    made = read(Maker(published()).make())
    assert made.functions["NSDo"].introduced == (14, 2)
    assert made.constants["NSThingName"].deprecated == (12, 0)
    values = {name: made.constants[name].value for name in ("NSThingBig", "NSThingHalf", "NSThingLarge")}
    assert values == {"NSThingBig": 7, "NSThingHalf": 0.5, "NSThingLarge": 7}


def test_the_same_files_give_the_same_bytes() -> None:
    first, second = (packed(Maker(published()).make()) for _ in range(2))
    assert first == second
    assert json.loads(lzma.decompress(first))["pyobjc"] == "12.2.2"


def test_the_committed_database_knows_what_a_menu_bar_app_needs() -> None:
    sdk = load()
    assert sdk.method("NSStatusItem", "-setTitle:").deprecated == (10, 14)  # type: ignore[union-attr]
    assert sdk.method("SMAppService", "-registerAndReturnError:").arguments == ("out@NSError",)  # type: ignore[union-attr]
    assert sdk.functions["AXObserverCreate"].arguments == ("i", "closure/4", "out")
    assert sdk.protocols["WKURLSchemeHandler"].methods["-webView:startURLSchemeTask:"].required
    assert sdk.constants["kAXErrorCannotComplete"].value == -25204
    assert "Foundation" in set(sdk.modules_of("WebKit"))


def test_a_method_of_a_parent_or_a_protocol_is_found() -> None:
    sdk = load()
    assert sdk.method("NSStatusBarButton", "-setImage:") is not None
    assert sdk.method("WKWebView", "-setFrame:") is not None
    assert sdk.method("NSStatusBarButton", "-setTemplateImage:") is None


def test_names_become_selectors_as_pyobjc_makes_them() -> None:
    names = ["init", "initWith_and_", "helper_with_words", "__init__", "class__", "_private_"]
    assert [selector_of(name) for name in names] == [
        "init",
        "initWith:and:",
        None,
        None,
        "class",
        "_private:",
    ]
