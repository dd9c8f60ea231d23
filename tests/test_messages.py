"""Every sentence of a page is in the Chinese catalogue, with the same places to fill in."""

import re
from pathlib import Path

import pytest
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po

ROOT = Path(__file__).parent.parent
PLACES = re.compile(r"%\(\w+\)[sd]|%%")
ROOMS = ("cluster", "notices", "portal", "quotas", "tenants")
FUNCTIONS = dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"))
BLOCK = re.compile(r"\{%\s*blocktranslate[^%]*%\}(.*?)\{%\s*endblocktranslate", re.DOTALL)
LITERAL = re.compile(r"""\{%\s*translate\s+(?:"([^"]*)"|'([^']*)')""")


@pytest.fixture(scope="module")
def catalogue():
    with (ROOT / "locale/zh_Hans/LC_MESSAGES/django.po").open("rb") as file:
        return read_po(file)


def test_every_message_is_translated_with_its_places(catalogue):
    messages = [message for message in catalogue if message.id]
    assert messages
    for message in messages:
        assert message.string, message.id
        assert not message.fuzzy, message.id
        assert set(PLACES.findall(message.string)) == set(PLACES.findall(message.id)), message.id


def test_every_sentence_of_a_template_is_in_the_catalogue(catalogue):
    known = {message.id for message in catalogue}
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for double, single in LITERAL.findall(path.read_text()):
            assert (double or single) in known, path.relative_to(ROOT)


def test_every_block_of_a_template_is_in_the_catalogue(catalogue):
    known = {message.id for message in catalogue}
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for block in BLOCK.findall(path.read_text()):
            message = re.sub(r"\{\{\s*(\w+)\s*\}\}", r"%(\1)s", block.replace("%", "%%"))
            assert message in known, path.relative_to(ROOT)


@pytest.mark.parametrize("room", ROOMS)
def test_every_sentence_of_the_code_is_in_the_catalogue(catalogue, room):
    known = {message.id for message in catalogue}
    for path in sorted((ROOT / room).rglob("*.py")):
        for line, message, *_ in extract_from_file("python", path, keywords=FUNCTIONS):
            assert message in known, f"{path.relative_to(ROOT)}:{line}"
