"use strict";
// Adds to a page that is complete without it: hover texts, sorting, filters, curves to zoom into.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (name, attributes = {}, ...children) => {
    const svg = ["svg", "path", "text", "rect", "line"].includes(name);
    const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const number = (cell) => {
    if (!cell) return NaN;
    return parseFloat(cell.dataset.v ?? cell.textContent.replace("▸", ""));
  };

  // Hover texts: the browser shows titles late and small.
  const tip = document.getElementById("tip");
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = !text;
    if (!text) return;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${y + 18 + height > innerHeight ? y - height - 10 : y + 18}px`;
  };
  for (const spot of all(".spot")) {
    const title = spot.querySelector("title");
    const text = title.textContent;
    title.remove();
    spot.addEventListener("pointermove", (e) => show(text, e.clientX, e.clientY));
    spot.addEventListener("pointerleave", () => show(""));
  }
  addEventListener("keydown", (e) => { if (e.key === "Escape") show(""); });

  // A click on a heading sorts by its column; rows that say more about the one above stay with it.
  for (const table of all("table.sortable")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 2) continue;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button", title: "sort" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falls = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending"
          : head.classList.contains("n");
        const groups = [];
        for (const row of body.rows) {
          if (row.classList.contains("detail") && groups.length) groups[groups.length - 1].push(row);
          else groups.push([row]);
        }
        const key = (group) => group[0].cells[column];
        groups.sort((a, b) => {
          const [x, y] = [number(key(a)), number(key(b))];
          // What has no value comes last, whichever way.
          if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
          const order = Number.isNaN(x) ? key(a).textContent.localeCompare(key(b).textContent) : x - y;
          return falls ? -order : order;
        });
        body.append(...groups.flat());
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      });
    });
  }

  // Filters of tables.
  for (const controls of all(".controls")) {
    const rows = [...document.getElementById(controls.dataset.filter).tBodies[0].rows];
    const said = controls.querySelector("output");
    const apply = () => {
      const words = controls.querySelector("input").value.toLowerCase();
      const picks = all("select", controls).filter((s) => s.value !== "");
      let shown = 0;
      for (const row of rows) {
        const fits = row.textContent.toLowerCase().includes(words)
          && picks.every((s) => row.dataset[s.dataset.by] === s.value);
        row.hidden = !fits;
        shown += fits;
      }
      said.textContent = `${shown} of ${rows.length} shown`;
    };
    controls.hidden = false;
    controls.addEventListener("input", apply);
    apply();
  }
  // A link to a row that a filter hides shows it.
  addEventListener("hashchange", () => {
    const row = document.getElementById(location.hash.slice(1));
    if (row?.hidden) row.hidden = false;
  });

  // Curves of the table of windows, to zoom into: drag, or the buttons.
  for (const box of all(".zoom")) {
    const table = document.getElementById(box.dataset.table);
    const width = parseFloat(box.dataset.width);
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map(number));
    const names = [...table.tHead.rows[0].cells].map((c) => c.textContent).slice(1);
    const [left, right, high, gap] = [110, 12, 54, 14];
    const end = rows[rows.length - 1][0] + width;
    // Units of the drawing: as many as pixels, so that its text stays readable on a phone.
    const wide = Math.min(1000, Math.max(320, box.parentElement.clientWidth));
    let [from, to] = [0, end];
    const svg = make("svg", { role: "img", "aria-label": "Curves over the chosen part of the run; the table below has the values" });
    const said = make("output", { "aria-live": "polite" });
    const round = (v) => parseFloat(v.toPrecision(4));
    const draw = () => {
      const inside = rows.filter((r) => r[0] + width > from && r[0] < to);
      const w = wide - left - right;
      const x = (s) => left + (Math.min(Math.max(s, from), to) - from) / (to - from) * w;
      svg.replaceChildren();
      let y = 8;
      names.forEach((name, i) => {
        const values = inside.map((r) => r[i + 1]).filter((v) => !Number.isNaN(v));
        if (!values.length) return;
        const top = Math.max(...values, 0) || 1;
        let path = "";
        let drawn = false;
        for (const r of inside) {
          const v = r[i + 1];
          if (Number.isNaN(v)) { drawn = false; continue; }
          const at = y + high - v / top * high;
          path += `${drawn ? "L" : "M"}${x(r[0]).toFixed(1)} ${at.toFixed(1)}H${x(r[0] + width).toFixed(1)}`;
          drawn = true;
        }
        svg.append(make("line", { class: "base", x1: left, x2: left + w, y1: y + high, y2: y + high }),
          make("path", { d: path }),
          make("text", { class: "name", x: 8, y: y + 14 }, name),
          make("text", { x: 8, y: y + 31 }, `max ${round(Math.max(...values))}`),
          make("text", { x: 8, y: y + 47 }, `mean ${round(values.reduce((a, b) => a + b, 0) / values.length)}`));
        y += high + gap;
      });
      const rough = (to - from) / Math.min(6, w / 60);
      const power = 10 ** Math.floor(Math.log10(rough));
      const every = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
      for (let s = Math.ceil(from / every) * every; s <= to; s += every) {
        svg.append(make("text", { x: x(s), y: y + 8, "text-anchor": s > to - every / 3 ? "end" : "middle" }, `${round(s)} s`));
      }
      svg.setAttribute("viewBox", `0 0 ${wide} ${y + 18}`);
      said.textContent = `${round(from)} s to ${round(to)} s of ${round(end)} s`;
    };
    const go = (a, b) => {
      const least = Math.min(4 * width, end);
      if (b - a < least) { const middle = (a + b) / 2; a = middle - least / 2; b = middle + least / 2; }
      if (a < 0) { b -= a; a = 0; }
      if (b > end) { a -= b - end; b = end; }
      [from, to] = [Math.max(a, 0), b];
      draw();
    };
    const step = { "+": [0.25, -0.25], "−": [-0.5, 0.5], "←": [-0.5, -0.5], "→": [0.5, 0.5] };
    const spoken = { "+": "zoom in", "−": "zoom out", "←": "earlier", "→": "later" };
    const bar = make("div", { class: "controls" });
    for (const [sign, [a, b]] of Object.entries(step)) {
      const button = make("button", { type: "button", "aria-label": spoken[sign], title: spoken[sign] }, sign);
      button.addEventListener("click", () => go(from + a * (to - from), to + b * (to - from)));
      bar.append(button);
    }
    const whole = make("button", { type: "button" }, "whole run");
    whole.addEventListener("click", () => go(0, end));
    bar.append(whole, said, "Drag over the curves to zoom in.");
    const seconds = (e) => {
      const r = svg.getBoundingClientRect();
      const px = (e.clientX - r.left) / r.width * wide;
      return from + Math.min(Math.max((px - left) / (wide - left - right), 0), 1) * (to - from);
    };
    let start = null;
    const pick = make("rect", { class: "pick", y: 0, height: "100%" });
    svg.addEventListener("pointerdown", (e) => { start = seconds(e); svg.setPointerCapture(e.pointerId); });
    svg.addEventListener("pointermove", (e) => {
      const now = seconds(e);
      const row = rows.find((r) => now >= r[0] && now < r[0] + width);
      const px = (s) => left + (s - from) / (to - from) * (wide - left - right);
      if (start !== null) {
        pick.setAttribute("x", px(Math.min(start, now)));
        pick.setAttribute("width", Math.max(px(Math.max(start, now)) - px(Math.min(start, now)), 1));
        svg.append(pick);
      }
      const lines = names.map((name, i) => Number.isNaN(row?.[i + 1] ?? NaN) ? null : `${name}: ${round(row[i + 1])}`);
      show(row ? [`from ${row[0]} s`, ...lines.filter(Boolean)].join("\n") : "", e.clientX, e.clientY);
    });
    svg.addEventListener("pointerup", (e) => {
      const now = seconds(e);
      if (start !== null && Math.abs(now - start) > (to - from) * 0.01) go(Math.min(start, now), Math.max(start, now));
      start = null;
      pick.remove();
    });
    svg.addEventListener("pointerleave", () => show(""));
    box.append(bar, svg);
    box.hidden = false;
    draw();
  }
})();
