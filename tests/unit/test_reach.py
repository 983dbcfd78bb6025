"""What a worker can write, by where a file is: links, hard links and spellings of the same folder included."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.config.reach import Places, tree_roots, why_in_reach
from domain.order import BaseRevision


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A worker's tree, an order in it, and one beside it."""
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "orders").mkdir()
    (tmp_path / "work" / "order.yaml").write_text("content: in\n")
    (tmp_path / "orders" / "order.yaml").write_text("content: out\n")
    return tmp_path


def reached(tree: Path, path: Path | str) -> bool:
    return bool(why_in_reach([Path(path)], [tree / "work"]))


def test_a_file_apart_from_the_tree_is_out_of_reach(tree: Path) -> None:
    assert not reached(tree, tree / "orders" / "order.yaml")
    assert not reached(tree, tree / "orders" / ".." / "orders" / "order.yaml")
    assert not why_in_reach([tree / "work" / "order.yaml"], [tree / "missing"])


def linked_order(tree: Path) -> Path:
    (tree / "orders" / "link.yaml").symlink_to(tree / "work" / "order.yaml")
    return tree / "orders" / "link.yaml"


def linked_folder(tree: Path) -> Path:
    (tree / "orders" / "link").symlink_to("../work")
    return tree / "orders" / "link" / "order.yaml"


def link_out_of_the_tree(tree: Path) -> Path:
    (tree / "work" / "out.yaml").symlink_to(tree / "orders" / "order.yaml")
    return tree / "work" / "out.yaml"


def link_through_the_tree(tree: Path) -> Path:
    (tree / "work" / "hop").symlink_to(tree / "orders")
    (tree / "orders" / "through.yaml").symlink_to("../work/hop/order.yaml")
    return tree / "orders" / "through.yaml"


def out_and_back(tree: Path) -> Path:
    return tree / "work" / ".." / "orders" / ".." / "work" / "order.yaml"


def through_and_out(tree: Path) -> Path:
    """A folder of the tree that the worker could replace by a link decides what `..` is."""
    return tree / "work" / "sub" / ".." / ".." / "orders" / "order.yaml"


def hard_link(tree: Path) -> Path:
    (tree / "orders" / "hard.yaml").hardlink_to(tree / "work" / "order.yaml")
    return tree / "orders" / "hard.yaml"


def kept_in_a_tree(tree: Path) -> Path:
    """Whatever its text says of its workspace, the folder around `.countersign` is a worker's tree."""
    (tree / "other" / ".Countersign").mkdir(parents=True)
    (tree / "other" / ".Countersign" / "order.yaml").write_text("content: x\n")
    return tree / "other" / ".Countersign" / "order.yaml"


def links_in_a_circle(tree: Path) -> Path:
    (tree / "work" / "a").symlink_to("b")
    (tree / "work" / "b").symlink_to("a")
    return tree / "work" / "a" / "order.yaml"


@pytest.mark.parametrize(
    "way",
    [
        linked_order,
        linked_folder,
        link_out_of_the_tree,
        link_through_the_tree,
        out_and_back,
        through_and_out,
        hard_link,
        kept_in_a_tree,
        links_in_a_circle,
    ],
)
def test_every_way_into_the_tree_is_seen(tree: Path, way: Callable[[Path], Path]) -> None:
    assert reached(tree, way(tree))


def test_a_relative_path_begins_at_the_current_folder(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "work")
    assert reached(tree, "order.yaml")
    assert not reached(tree, "../orders/order.yaml")
    assert reached(tree, "sub/../../orders/order.yaml")


def test_a_tree_that_is_spelled_otherwise_is_the_same_tree(tree: Path) -> None:
    """As where a file system folds the case of names: the folder is compared, not its name."""
    (tree / "spelled").symlink_to("work")
    assert why_in_reach([tree / "work" / "order.yaml"], [tree / "spelled"])


def test_names_of_another_case_are_the_same_file_where_the_file_system_says_so(tree: Path) -> None:
    folded = tree / "WORK" / "ORDER.YAML"
    if not folded.exists():
        pytest.skip("the file system here tells cases apart")
    assert reached(tree, folded)


def test_the_repository_of_the_base_is_the_worker_s_where_the_workspace_is_in_it(tree: Path) -> None:
    (tree / ".git").mkdir()
    base = BaseRevision(repository=str(tree), revision="1" * 40)
    assert why_in_reach([tree / "orders" / "order.yaml"], tree_roots([tree / "work"], [base]))
    elsewhere = BaseRevision(repository=str(tree / "orders"), revision="1" * 40)
    assert tree in tree_roots([tree / "work"], [elsewhere]), "a linked work tree has a root of its own"
    assert not why_in_reach([tree / "orders" / "order.yaml"], tree_roots([tree / "work"], [str(tree / "base")]))


def test_a_file_has_the_names_that_lead_to_it(tree: Path) -> None:
    (tree / "alias").symlink_to("orders")
    (tree / "orders" / "link.yaml").symlink_to("order.yaml")
    places = Places(tree / "alias" / "link.yaml")
    real = Path(os.path.realpath(tree))
    assert places.name == real / "orders" / "link.yaml"
    assert places.names == (tree / "alias" / "link.yaml", real / "orders" / "link.yaml")
    assert tree / "orders" / "order.yaml" in places.visited
