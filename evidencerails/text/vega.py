"""Charts as inline SVG: layers of Vega-Lite come in, an `<svg>` element without script, font or request comes out.

Colours are variables of the page's style sheet, so a chart is light or dark as the page is. Text of others enters as
data only, never as a title or an expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails.errors import extra_for

if TYPE_CHECKING:
    from markupsafe import Markup

DIM, TEXT, LINE = "var(--dim)", "var(--text)", "var(--line)"
CONFIG: dict[str, Any] = {
    "aria": False,  # the element has a label, and the page the figures
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        **{"labelColor": DIM, "titleColor": TEXT, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 600},
        **{"domainColor": LINE, "tickColor": LINE, "gridColor": LINE, "gridOpacity": 0.35, "labelOverlap": True},
    },
    "legend": {
        **{"orient": "top", "title": None, "labelColor": TEXT, "labelFontSize": 12, "columnPadding": 48},
    },
}


class Layer(NamedTuple):
    """Marks of one kind and colour."""

    name: str
    """In the legend; layers of one name share their colour."""
    colour: str
    """A variable of the page, as in `var(--link)`."""
    mark: str | Mapping[str, Any]
    values: Sequence[Mapping[str, Any]]
    encoding: Mapping[str, Any]
    """Of Vega-Lite, by channel."""


def axis(field: str, title: str, *, domain: Sequence[float] | None = (0, 1), **settings: Any) -> dict[str, Any]:
    """A channel for numbers; without a domain the axis goes from 0 to a round number about the highest value."""
    scale = {"domain": domain} if domain else {"zero": True}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": settings}


def level(name: str, colour: str, at: float) -> Layer:
    """A dashed line across the chart at a value of its vertical axis."""
    mark = {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 2}
    return Layer(name, colour, mark, [{"at": at}], {"y": {"field": "at", "type": "quantitative"}})


def svg(title: str, layers: Sequence[Layer], *, width: int, height: int) -> Markup:
    """The chart as an element.

    Args:
        title: what a screen reader says of it.
        layers: drawn in this order; the first one's axes are the chart's.
        width, height: pixels of the whole, legend and axes included; a style sheet may scale it.

    Raises:
        MissingExtraError: `vl-convert-python` is not installed.
    """
    from markupsafe import Markup, escape

    with extra_for("a chart"):
        import vl_convert
    colours = {layer.name: layer.colour for layer in layers}
    scale = {"domain": list(colours), "range": list(colours.values())}
    drawn = [
        {
            "mark": layer.mark,
            "data": {"values": layer.values},
            "encoding": {**layer.encoding, "color": {"datum": layer.name, "scale": scale}},
        }
        for layer in layers
    ]
    columns = width // 200
    legend = {**CONFIG["legend"], "columns": columns, "labelLimit": width // columns - 30}
    spec = {"width": width, "height": height, "autosize": {"type": "fit", "contains": "padding"}, "layer": drawn}
    text = vl_convert.vegalite_to_svg(spec, config={**CONFIG, "legend": legend}, allowed_base_urls=[])
    return Markup(text.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1))
