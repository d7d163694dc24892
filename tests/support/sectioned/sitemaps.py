"""Found by autodiscovery: registers the sections of the test."""

from tests.support.servers import sections as sections
