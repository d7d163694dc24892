"use strict";

// Draw the numbers of each table as a chart, in the colours of the page.
{
  const HEIGHT = 240;
  const HOUR = 3600;
  const DAY = 24 * HOUR;
  // A line has the next of each, so that fifteen differ.
  const COLOURS = 5;
  const DASHES = ["solid", "dashed", "dotted"];
  const PATTERNS = { solid: [], dashed: [8, 4], dotted: [2, 3] };

  const page = document.querySelector(".plots");
  const { lang } = document.documentElement;
  const isShort = page.dataset.span === "24h";
  // Browsers know the names of places, but not of every offset.
  const timeZone = page.dataset.zone.includes("/") ? page.dataset.zone : "UTC";

  const MILLIONS = { notation: "compact", maximumFractionDigits: 2 };
  const written = (options) => {
    const format = new Intl.DateTimeFormat(lang, { timeZone, ...options });
    return (seconds) => format.format(seconds * 1000);
  };
  const hour = { hour: "2-digit", minute: "2-digit" };
  const day = { day: "numeric", month: "short" };
  const tick = written(isShort ? hour : day);
  const moment = written({ ...day, ...hour });

  const number = (value, options) =>
    value.toLocaleString(lang, { maximumFractionDigits: 1, ...options });
  const unit = (value, name) =>
    number(value, { style: "unit", unit: name, unitDisplay: "short" });
  const units = {
    "": (value) => number(value, value < 1e6 ? {} : MILLIONS),
    seconds: (value) => {
      if (value < 60) return unit(value, "second");
      return value < HOUR ? unit(value / 60, "minute") : unit(value / HOUR, "hour");
    },
  };

  // Between the ticks of an axis, so that its labels are round; else those of uPlot.
  const steps = {
    seconds: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800].concat(
      [1, 2, 3, 6, 12, 24, 48].map((it) => it * HOUR),
    ),
  };

  const read = (table) => {
    const rows = [...table.tBodies[0].rows].reverse();
    const times = rows.map((row) => Date.parse(row.querySelector("time").dateTime) / 1000);
    const [time, ...names] = [...table.tHead.rows[0].cells].map((it) => it.textContent);
    const column = (_, index) =>
      rows.map(({ cells: { [index + 1]: cell } }) =>
        "value" in cell.dataset ? Number(cell.dataset.value) : null,
      );
    return { time, names, data: [times, ...names.map(column)] };
  };

  // In the legend: the number at the pointer, else the last.
  const shown = (words) => (chart, _, index, at) => {
    const value = chart.data[index].at(at ?? -1);
    return value === null ? "–" : words(value);
  };

  const draw = (place) => {
    const table = place.parentElement.querySelector("table");
    const { time, names, data } = read(table);
    const style = getComputedStyle(page);
    const colour = (name) => style.getPropertyValue(name);
    const words = units[table.dataset.unit];
    const dashOf = (index) => DASHES[index % DASHES.length];
    const isEntries = table.dataset.plot === "entries";
    const axis = {
      stroke: colour("--body-fg"),
      font: `12px ${style.fontFamily}`,
      grid: { stroke: colour("--hairline-color"), width: 1 },
      ticks: { stroke: colour("--hairline-color"), width: 1 },
    };
    const lines = names.map((label, index) => ({
      label,
      stroke: colour(`--plots-${(index % COLOURS) + 1}`),
      dash: PATTERNS[dashOf(index)],
      width: 2,
      spanGaps: !isEntries,
      paths: isEntries ? uPlot.paths.stepped({ align: 1 }) : null,
      points: { fill: colour("--body-bg") },
      value: shown(words),
    }));
    const options = {
      width: place.clientWidth,
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), timeZone),
      // From nought, and wide enough for whole numbers.
      scales: { y: { range: (chart, low, high) => [0, Math.max(high * 1.05, 5)] } },
      series: [{ label: time, value: shown(moment) }, ...lines],
      axes: [
        {
          ...axis,
          space: 60,
          incrs: (isShort ? [1, 2, 3, 6, 12] : [24, 48, 120, 240]).map((it) => it * HOUR),
          values: (chart, splits) => splits.map(tick),
        },
        {
          ...axis,
          size: 64,
          incrs: steps[table.dataset.unit],
          values: (chart, splits) => splits.map(words),
        },
      ],
      cursor: { drag: { x: false, y: false }, sync: { key: "plots" } },
      legend: { markers: { width: 3, dash: (chart, index) => dashOf(index - 1) } },
    };
    return new uPlot(options, data, place);
  };

  const places = [...page.querySelectorAll(".plots-chart")];
  const charts = new Map();
  const drawAll = () => {
    for (const place of places) {
      charts.get(place)?.destroy();
      place.hidden = false;
      charts.set(place, draw(place));
    }
  };
  drawAll();

  const fitted = new ResizeObserver((changes) => {
    for (const { target, contentRect } of changes) {
      charts.get(target).setSize({ width: contentRect.width, height: HEIGHT });
    }
  });
  places.forEach((place) => fitted.observe(place));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  new MutationObserver(drawAll).observe(document.documentElement, {
    attributeFilter: ["data-theme"],
  });
}
