"""The orders of imports that docs/architecture.md tells of, held by import-linter."""

from importlinter.cli import lint_imports


def test_imports_go_one_way(capsys):
    assert lint_imports() == 0, capsys.readouterr().out
