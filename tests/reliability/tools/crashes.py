"""What a disk may hold after a power cut, by what was done to it before.

The steps of a publish are recorded, and every state is worked out that POSIX allows
after each of them: what was not flushed of a file is there, half there or not, and of
the names that were not flushed any beginning is there, or all but one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from .os_files import standing_before

#: A step: what was done, and to what. A name's file is known by its number.
Step = tuple[Any, ...]

#: Files by name; a directory has None.
Disk = dict[str, "bytes | None"]


@dataclass
class Recorder:
    """Does what it is told to a directory, and writes it down."""

    root: Path
    steps: list[Step] = field(default_factory=list)
    _open: dict[int, tuple[int, str]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _total: int = 0

    def recording(self) -> AbstractContextManager[None]:
        """Watch this process for the time of a ``with`` block."""
        names = ("open", "close", "write", "fsync", "replace", "link", "unlink")
        names += ("mkdir", "rmdir")
        return standing_before({name: getattr(self, f"_{name}_") for name in names})

    def note(self, *step: Any) -> None:
        """Write down something else that has happened."""
        self.steps.append(step)

    def start_with(self, disk: Disk) -> None:
        """Know the files that are there before."""
        for name, data in disk.items():
            if data is not None:
                self._number(name)
                self.note("old", name, self._numbers[name], data)
            else:
                self.note("old directory", name)

    def _name(self, path: Any) -> str | None:
        try:
            return str(Path(os.fspath(path)).relative_to(self.root))
        except (TypeError, ValueError):
            return None

    def _number(self, name: str) -> int:
        self._total += 1
        self._numbers[name] = self._total
        return self._total

    def _open_(
        self, real: Any, path: Any, flags: int, *args: Any, **kwargs: Any
    ) -> int:
        name = self._name(path)
        is_new = name is not None and not os.path.lexists(path)
        descriptor: int = real(path, flags, *args, **kwargs)
        if name is not None:
            if is_new:
                self.note("create", name, self._number(name))
            elif flags & os.O_TRUNC:
                self.note("truncate", self._numbers[name])
            self._open[descriptor] = (self._numbers.get(name, 0), name)
        return descriptor

    def _close_(self, real: Any, descriptor: int) -> None:
        self._open.pop(descriptor, None)
        real(descriptor)

    def _write_(self, real: Any, descriptor: int, data: Any) -> int:
        written: int = real(descriptor, data)
        if descriptor in self._open:
            number, _ = self._open[descriptor]
            self.note("write", number, bytes(data)[:written])
        return written

    def _fsync_(self, real: Any, descriptor: int) -> None:
        real(descriptor)
        if descriptor in self._open:
            number, name = self._open[descriptor]
            self.note(*(("fsync", number) if number else ("fsync directory", name)))

    def _replace_(self, real: Any, source: Any, target: Any) -> None:
        real(source, target)
        old, new = self._name(source), self._name(target)
        if old is None or new is None:
            return
        if self._numbers[old] != self._numbers.get(new):  # else both names stay
            self._numbers[new] = self._numbers.pop(old)
            self.note("rename", old, new, self._numbers[new])

    def _link_(self, real: Any, source: Any, target: Any) -> None:
        real(source, target)
        old, new = self._name(source), self._name(target)
        if old is not None and new is not None:
            self._numbers[new] = self._numbers[old]
            self.note("link", new, self._numbers[new])

    def _unlink_(self, real: Any, path: Any, **kwargs: Any) -> None:
        real(path, **kwargs)
        name = self._name(path)
        if name is not None:
            self._numbers.pop(name, None)
            self.note("unlink", name)

    def _mkdir_(self, real: Any, path: Any, *args: Any, **kwargs: Any) -> None:
        real(path, *args, **kwargs)
        if (name := self._name(path)) is not None:
            self.note("mkdir", name)

    def _rmdir_(self, real: Any, path: Any, **kwargs: Any) -> None:
        real(path, **kwargs)
        if (name := self._name(path)) is not None:
            self.note("rmdir", name)


def on_disk(root: Path) -> Disk:
    """Return what a directory really holds."""
    found: Disk = {}
    for path in root.rglob("*"):
        found[str(path.relative_to(root))] = (
            None if path.is_dir() else path.read_bytes()
        )
    return found


#: Steps that change names.
_NAMES = ("create", "rename", "link", "unlink", "mkdir", "rmdir")


@dataclass
class Cut:
    """What is known when the power goes after some steps."""

    base: dict[str, int | None] = field(default_factory=dict)  # names that will stay
    open: list[Step] = field(default_factory=list)  # changes of names, not flushed
    data: dict[int, bytes] = field(default_factory=dict)
    flushed: dict[int, bytes] = field(default_factory=dict)
    noted: list[Step] = field(default_factory=list)  # what is no matter of files

    def apply(self, step: Step) -> None:
        """Go one step on."""
        what, *rest = step
        if what == "old":
            self.base[rest[0]] = rest[1]
            self.data[rest[1]] = self.flushed[rest[1]] = rest[2]
        elif what == "old directory":
            self.base[rest[0]] = None
        elif what in _NAMES:
            self.open.append(step)
            if what == "create":
                self.data[rest[1]] = self.flushed[rest[1]] = b""
        elif what in ("truncate", "write", "fsync"):
            self._change_data(what, *rest)
        elif what == "fsync directory":
            self._flush_names(rest[0])
        else:
            self.noted.append(step)

    def _change_data(self, what: str, number: int, data: bytes = b"") -> None:
        if what == "fsync":
            self.flushed[number] = self.data[number]
        else:
            self.data[number] = (self.data[number] if what == "write" else b"") + data

    def _flush_names(self, directory: str) -> None:
        for step in self.open:
            if str(Path(_subject(step)).parent) == directory:
                _change(self.base, step)
        self.open = [
            step for step in self.open if str(Path(_subject(step)).parent) != directory
        ]

    def states(self) -> Iterator[Disk]:
        """Yield all that the disk may hold, some of it more than once."""
        pending = [n for n in self.data if self.data[n] != self.flushed[n]]
        for names in self._namespaces():
            used = [n for n in pending if n in names.values()]
            for parts in product((0, 1, 2), repeat=len(used)):
                lost = {
                    n: self._part(n, part) for n, part in zip(used, parts, strict=True)
                }
                yield {
                    name: None if n is None else lost.get(n, self.data[n])
                    for name, n in names.items()
                    if _is_reachable(name, names)
                }

    def _namespaces(self) -> Iterator[dict[str, int | None]]:
        total = len(self.open)
        kept = [self.open[:n] for n in range(total + 1)]
        kept += [self.open[:n] + self.open[n + 1 :] for n in range(total - 1)]
        for steps in kept:
            names = dict(self.base)
            for step in steps:
                _change(names, step)
            yield names

    def _part(self, number: int, part: int) -> bytes:
        """Return what there is of a file: what was flushed, half of the rest, all."""
        data, flushed = self.data[number], self.flushed[number]
        if part == 2 or not data.startswith(flushed):
            return data if part == 2 else data[: len(data) * part // 2]
        return data[: len(flushed) + (len(data) - len(flushed)) * part // 2]


def _subject(step: Step) -> str:
    name: str = step[2] if step[0] == "rename" else step[1]
    return name


def _change(names: dict[str, int | None], step: Step) -> None:
    what, *rest = step
    if what in ("create", "link"):
        names[rest[0]] = rest[1]
    elif what == "rename":
        names.pop(rest[0], None)
        names[rest[1]] = rest[2]
    elif what == "mkdir":
        names[rest[0]] = None
    else:
        names.pop(rest[0], None)


def _is_reachable(name: str, names: dict[str, int | None]) -> bool:
    parent = name.rpartition("/")[0]
    while parent:
        if parent not in names:
            return False
        parent = parent.rpartition("/")[0]
    return True


def cuts(steps: list[Step]) -> Iterator[Cut]:
    """Yield what is known after each step, before the first of them too."""
    cut = Cut()
    for step in steps:
        cut.apply(step)
        if not step[0].startswith("old"):
            yield cut
