import pytest
import yaml

from evidencerails.cli.yaml_edit import CannotEdit, add_item, set_default

FLOWS = ("rails", "output", "flows")

SHAPES = [
    ("empty", "", "rails:\n  output:\n    flows:\n      - new\n"),
    ("no rails", "models: []\n", "models: []\n\nrails:\n  output:\n    flows:\n      - new\n"),
    ("rails bare", "rails:\nz: 1\n", "rails:\n  output:\n    flows:\n      - new\nz: 1\n"),
    ("rails flow style", "rails: {input: {flows: [a]}}\n", "rails: {input: {flows: [a]}, output: {flows: [new]}}\n"),
    ("flow list", "rails:\n  output:\n    flows: [a, b] # c\n", "rails:\n  output:\n    flows: [a, b, new] # c\n"),
    ("only input", "rails:\n  input:\n    flows:\n      - a\n\n# end\n",
     "rails:\n  output:\n    flows:\n      - new\n  input:\n    flows:\n      - a\n\n# end\n"),
    ("list at the key's column, comments kept", "rails:\n  output:\n    flows:\n    - a  # first\n    # tail\n\nz: 1\n",
     "rails:\n  output:\n    flows:\n    - a  # first\n    - new\n    # tail\n\nz: 1\n"),
    ("flows commented out", "rails:\n  output:\n    flows:\n    # - a\nz: 1\n",
     "rails:\n  output:\n    flows:\n      - new\n    # - a\nz: 1\n"),
    ("Windows line ends", "rails:\r\n  output:\r\n    flows:\r\n      - a\r\n",
     "rails:\r\n  output:\r\n    flows:\r\n      - a\r\n      - new\r\n"),
    ("document marks", "---\nz: 1\n...\n", "---\nz: 1\n\nrails:\n  output:\n    flows:\n      - new\n...\n"),
    ("byte order mark", "\ufeffrails:\n  output:\n    flows: [a]\n", "\ufeffrails:\n  output:\n    flows: [a, new]\n"),
    ("mapping before", "rails:\n  output:\n    flows:\n      - {a: 1}\n      - b: 1\n        c: [2] # d\n# e\n",
     "rails:\n  output:\n    flows:\n      - {a: 1}\n      - b: 1\n        c: [2] # d\n      - new\n# e\n"),
    ("folded item before", "rails:\n  output:\n    flows:\n      - >-\n        a\n      - b\n",
     "rails:\n  output:\n    flows:\n      - >-\n        a\n      - b\n      - new\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES])
def test_an_item_is_added_and_every_other_character_stays(before: str, after: str) -> None:
    assert add_item(before, FLOWS, "new") == after
    assert add_item(after, FLOWS, "new") == after


@pytest.mark.parametrize(
    "text",
    [
        "rails:\n  output:\n    flows: a string\n",
        "rails:\n  output: 3\n",
        "- a\n- b\n",
        "base: &base {flows: [a]}\nrails:\n  output:\n    <<: *base\n",
    ],
)
def test_what_cannot_be_extended_is_refused_not_broken(text: str) -> None:
    with pytest.raises(CannotEdit):
        add_item(text, FLOWS, "new")


def test_a_shared_anchor_is_extended_once() -> None:
    text = add_item("a: &x\n  output:\n    flows: [p]\nrails: *x\n", FLOWS, "new")
    assert yaml.safe_load(text)["rails"]["output"]["flows"] == ["p", "new"]


def test_a_value_is_set_once_and_an_existing_one_stays() -> None:
    path = ("custom_data", "evidencerails", "activation")
    assert set_default("custom_data:\n  mine: 1\n", path, "always") == (
        "custom_data:\n  evidencerails:\n    activation: always\n  mine: 1\n"
    )
    kept = "custom_data:\n  evidencerails:\n    activation: shadow\n"
    assert set_default(kept, path, "always") == kept
    assert set_default("custom_data:\n  evidencerails:\n    activation:\n", path, "always") == (
        "custom_data:\n  evidencerails:\n    activation: always\n"
    )
