"""The pages of the atlas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.shortcuts import get_object_or_404
from django.views.generic import DetailView, ListView, TemplateView

from .geography import find_neighbours
from .models import City, Country

if TYPE_CHECKING:
    _CityDetailView = DetailView[City]
    _CityListView = ListView[City]
else:
    _CityDetailView, _CityListView = DetailView, ListView


class HomeView(TemplateView):
    """The biggest cities, and all countries by continent."""

    template_name = "atlas/home.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add both lists."""
        return super().get_context_data(
            # With a join, MariaDB sorts the whole table for these 20.
            biggest=City.objects.prefetch_related("country")[:20],
            countries=Country.objects.order_by("continent", "slug"),
            **kwargs,
        )


class AboutView(TemplateView):
    """Where the data comes from, and its licence."""

    template_name = "atlas/about.html"


class CountryView(_CityListView):
    """A country and its cities, the biggest first, 100 a page."""

    template_name = "atlas/country.html"
    context_object_name = "cities"
    paginate_by = 100
    country: Country

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Find the country that the URL names."""
        super().setup(request, *args, **kwargs)
        self.country = get_object_or_404(Country, slug=kwargs["slug"])

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer with the page, or lead to its URL where the slug differs."""
        # MySQL finds "france" for "FRANCE" and would serve one page at two URLs.
        if kwargs["slug"] != self.country.slug:
            return HttpResponsePermanentRedirect(self.country.get_absolute_url())
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[City]:
        """Return the country's cities without their longest column."""
        return self.country.cities.defer("alternate_names")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the country."""
        return super().get_context_data(country=self.country, **kwargs)


class CityView(_CityDetailView):
    """A city: its facts, names and neighbours."""

    template_name = "atlas/city.html"
    context_object_name = "city"

    def get_object(self, queryset: QuerySet[City] | None = None) -> City:
        """Return the city of the number in the URL."""
        cities = City.objects.select_related("country")
        return get_object_or_404(cities, geoname_id=self.kwargs["geoname_id"])

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer with the page, or lead to its URL where the slug differs."""
        self.object = self.get_object()
        url = self.object.get_absolute_url()
        if unquote(url) != request.path:
            return HttpResponsePermanentRedirect(url)
        return self.render_to_response(self.get_context_data(object=self.object))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the cities nearby and the biggest ones of the country."""
        country = self.object.country
        return super().get_context_data(
            neighbours=find_neighbours(self.object),
            biggest=country.cities.exclude(pk=self.object.pk)[:8],
            **kwargs,
        )
