r"""The shell script of a check that is built first: of a build only what it made is there when the command begins.

Source: `domain.builds`; docs/adr/0015 says what was weighed. Needs more of an image than `adapters.sandbox.script`.
"""

from __future__ import annotations

from adapters.sandbox.script import ARRIVAL, BEGIN, COPY_FAILED, FORGET

MISSING_TOOL = 119
NOT_APART = 120

TOOLS = ("cat", "chmod", "find", "grep", "mkdir", "rm")

KEEPER_BYTES = 4 * 1024 * 1024
"""What a shell's own file may take, at most, in /work."""

# A build runs as the same user as this script, so it could write into this script's memory. It cannot where the kernel
# holds the program to be unreadable: of what the owner may not read, no other process of the owner may read or write
# the memory, files and variables. The keeper is such a copy of the shell; the file goes before a build begins, since
# the owner could write to it. As process 1 it cannot be killed or stopped from inside, either.
SCRIPT = rf"""
for tool in {" ".join(TOOLS)}; do
    command -v "$tool" > /dev/null || {{ echo "the image has no $tool" >&2; exit {MISSING_TOOL}; }}
done
keep=$1
shift
mkdir /work/keeper && cp "$(command -v sh)" /work/keeper/sh && chmod 111 /work/keeper/sh || exit {COPY_FAILED}
exec /work/keeper/sh -c "$keep" sh "$@"
"""
"""What such a check runs. Its arguments: `KEEPER`, the builds, then the order's variables."""

# The time that is left is counted in hundredths of a second, in which the kernel tells how long it is up.
_TIME = r"""
tell() {
    read -r countersign_now countersign_rest < /proc/uptime
    countersign_now=${countersign_now%.*}${countersign_now#*.}
}
begin_time() {
    tell
    countersign_rest=${COUNTERSIGN_LIMIT#*.}
    countersign_rest=${countersign_rest%?}
    countersign_end=$((countersign_now + ${COUNTERSIGN_LIMIT%.*} * 100 + 1$countersign_rest - 100))
}
take_time() {
    tell
    countersign_left=$((countersign_end - countersign_now))
    [ "$countersign_left" -gt 0 ] || countersign_left=1
    countersign_left=$((countersign_left / 100)).$((countersign_left / 10 % 10))$((countersign_left % 10))
}
"""

# Nothing of a build has this container's output: the file that it writes to is gone by name before it begins.
_BUILD = rf"""
build() {{
    countersign_build=$1
    shift "$countersign_builds"
    {FORGET.strip()}
    exec timeout -k 2 "$countersign_left" sh -c '
        [ $# = 0 ] || export "$@"
        exec sh -c "$0"
    ' "$countersign_build" "$@"
}}
"""

# Killing all at once leaves nobody who could start another; whoever is dead is gone once a child was waited for.
_ALONE = """
alone() {
    while kill -9 -1; do sh -c :; done 2> /dev/null
}
"""

# What a home has under a name with a dot is read unasked; the rest of it a build may have installed to.
_EMPTY = r"""
empty() {
    cd /
    find /work -type d ! -perm -700 -exec chmod u+rwx {} \;
    [ -d /work/tree ] && [ ! -L /work/tree ] || return 1
    for path in /work/* /work/.[!.]* /work/..?* /work/home/.[!.]* /work/home/..?*; do
        [ "$path" = /work/tree ] || [ "$path" = /work/home ] || rm -rf -- "$path" || return 1
    done
    [ -d /work/home ] && [ ! -L /work/home ] || { rm -rf /work/home && mkdir /work/home; } || return 1
    printf '%s\n' "$COUNTERSIGN_FOLDERS" | while IFS= read -r folder; do
        [ -d "$folder" ] || continue
        find "$folder" -type d ! -perm -700 -exec chmod u+rwx {} \;
        rm -rf -- "$folder"/* "$folder"/.[!.]* "$folder"/..?* || exit 1
    done
}
"""

# Folders first, from the top, so that no path below leads through a link.
_PUT_BACK = """
put_back() {
    cd "$1" && find . -type d -exec sh -c '
        cd /work/tree || exit 1
        for path do
            [ -d "$path" ] && [ ! -L "$path" ] || { rm -rf -- "$path" && mkdir -- "$path"; } || exit 1
        done
    ' sh {} + && find . ! -type d -exec sh -c 'cd /work/tree && rm -rf -- "$@"' sh {} + && cp -RPp . /work/tree
}
"""

# Of paths below /work, once what was sealed is there again.
_NEW = """
    there() { [ -e "$1" ] || [ -L "$1" ]; }
    new() { there "$1" && ! there "/src/$1" && ! there "/deps/${1#tree/}"; }
"""

