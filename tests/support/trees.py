"""Sources of a tree: rows that depend on rows of their own model."""

from django_sitemaps_plus import ModelSource, under

from .testapp.models import Topic


class PathSource(ModelSource):
    """One row a page: no row is rendered because another one was saved."""

    model = Topic
    limit = 1
    watch = {Topic: under("path")}


class CallableSource(PathSource):
    """The same by a function."""

    watch = {Topic: lambda topic: topic.get_descendants()}
