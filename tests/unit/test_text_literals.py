"""Which literals of test files in several languages are changed: those between marks here, and no others."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.mutation.edits import edited
from domain.mutation.text_literals import text_edits
from domain.mutation.text_tokens import LANGUAGES
from tests.examples import examples

SEED = 3

NODE = """
// assert.equal(f(2), 4) in a comment: it's "fine"
import assert from 'node:assert/strict';
import { square, words, label } from './src.mjs';

const cases = [{ n: 2, expected: «4» }, { n: 3, expected: «9» }];

test("squares aren't 'wrong'", async () => {
  assert.equal(square(2), «4», "of two");
  assert.strictEqual(square(-3), «9n»);
  for (const c of cases) assert.equal(square(c.n), c.expected);
  t.is(await square(2), -«4»);
  assert.equal(square(2).toFixed(1), «'4.0'»);
  console.assert(square(2) === 5);
  assert.equal(4, 4);
  assert.ok(found || square(2) === 4);
});

test('words', () => {
  assert.deepEqual(words('ä b'.replace(/['"]/g, '')), ['ä', «'b'»]);
  assert.deepEqual(count("a"), { a: [«1»], });
  assert(words("a b").length === «2» && «"x"» == label(3));
  assert.notEqual(square(2), 5);
  assert.ok(square(2) === 4 || square(2) === 5);
  assert.ok(!square(2) === 4);
  assert.ok(square(2) > 3);
});

test('label', { skip: false }, () => { assert.equal(label(1), «`one`»); });
test('later', { skip: true }, () => { assert.equal(label(1), `one`); });
test.skip('later', () => { assert.equal(square(2), 5); });
test('throws', () => {
  if (square(2) !== «4») { throw new Error("no"); }
  if (square(3) !== «9») process.exit(1);
  if (process.platform !== "linux") return;
  if (process.arch !== "x64") { t.skip(); throw new Error("no"); }
  if (square(2) === 5) { throw new Error("no"); }
  assert.throws(() => label(9), /unknown 9/);
  assert.equal(label(2) === "two", «true»);
  assert.equal(label(5), «undefined»);
});
"""

JEST = """
describe('cart', () => {
  it('adds', () => {
    expect(add(1, 2)).toBe(«3»);
    expect(items()).toEqual([{ name: 'a', price: «1.5» }]);
    expect(items())
      .toHaveLength(«1»);
    expect(add(1, 2)).not.toBe(4);
    expect(() => add()).toThrow('numbers');
    expect(add(1, 2)).toBeGreaterThan(2);
    expect(total).to.equal(«4»).and.to.not.equal(5);
    total.should.equal(«4»);
    map.equals("x");
    toBe(4);
    const expectedLength = 4;
    expect(add(1, 2)).toBeLessThan(expectedLength);
    expect(found).toBe(other);
    expect(isEmpty()).toStrictEqual(«false»);
  });
  xit('later', () => { expect(1).toBe(2); });
  it.failing('bug', () => { expect(one()).toBe(2); });
});
"""

GO = """
package a // if got != 4 { t.Fatal() }

func TestSquare(t *testing.T) {
	tests := []struct { name string; in int; want int }{
		{name: "two", in: 2, want: «4»},
		{"three", 3, 9},
	}
	for _, tt := range tests {
		if got := Square(tt.in); got != tt.want {
			t.Errorf("Square(%d) = %d, want %d", tt.in, got, tt.want)
		}
	}
	if Square(5) != «25» { t.Fatal("no") }
	if got, want := Label(1), «"one"»; got != want {
		t.Errorf("got %q", got)
	}
	if Rune(1) != 'x' { t.Fatal("no") }
	if runtime.GOOS != "linux" { t.Skip() }
	assert.Equal(t, «"two"», Label(2), "message")
	require.Equal(t, Label(3), «`three`»)
	assert.NotEqual(t, "two", Label(1))
	if err != nil { t.Fatal(err) }
	if Square(2) == 5 { t.Fatal("no") }
}
"""

RUBY = """
class TestA < Minitest::Test
  def test_a
    assert_equal «4», square(2)   # assert_equal 4, x
    assert_equal("message", «"it's"», label("x")) if false
    assert_equal({a: «1»}, g())
    refute_equal 5, square(2)
    assert square(2) == «4»
    assert !(square(2) == 5)
    assert_nil x
  end
end
RSpec.describe "x" do
  it "squares" do
    expect(square(2)).to eq «4»
    expect(square(2)).to eq(«nil»)
    expect(square(2)).not_to eq 5
    xit("no") { expect(x).to eq(2) }
  end
end
"""

RUST = """
mod tests {
    #[test]
    fn squares<'a>() {
        assert_eq!(square(2), «4»u32, "message {}", 1);
        assert_eq!(Some(«4»), find('x'));
        assert_eq!(names(), vec!["a", «"b"»]);
        assert!(square(2) == «4»);
        assert!(!(square(2) == 5));
        assert_ne!(square(2), 5);
        let expected = «16»;
        assert_eq!(square(4), expected);
        let other = 17;
        assert_eq!(square(4), other);
    }
    #[test]
    #[should_panic]
    fn panics() { assert_eq!(square(2), 5); }
    #[test]
    #[ignore]
    fn later() { assert_eq!(square(2), 5); }
}
"""

JAVA = """
class ATest {
  @Test void squares() {
    assertEquals(«4», square(2));
    assertEquals(«"one"», label(1), "message");
    assertEquals("message", «4L», square(2));
    assertTrue(square(2) == «4»);
    assertThat(square(2)).isEqualTo(«4»);
    assertNotEquals(5, square(2));
    assertEquals('c', letter(1));
  }
  @Disabled @Test void later() { assertEquals(5, square(2)); }
}
"""

SHELL = r"""#!/bin/sh
set -e
out=$(echo hello | tr a-z A-Z)
[ "$out" = "«HELLO»" ]
test "$(echo "a b" | wc -w)" -eq «2»
[[ ${out} == '«HELLO»' ]]
if [ "$out" != «HELLO» ]; then
  echo "FAIL: $out"  # not [ "$x" = "y" ]
  exit 1
fi
if [ "$out" = "x" ]; then
  exit 1
fi
[ "$(uname)" = "Linux" ] || exit 0
[ "$1" = "--verbose" ] && set -x
! [ "$out" = "x" ]
if [ "$USER" != "root" ]; then echo "these fail without root"; exit 0; fi
[ "$USER" = "root" ] || { echo "these fail without root"; exit 0; }
[ "$out" = "«HELLO»" ] || { echo bad; exit 1; }
[ "$out" != "«HELLO»" ] && exit 1
while [ "$n" = 3 ]; do n=4; done
echo hello | grep -qx '«hello»'
echo hello | grep -vq 'nothing'
echo hello | grep -q 'a\|hello'
cat <<EOT
[ "$x" = "no" ]
EOT
if [ "$out" = "«HELLO»" ]; then echo ok; else echo bad; exit 1; fi
check upper "$out" «HELLO»
check "HELLO" "$out" -q
assert_equals «4» "$(./add 2 2)"
assert_output "«HELLO»"
log "$out" HELLO
"""

LOOSE = """#!/bin/sh
[ "$a" = "x" ]
[ "$b" = "«y»" ] || exit 1
[ "$b" = "y" ] || echo no
[ "$c" -eq «0» ]
"""

OWN = """#!/bin/sh
expect() {
  if [ "$1" != "$2" ]; then
    echo "got $1, wanted $2"
    failed=1
  fi
}
check_roman() {
  wanted=$2
  got=$(roman "$1")
  [ "$got" = "$wanted" ] || exit 1
}
say() {
  [ "$1" = "$2" ] && echo same
}
expect "$(roman 4)" "«IV»"
expect «IV» "$(roman 4)"
expect "$a" "$b"
check_roman 4 «IV»
say "$(roman 4)" IV
failed_on "$(roman 4)" IV
"""

PYTHON = """
class A(unittest.TestCase):
    def test_a(self):
        self.assertEqual(square(2), «4»)

    def test_b(self):
        self.assertNotEqual(square(2), 5)
"""

FILES = {
    "tests/a.test.mjs": NODE,
    "src/cart.test.ts": JEST,
    "a_test.go": GO,
    "test/a_test.rb": RUBY,
    "src/lib.rs": RUST,
    "src/test/ATest.java": JAVA,
    "tests/run.sh": SHELL,
    "tests/run": LOOSE,
    "tests/own.sh": OWN,
    "tests/test_a.py": PYTHON,
}

MARKED = re.compile("«(.*?)»", re.DOTALL)


def changes(path: str, source: str) -> list[tuple[str, str]]:
    """Each line with a change, before it with the marked literals and after it."""
    found = text_edits(path, source, SEED)
    after = edited(source.encode(), found).decode()
    pairs = zip(source.split("\n"), after.split("\n"), strict=True)
    return [(before, now) for before, now in pairs if before != now]


@pytest.mark.parametrize("path", FILES)
def test_expected_values_change_and_nothing_else(path: str) -> None:
    marked = FILES[path]
    found = dict(changes(path, MARKED.sub(r"\1", marked)))
    expected = {MARKED.sub(r"\1", line): line for line in marked.split("\n") if MARKED.search(line)}
    assert list(found) == list(expected)
    for before, line in expected.items():
        pattern = "".join(
            rf"(?!{re.escape(part)}(?!\w))[\w\"'`.-]+" if place % 2 else re.escape(part)
            for place, part in enumerate(re.split("[«»]", line))
        )
        assert re.fullmatch(pattern, found[before]), found[before]


@pytest.mark.parametrize("path", FILES)
def test_the_same_seed_makes_the_same_changes(path: str) -> None:
    source = MARKED.sub(r"\1", FILES[path])
    assert text_edits(path, source, 1) == text_edits(path, source, 1)
    assert text_edits(path, source, 1) != text_edits(path, source, 2)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("README.md", "expect(f(2)).toBe(4)"),
        ("tests/data.json", '{"expected": 4}'),
        ("tests/run", "[ $x = 4 ] || exit 1"),
        ("tests/broken.py", "def test_a(:"),
        ("tests/empty.test.js", ""),
    ],
)
def test_other_files_have_none(path: str, source: str) -> None:
    assert text_edits(path, source, SEED) == ()


PIECES: tuple[str, ...] = (
    "assert.equal(f(2), 4)",
    "expect(x)",
    ".toBe(",
    "'",
    '"',
    "`",
    "/*",
    "*/",
    "//",
    "#",
    "\\",
    "(",
    ")",
    "{",
)
PIECES += (
    "}",
    "[",
    "]",
    "\n",
    " ",
    "if x != 4",
    "want",
    ":=",
    "4",
    "ä😀",
    "skip",
    "${",
    "$(",
    "[ $x = 4 ]",
    "/x/",
    "<<E",
)


@settings(max_examples=examples(500))
@given(
    st.sampled_from([*sorted(LANGUAGES), ".sh", ".bats", ".py"]),
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.integers(0, 9),
)
def test_anything_can_be_read_and_no_two_changes_overlap(suffix: str, source: str, seed: int) -> None:
    found = text_edits(f"x{suffix}", source, seed)
    places = [place for edit in found for place in (edit.start, edit.end)]
    assert places == sorted(places)
    assert len({edit.start for edit in found}) == len(found)
    edited(source.encode(), found).decode()


def test_long_lines_take_no_time() -> None:
    assert text_edits("a.sh", 'x="' + '$(f "$a") ${b} $(' * 2_000, SEED) == ()
    assert text_edits("a.js", "((((/" * 5_000, SEED) == ()
