"""Takes from a process, and all that it starts, what is not its own: other processes, some files, some ports. Linux.

By namespaces, capabilities and Landlock, through the C library; run in the supervisor only, which imports nothing of
ours. All or nothing: `OSError` says what this system does not allow. It is no wall against root (docs/workers.md).
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Iterable
from pathlib import Path

NEWNS, NEWUSER, NEWPID = 0x00020000, 0x10000000, 0x20000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 1, 24, 36

KEPT_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 29, 31})
"""Those of a container of Docker's but for making devices: chown, dac_override, fowner, fsetid, kill, setgid, setuid,
setpcap, net_bind_service, net_raw, sys_chroot, audit_write, setfcap."""

LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")
MARKER = "NOT-FOR-WORKERS"
MARKED = "A worker command runs here. What Countersign keeps in this folder is not for it.\n"

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_LANDLOCK_VERSION, _LANDLOCK_WITH_PORTS, _LANDLOCK_PORT_RULE, _CONNECT_TCP = 1, 4, 2, 2
_PORTS = 65536

_LIBC = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def adopt_orphans() -> None:
    """From now on, what loses its parent below this process becomes its child."""
    _checked(_LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "adopting orphans")


def die_with_parent() -> None:
    """Be killed when the parent ends, however it does."""
    _checked(_LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0), "dying with the parent")


def leave_the_host() -> None:
    """New mounts for this process, new processes for its children: the next one is the first of them.

    Who is not root has to be it in a user namespace first, where nobody else is.
    """
    flags = NEWNS | NEWPID
    if os.geteuid() == 0 and _LIBC.unshare(flags) == 0:
        return
    user, group = os.geteuid(), os.getegid()
    _checked(_LIBC.unshare(flags | NEWUSER), "new namespaces")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def hide(folders: Iterable[str], files: Iterable[str]) -> None:
    """Show the processes of this namespace only; read-only folders with a word of explanation, and empty files.

    What is not there is not hidden.
    """
    _mount("none", "/", None, REC | PRIVATE)
    _mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)
    for folder in folders:
        if Path(folder).is_dir():
            _mount("none", folder, "tmpfs", NOSUID | NODEV | NOEXEC, "size=64k,mode=0755")
            (Path(folder) / MARKER).write_text(MARKED)
            _mount("none", folder, None, REMOUNT | RDONLY | NOSUID | NODEV | NOEXEC)
    for file in files:
        if Path(file).exists():
            _mount("/dev/null", file, None, BIND)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    place, of_kind, with_options = os.fsencode(target), kind and kind.encode(), options and options.encode()
    result = _LIBC.mount(source.encode(), place, of_kind, ctypes.c_ulong(flags), with_options)
    _checked(result, f"mounting over {target}")


def close_ports(ports: Iterable[int]) -> bool:
    """Allow connections by TCP to all other ports; False where the kernel has no Landlock that knows ports.

    It allows and never forbids, so that there is a rule for each port of the rest: 0.1 to 0.2 s, measured. Fast Open
    and MPTCP pass by it (measured, Linux 6.18). Needs the namespaces of `leave_the_host`.
    """
    if _LIBC.syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION) < _LANDLOCK_WITH_PORTS:
        return False
    handled = struct.pack("QQ", 0, _CONNECT_TCP)
    rules = _checked(_LIBC.syscall(_LANDLOCK_CREATE, handled, len(handled), 0), "closing ports")
    try:
        rule = (ctypes.c_char * 16)()
        for port in set(range(_PORTS)) - set(ports):
            struct.pack_into("QQ", rule, 0, _CONNECT_TCP, port)
            _checked(_LIBC.syscall(_LANDLOCK_ADD, rules, _LANDLOCK_PORT_RULE, rule, 0), "closing ports")
        _checked(_LIBC.syscall(_LANDLOCK_RESTRICT, rules, 0), "closing ports")
    finally:
        os.close(rules)
    return True


def give_up_capabilities() -> None:
    """Let nothing that is started from now on have more than a container's: none could undo what is hidden."""
    for capability in range(int(LAST_CAPABILITY.read_text()) + 1):
        if capability not in KEPT_CAPABILITIES:
            _checked(_LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "giving up capabilities")
