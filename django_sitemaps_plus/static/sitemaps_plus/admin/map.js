"use strict";

// The strips of the map: a cell for each page, drawn as far as it is in sight.
{
  const WIDTH = 8; // of a cell, in CSS pixels
  const HEIGHT = 28;
  const GAP = 4; // between two lines
  const LANGUAGE = document.documentElement.lang || undefined;
  const count = new Intl.NumberFormat(LANGUAGE);
  const percent = new Intl.NumberFormat(LANGUAGE, { style: "percent" });
  // The admin's zone. Browsers know the names of places, but not of every offset.
  const zone = document.querySelector(".map")?.dataset.zone;
  const moment = new Intl.DateTimeFormat(LANGUAGE, {
    dateStyle: "medium",
    timeStyle: "short",
    timeZone: zone?.includes("/") ? zone : "UTC",
  });

  // Of the device, which may have several for one of CSS.
  const pixels = (size) => Math.round(size * devicePixelRatio);

  // What tells the states apart without colours: lines by their two ends, in a bar
  // of 7 by 28.
  const MARKS = {
    dirty: [-7, -1, 5, 11, 17, 23].map((y) => [0, y + 7, 7, y]),
    building: [6, 14, 22].flatMap((y) => [[0, y + 3, 3.5, y], [3.5, y, 7, y + 3]]),
    failed: [[0, 10, 7, 18], [7, 10, 0, 18]],
    held: [[1.5, 8, 1.5, 20], [5.5, 8, 5.5, 20]],
  };

  const mark = (pen, state, colour) => {
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.beginPath();
    for (const [x, y, toX, toY] of MARKS[state] ?? []) {
      pen.moveTo(x, y);
      pen.lineTo(toX, toY);
    }
    pen.stroke();
  };

  const paint = (pen, state, level, colour) => {
    pen.fillStyle = colour("track");
    pen.fillRect(0, 0, WIDTH - 1, HEIGHT);
    if (state in MARKS) {
      pen.globalAlpha = 0.25; // or a page with few entries would hardly be seen
      pen.fillStyle = colour(state);
      pen.fillRect(0, 0, WIDTH - 1, HEIGHT);
      pen.globalAlpha = 1;
    }
    mark(pen, state, colour(state));
    pen.beginPath();
    pen.rect(0, HEIGHT - level, WIDTH - 1, level);
    pen.clip();
    pen.fillStyle = colour(state);
    pen.fillRect(0, 0, WIDTH, HEIGHT);
    mark(pen, state, colour("ground"));
  };

  // Each look of a cell is painted once, in a line for its state: all cells are copies.
  const STATES = ["live", "fresh", "dirty", "building", "failed", "held"];
  let sheet = null;

  const paintSheet = () => {
    const colours = getComputedStyle(document.querySelector(".map"));
    const colour = (name) => colours.getPropertyValue(`--map-${name}`);
    const canvas = document.createElement("canvas");
    const [width, height] = [pixels(WIDTH), pixels(HEIGHT)];
    canvas.width = width * (HEIGHT + 1);
    canvas.height = height * STATES.length;
    const pen = canvas.getContext("2d");
    for (const [line, state] of STATES.entries()) {
      for (let level = 0; level <= HEIGHT; level++) {
        pen.save();
        pen.translate(level * width, line * height);
        pen.scale(width / WIDTH, height / HEIGHT);
        pen.beginPath();
        pen.rect(0, 0, WIDTH, HEIGHT);
        pen.clip();
        paint(pen, state, level, colour);
        pen.restore();
      }
    }
    return { canvas, width, height, ratio: devicePixelRatio };
  };

  const copy = (pen, state, level, x, y) => {
    if (sheet?.ratio !== devicePixelRatio) sheet = paintSheet();
    const { canvas, width, height } = sheet;
    const [left, top] = [level * width, STATES.indexOf(state) * height];
    pen.drawImage(canvas, left, top, width, height, x, y, width, height);
  };

  class Strip {
    constructor(part, { limit, file, pages }) {
      Object.assign(this, { part, limit, file, pages, current: 0, labels: {} });
      this.box = part.querySelector(".map-strip");
      this.ground = part.querySelector(".map-lines");
      this.canvas = this.ground.querySelector("canvas");
      this.cursor = part.querySelector(".map-cursor");
      this.buttons = [...part.querySelectorAll("[data-state]")];
      this.isRtl = getComputedStyle(part).direction === "rtl";
      this.showLegend();
      this.listen();
      this.box.setAttribute("aria-valuemax", pages.length);
      this.select(0);
      new ResizeObserver(() => this.size === this.measure() || this.layOut()).observe(this.box);
    }

    showLegend() {
      const counts = {};
      for (const [, state] of this.pages) counts[state] = (counts[state] ?? 0) + 1;
      for (const button of this.buttons) {
        const { state } = button.dataset;
        this.labels[state] = button.querySelector("span").textContent;
        button.querySelector("[data-count]").textContent = count.format(counts[state] ?? 0);
        button.disabled = !counts[state];
        button.parentElement.hidden = (state === "live") === !counts.live;
        button.addEventListener("click", () => this.go(state));
      }
    }

    listen() {
      const { box } = this;
      box.addEventListener("scroll", () => this.isInSight() || this.draw(), { passive: true });
      box.addEventListener("keydown", (event) => this.press(event));
      box.addEventListener("pointermove", (event) => this.show(this.at(event)));
      box.addEventListener("pointerleave", () => this.show(this.current));
      box.addEventListener("click", (event) => this.click(event));
      this.part.querySelector("form").addEventListener("submit", (event) => {
        event.preventDefault();
        this.jump(event.target.querySelector("input"));
      });
    }

    // Cells and lines begin at whole pixels of the device, so that they are sharp.
    layOut() {
      const whole = (size) => pixels(size) / devicePixelRatio;
      this.width = whole(WIDTH);
      this.line = whole(HEIGHT + GAP);
      this.columns = Math.max(1, Math.floor(this.ground.clientWidth / this.width));
      this.lines = Math.ceil(this.pages.length / this.columns);
      this.ground.style.height = `${this.lines * this.line}px`;
      this.draw();
      this.showLegendCells();
      this.show(this.current);
      this.size = this.measure();
    }

    measure() {
      return `${this.box.clientWidth} ${this.box.clientHeight} ${devicePixelRatio}`;
    }

    showLegendCells() {
      for (const button of this.buttons) {
        const canvas = button.querySelector("canvas");
        canvas.width = pixels(WIDTH);
        canvas.height = pixels(HEIGHT);
        copy(canvas.getContext("2d"), button.dataset.state, HEIGHT / 2, 0, 0);
      }
    }

    isInSight() {
      const { scrollTop, clientHeight } = this.box;
      return (
        Math.floor(scrollTop / this.line) >= this.first &&
        Math.min(this.lines, Math.ceil((scrollTop + clientHeight) / this.line)) <= this.end
      );
    }

    // What is in sight, and as much above and below: all of 20,000 pages are more than
    // a canvas may have on a phone.
    draw() {
      const { box, canvas, line, columns, pages } = this;
      const near = Math.ceil(box.clientHeight / line);
      const top = Math.floor(box.scrollTop / line);
      this.first = Math.max(0, top - near);
      this.end = Math.min(this.lines, top + 2 * near + 1);
      const width = columns * this.width;
      const height = (this.end - this.first) * line;
      canvas.width = pixels(width);
      canvas.height = pixels(height);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      canvas.style.top = `${this.first * line}px`;
      const pen = canvas.getContext("2d");
      const last = Math.min(this.end * columns, pages.length);
      for (let index = this.first * columns; index < last; index++) {
        const [x, y] = this.place(index);
        const left = this.isRtl ? width - x - this.width : x;
        const top = y - this.first * line;
        const [, state, entries] = pages[index];
        copy(pen, state, this.level(entries), pixels(left), pixels(top));
      }
    }

    level(entries) {
      if (entries === null) return HEIGHT;
      const level = Math.round((entries / this.limit) * HEIGHT);
      return entries && Math.min(HEIGHT, Math.max(2, level));
    }

    place(index) {
      const { columns, width, line } = this;
      return [(index % columns) * width, Math.floor(index / columns) * line];
    }

    at({ clientX, clientY }) {
      const box = this.canvas.getBoundingClientRect();
      const x = this.isRtl ? box.right - clientX - 1 : clientX - box.left;
      const column = Math.min(this.columns - 1, Math.max(0, Math.floor(x / this.width)));
      const line = this.first + Math.floor((clientY - box.top) / this.line);
      return this.within(line * this.columns + column);
    }

    within(index) {
      return Math.min(this.pages.length - 1, Math.max(0, index));
    }

    show(index) {
      const [number, state, entries, skipped, lastmod, low, high, hash, at, error] =
        this.pages[index];
      const share = entries === null ? "" : ` (${percent.format(entries / this.limit)})`;
      const details = {
        number: count.format(number),
        state: this.labels[state],
        entries: entries === null ? "" : count.format(entries) + share,
        skipped: entries === null ? "" : count.format(skipped),
        lastmod,
        rendered: at === null ? "" : moment.format(new Date(`${at.replace(" ", "T")}Z`)),
        hash,
        low: low ?? "−∞",
        high: high ?? "∞",
        error,
      };
      for (const [name, text] of Object.entries(details)) {
        const detail = this.part.querySelector(`[data-detail="${name}"]`);
        detail.textContent = text || "–";
        detail.title = text; // which may be too long to be shown
      }
      this.part.classList.toggle("is-failed", Boolean(error));
      this.link("entries").href = this.entries(index);
      const file = this.link("file");
      file.href = this.file.join(number);
      file.hidden = !this.file[0];
      this.point(index);
      return details;
    }

    point(index) {
      if (!this.columns) return;
      const [x, y] = this.place(index);
      Object.assign(this.cursor.style, {
        insetInlineStart: `${x - 2}px`,
        insetBlockStart: `${y - 2}px`,
        width: `${this.width + 3}px`,
        height: `${HEIGHT + 4}px`,
      });
    }

    link(name) {
      return this.part.querySelector(`[data-link="${name}"]`);
    }

    entries(index) {
      return this.part.dataset.entries + this.pages[index][0];
    }

    select(index) {
      this.current = this.within(index);
      const details = this.show(this.current);
      const words = this.part.dataset.words.replace(/{(\w+)}/g, (_, name) => details[name] || "–");
      this.box.setAttribute("aria-valuenow", this.current + 1);
      this.box.setAttribute("aria-valuetext", words);
      if (this.columns) this.scroll();
    }

    scroll() {
      const [, y] = this.place(this.current);
      const { box, line } = this;
      const least = y + line + 4 - box.clientHeight;
      box.scrollTop = Math.max(least, Math.min(y, box.scrollTop));
    }

    press(event) {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const side = this.isRtl ? -1 : 1;
      const view = this.columns * Math.max(1, Math.floor(this.box.clientHeight / this.line));
      const steps = {
        ArrowRight: side,
        ArrowLeft: -side,
        ArrowDown: this.columns,
        ArrowUp: -this.columns,
        PageDown: view,
        PageUp: -view,
        Home: -Infinity,
        End: Infinity,
      };
      if (event.key === "Enter") location.assign(this.entries(this.current));
      if (!(event.key in steps)) return;
      event.preventDefault();
      this.select(this.current + steps[event.key]);
    }

    // A finger cannot hover: it selects a page first.
    click(event) {
      const index = this.at(event);
      const isSelected = index === this.current;
      this.select(index);
      if (event.pointerType === "touch" && !isSelected) return;
      if (event.ctrlKey || event.metaKey) open(this.entries(index));
      else location.assign(this.entries(index));
    }

    go(state) {
      const { pages, current } = this;
      const next = pages.findIndex((page, index) => index > current && page[1] === state);
      this.select(next < 0 ? pages.findIndex((page) => page[1] === state) : next);
      this.box.focus();
    }

    jump(input) {
      const index = this.pages.findIndex(([number]) => number === Number(input.value));
      input.setCustomValidity(index < 0 ? this.part.dataset.unknown : "");
      if (!input.reportValidity()) {
        input.addEventListener("input", () => input.setCustomValidity(""), { once: true });
        return;
      }
      this.select(index);
      this.box.focus();
    }
  }

  const strips = [];

  const load = async (part) => {
    const notes = part.querySelector("[data-notes]");
    const found = await fetch(part.dataset.url, { credentials: "same-origin" })
      .then((answer) => answer.json())
      .catch(() => ({ notes: [part.dataset.failed], pages: [] }));
    notes.textContent = found.notes.join(" ");
    if (!found.pages.length) return;
    part.querySelector("[data-loaded]").hidden = false;
    strips.push(new Strip(part, found));
  };

  const repaint = () => {
    sheet = null;
    for (const strip of strips) strip.layOut();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  new MutationObserver(repaint).observe(document.documentElement, {
    attributeFilter: ["data-theme"],
  });

  const near = new IntersectionObserver(
    (seen) => {
      for (const { target } of seen.filter((it) => it.isIntersecting)) {
        near.unobserve(target);
        load(target);
      }
    },
    { rootMargin: "200px" },
  );
  for (const part of document.querySelectorAll(".map")) near.observe(part);
}