_UNWANTED = rf"""
remove_unwanted() {{
    set -f
    set --
    while read -r name where holding; do set -- "$@" ${{1:+-o}} -name "$name"; done < /src/unwanted
    set +f
    [ $# = 0 ] || find tree home \( "$@" \) -prune -exec sh -c '{_NEW}
        for path do
            new "$path" || continue
            folder=${{path%/*}}/
            while read -r name where holding; do
                case ${{path##*/}} in $name) ;; *) continue ;; esac
                [ "$where" = anywhere ] || [ -d "/src/$folder" ] || [ -d "/deps/${{folder#tree/}}" ] || continue
                [ -z "$holding" ] || [ -L "$path" ] || [ ! -f "$path" ] || grep -qs "$holding" "$path" || continue
                rm -rf -- "$path" || exit 1
                break
            done < /src/unwanted
        done
    ' sh {{}} +
}}
"""

# A module hides another from the folders that Python looks into first, a program from those of the order's PATH. A
# package that the tree itself has is no stranger where it is installed.
_HIDING = rf"""
folders_of() {{
    name=$1
    shift
    set -f
    IFS=:
    for variable do
        case $variable in "$name="*) ;; *) continue ;; esac
        for folder in ${{variable#*=}}; do
            case $folder in
                /work/*) printf "%s\n" "${{folder#/work/}}" ;;
                /*) ;;
                *) printf "%s\n" "tree/$COUNTERSIGN_CWD/$folder" ;;
            esac
        done
    done
}}
own() {{
    there "/src/tree/$1.py" || there "/src/tree/$1/__init__.py" ||
        there "/src/tree/src/$1.py" || there "/src/tree/src/$1/__init__.py"
}}
remove_modules() {{
    for path in "$1"/*.py "$1"/*.pyc "$1"/*.so "$1"/*/__init__.*; do
        new "$path" || continue
        module=${{path#"$1"/}}
        module=${{module%%[./]*}}
        grep -qxF -e "$module" /src/hiding || continue
        [ "$2" = strict ] || ! own "$module" || continue
        rm -rf -- "$path" || return 1
    done
}}
remove_programs() {{
    for path in "$1"/*; do
        ! new "$path" || ! command -v "${{path##*/}}" > /dev/null 2>&1 || rm -rf -- "$path" || return 1
    done
}}
remove_siblings() {{
    cd /src/protected && find . -name "*.py" -exec sh -c '{_NEW}
        cd /work || exit 1
        for path do
            path=tree/${{path#./}}
            for path in "${{path%.py}}".*so "${{path%.py}}"/__init__.*; do
                ! new "$path" || rm -rf -- "$path" || exit 1
            done
        done
    ' sh {{}} + && cd /work
}}
remove_hiding() {{
    folders_of PATH "$@" | while IFS= read -r folder; do remove_programs "$folder" || exit 1; done || return 1
    folders_of PYTHONPATH "$@" | while IFS= read -r folder; do remove_modules "$folder" "" || exit 1; done || return 1
    for folder in tree tree/src "tree/$COUNTERSIGN_CWD"; do remove_modules "$folder" strict || return 1; done
    find /src/protected -type d | while IFS= read -r folder; do
        there "$folder"/test_*.py || there "$folder"/*_test.py || there "$folder"/conftest.py || continue
        remove_modules "tree${{folder#/src/protected}}" strict || exit 1
    done && remove_siblings
}}
"""

_SWEEP = rf"""
{_NEW}{_UNWANTED}{_HIDING}
sweep() {{
    cd /work && remove_unwanted && remove_hiding "$@" && cd /work/tree
}}
"""

KEEPER = rf"""
rm -r /work/keeper || exit {COPY_FAILED}
[ "$$" = 1 ] && [ ! -r /proc/1/mem ] || exit {NOT_APART}
{ARRIVAL}{_TIME}{_BUILD}{_ALONE}{_EMPTY}{_PUT_BACK}{_SWEEP}
trap : INT
begin_time
countersign_builds=$COUNTERSIGN_BUILDS
exec 3>> /work/output 4< /work/output && rm /work/output || exit 1
while [ "$countersign_builds" -gt 0 ]; do
    take_time
    ( build "$@" ) < /dev/null >&3 2>&3 3>&- 4<&- || {{
        countersign_code=$?
        alone
        cat <&4 >&2
        exit "$countersign_code"
    }}
    shift
    countersign_builds=$((countersign_builds - 1))
done
exec 3>&- 4<&-
alone
empty && put_back /src/protected && {{ [ ! -d /deps ] || put_back /deps; }} && sweep "$@" || {{
    echo "after environment.build, the files that it may not change could not be put back" >&2
    exit 1
}}
take_time
timeout -k 2 "$countersign_left" sh -c '{BEGIN}' "$COUNTERSIGN_COMMAND" "$COUNTERSIGN_CWD" "$COUNTERSIGN_STDIN" "$@"
exit $?
"""
