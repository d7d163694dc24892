"""A dict of sitemaps that is read from somewhere else each time it is asked."""

from collections.abc import Iterator, Mapping
from typing import Any


class Lazy(Mapping):
    """Reads itself by ``read()``, which may fail."""

    def read(self) -> dict[str, Any]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        return iter(self.read())

    def __len__(self) -> int:
        return len(self.read())

    def __getitem__(self, name: str) -> Any:
        return self.read()[name]
