"""An engine that looks for a file, and is never told anything."""

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.notifications import Batch, Engine

KEY = "0123456789abcdef"
PATH = f"/{KEY}.txt"


class KeyFileEngine(Engine):
    """Knows a site by ``/<key>.txt``."""

    def __init__(self, key: str = KEY) -> None:
        self.key = key

    def send(self, batch: Batch) -> None:
        """Take whatever it is told."""

    def files(self, site: Site) -> dict[str, str]:
        return {f"{self.key}.txt": self.key}


#: For ``SITEMAPS_PLUS``.
ENGINES = {"keyed": {"BACKEND": f"{__name__}.{KeyFileEngine.__name__}", "OPTIONS": {}}}
