r"""The shell scripts that a check's container runs: the tree arrives, then the command begins. They judge nothing.

Source: DESIGN section 7, "Check". `\006` are the marks of `adapters.sandbox.check`.
"""

from __future__ import annotations

COPY_FAILED = 117
SEAL_MISMATCH = 118

# Runs as the worker's id but, up to the first mark, nothing of the worker's: so an exit before it is ours, whatever its
# code, and one after it is the worker's. What is copied from /deps is the image's, but where to is the worker's tree,
# so that comes after the mark.
ARRIVAL = rf"""
umask 022
read -r sealed < /src/seal && [ "$sealed" = "$COUNTERSIGN_TREE" ] || exit {SEAL_MISMATCH}
mkdir /work/home /work/tree && cp -RPp /src/tree/. /work/tree || exit {COPY_FAILED}
printf '\006'
if [ -d /deps ]; then
    cp -RPp /deps/. /work/tree > /work/deps 2>&1 || {{
        cat /work/deps >&2
        echo "what environment.setup installed in /deps could not be copied over the tree" >&2
        exit 1
    }}
fi
printf '\006'
cd /work/tree || exit 1
"""

FORGET = """
    unset COUNTERSIGN_BUILDS COUNTERSIGN_COMMAND COUNTERSIGN_CWD COUNTERSIGN_FOLDERS COUNTERSIGN_LIMIT
    unset COUNTERSIGN_STDIN COUNTERSIGN_TREE
"""

# For an inner shell that `timeout` runs, in single quotes: its arguments are the command, the folder to begin in, the
# input, and the order's variables. They are set last, lest a PATH or LD_PRELOAD of theirs choose our tools.
BEGIN = rf"""
    {FORGET.strip()}
    countersign_cwd=$1 countersign_stdin=$2
    shift 2
    printf "\006"
    if [ -n "$countersign_stdin" ]; then
        printf %s "$countersign_stdin" > /work/stdin || exit 1
        exec < /work/stdin
    fi
    cd -- "/work/tree/$countersign_cwd" || exit 1
    [ $# = 0 ] || export "$@"
    exec sh -c "$0"
"""

SCRIPT = f"""{ARRIVAL}
exec timeout -k 2 "$COUNTERSIGN_LIMIT" sh -c '{BEGIN}' \\
    "$COUNTERSIGN_COMMAND" "$COUNTERSIGN_CWD" "$COUNTERSIGN_STDIN" "$@"
"""
"""What a check without builds runs; its arguments are the order's variables."""
