#include "page.hpp"

#include <string_view>

#include "study/table.hpp"

namespace tools {
namespace {

// Colours: one hue per kind of work, checked in light and dark; grey is time without a task.
constexpr std::string_view before_title = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>pilfer view</title>
<style>
:root {
  --back: #ffffff; --card: #f6f7f9; --ink: #1c2128; --soft: #59636e; --line: #d0d7de;
  --own: #3b7dd8; --stolen: #d9822b; --submitted: #7a5cc9; --resumed: #2a9d6f; --on_top: #0f8b9d; --cut: #9a6f4e;
  --asleep: #dfe3e8; --lock: #cf3f4f; --chain: #3b7dd8; --ok: #2a9d6f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14181d; --card: #1d2329; --ink: #e4e8ec; --soft: #9aa5b1; --line: #39424c;
    --own: #5b9bf0; --stolen: #eb9c4d; --submitted: #a78bea; --resumed: #45b98a; --on_top: #35b0c3; --cut: #b98f6c;
    --asleep: #2c343d; --lock: #ef6a78; --chain: #5b9bf0; --ok: #45b98a;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.5rem 3rem; max-width: 1400px; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.45rem; line-height: 1.3; margin: 0 0 .3rem; padding-left: .8rem; border-left: 5px solid var(--lock); }
h1.good { border-color: var(--ok); }
h2 { font-size: 1.05rem; margin: 2rem 0 .2rem; }
p { margin: .2rem 0 .6rem; color: var(--soft); max-width: 62rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .45rem .8rem; }
.tile b { display: block; font-size: 1.15rem; font-weight: 600; }
.tile span { color: var(--soft); font-size: .85rem; }
canvas { display: block; width: 100%; }
.plot { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .6rem; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: .2rem 0 .5rem; font-size: .88rem; color: var(--soft); }
.legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin-right: .4rem; vertical-align: -.08rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; min-width: 30rem; }
th, td { text-align: right; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; }
th.text, td.text { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 13rem; }
.bar { display: flex; width: 16rem; height: .8rem; background: var(--asleep); border-radius: 2px; overflow: hidden; }
.hint { min-height: 1.5em; font-size: .88rem; color: var(--soft); margin: .3rem 0 0; }
.more { color: var(--soft); font-size: .88rem; }
</style>
</head>
<body>
<h1 id="diagnosis">)html";

constexpr std::string_view before_data = R"html(</h1>
<div id="page"></div>
<script id="data" type="application/json">)html";

constexpr std::string_view after_data = R"html(</script>
<script>
"use strict";
const began = performance.now();
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const heading = document.getElementById("diagnosis");
heading.classList.toggle("good", data.good);
heading.textContent = heading.textContent.replace(/ %/g, "\u00a0%"); // never alone on a line
const kinds = ["own", "stolen", "submitted", "resumed", "on_top", "cut", "asleep"];
const kindNames = data.timeline && data.timeline.simulated ? ["a task"] :
  ["a task of its own", "a stolen task", "a task of the pool's queue", "a task that has waited",
   "a task on top of a waiting one", "begin not recorded", "asleep"];
// All text goes in as text: nothing of the recording is read as HTML.
function make(tag, text, kind) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (kind) e.className = kind;
  return e;
}
function put(parent, ...children) { parent.append(...children); return parent; }
function time(ns) {
  for (const [size, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]])
    if (ns >= size) return Number((ns / size).toPrecision(3)) + " " + name;
  return Number(ns.toPrecision(3)) + " ns";
}
function color(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }
function legend(entries) {
  const box = make("div", undefined, "legend");
  for (const [name, text] of entries) {
    const mark = make("i");
    mark.style.background = "var(--" + name + ")";
    put(box, put(make("span"), mark, text));
  }
  return box;
}
const drawings = [];
function canvas(height, draw) {
  const c = make("canvas");
  c.style.height = height + "px";
  const paint = () => {
    const scale = window.devicePixelRatio || 1, width = c.clientWidth;
    c.width = Math.round(width * scale);
    c.height = Math.round(height * scale);
    const g = c.getContext("2d");
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    draw(g, width, height);
  };
  drawings.push(paint);
  c.paint = paint;
  return c;
}
function niceStep(range, most) {
  const rough = range / most, power = Math.pow(10, Math.floor(Math.log10(rough)));
  for (const m of [1, 2, 5, 10]) if (m * power >= rough) return m * power;
  return 10 * power;
}
const left = 64, right = 14;
function timeAxis(g, width, y, from, to) {
  const step = niceStep(to - from, Math.max(2, Math.floor((width - left - right) / 110)));
  const unit = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]].find(u => Math.max(Math.abs(from), to) >= u[0]) || [1, "ns"];
  g.fillStyle = color("soft"); g.strokeStyle = color("line"); g.textAlign = "center"; g.textBaseline = "top";
  for (let t = Math.ceil(from / step) * step; t <= to + step * 1e-9; t += step) {
    const x = left + (t - from) / (to - from) * (width - left - right);
    const label = Number((t / unit[0]).toPrecision(12)) + " " + unit[1];
    const half = g.measureText(label).width / 2;
    g.beginPath(); g.moveTo(x, y); g.lineTo(x, y + 4); g.stroke();
    g.fillText(label, Math.min(x, width - half - 1), y + 6);
  }
}
function words(title, text) {
  put(page, make("h2", title));
  if (text) put(page, make("p", text));
}
function section(title, text) {
  words(title, text);
  const box = make("div", undefined, "plot");
  put(page, box);
  return box;
}
function table(box, columns, rows, texts) {
  const t = make("table"), head = make("tr");
  columns.forEach((c, i) => put(head, make("th", c, texts.includes(i) ? "text" : "")));
  put(t, put(make("thead"), head));
  const body = make("tbody");
  for (const row of rows) {
    const line = make("tr");
    row.forEach((c, i) => put(line, c instanceof Node ? put(make("td", undefined, "text"), c)
                                                       : make("td", c, texts.includes(i) ? "text" : "")));
    put(body, line);
  }
  put(box, put(make("div", undefined, "scroll"), put(t, body)));
}

const tiles = make("div", undefined, "tiles");
for (const [name, value] of data.tiles) put(tiles, put(make("div", undefined, "tile"), make("b", value), make("span", name)));
put(page, tiles);
for (const note of data.notes) put(page, make("p", note));

// ---- the timeline: slices in typed arrays; what is narrower than a pixel is drawn as a share of the pixel's column.
if (data.timeline) {
  const line = data.timeline, tracks = line.workers.map(flat => {
    const n = flat.length / 2, begin = new Float64Array(n), end = new Float64Array(n), kind = new Uint8Array(n);
    let at = 0;
    for (let i = 0; i < n; ++i) {
      at += flat[2 * i];
      begin[i] = at;
      const value = flat[2 * i + 1];
      kind[i] = value % 8;
      at += Math.floor(value / 8);
      end[i] = at;
    }
    return {begin, end, kind};
  });
  delete line.workers;
  const box = section(line.title, line.text);
  const used = kinds.filter((_, k) => tracks.some(t => t.kind.includes(k)));
  put(box, legend(used.map(k => [k, kindNames[kinds.indexOf(k)]])));
  const row = Math.max(6, Math.min(26, Math.floor(420 / tracks.length))), gap = row > 10 ? 3 : 1;
  let from = line.begin, to = line.end;
  const first = (t, x) => { // the first slice that ends after x
    let a = 0, b = t.end.length;
    while (a < b) { const m = (a + b) >> 1; if (t.end[m] > x) b = m; else a = m + 1; }
    return a;
  };
  const c = canvas(tracks.length * (row + gap) + 30, (g, width) => {
    const w = width - left - right, perPixel = (to - from) / w, colors = kinds.map(color), empty = color("back");
    tracks.forEach((t, i) => {
      const y = i * (row + gap);
      g.fillStyle = color("soft"); g.textAlign = "right"; g.textBaseline = "middle";
      const every = Math.ceil(14 / (row + gap));
      if (i % every === 0) g.fillText((tracks.length > 40 ? "" : "worker ") + i, left - 6, y + row / 2);
      g.fillStyle = empty;
      g.fillRect(left, y, w, row);
      let k = first(t, from);
      const sums = new Float64Array(8);
      let column = -1;
      const flush = () => { // one column of pixels, its kinds stacked
        let top = y + row;
        for (let s = 0; s < 7; ++s) if (sums[s] > 0) {
          const h = Math.min(sums[s] / perPixel * row, top - y);
          g.fillStyle = colors[s];
          g.fillRect(left + column, top - h, 1, h);
          top -= h;
          sums[s] = 0;
        }
      };
      for (; k < t.begin.length && t.begin[k] < to; ++k) {
        const a = Math.max(t.begin[k], from), b = Math.min(t.end[k], to);
        let x = Math.floor((a - from) / perPixel);
        const last = Math.floor((b - from) / perPixel);
        if (x !== column) { flush(); column = x; }
        if (last === x) { sums[t.kind[k]] += b - a; continue; }
        sums[t.kind[k]] += from + (x + 1) * perPixel - a;
        flush();
        g.fillStyle = colors[t.kind[k]];
        if (last - x > 1) g.fillRect(left + x + 1, y, Math.min(last, w) - x - 1, row);
        column = last;
        sums[t.kind[k]] += b - (from + last * perPixel);
      }
      if (column < w) flush();
    });
    timeAxis(g, width, tracks.length * (row + gap) + 2, from - line.begin, to - line.begin);
  });
  c.style.cursor = "grab";
  c.style.touchAction = "none";
  put(box, c);
  const hint = make("div", "Wheel: zoom. Drag: move. Double click: the whole.", "hint");
  put(box, hint);
  const span = () => c.clientWidth - left - right;
  const move = (a, b) => {
    const size = Math.min(Math.max(b - a, 100), line.end - line.begin);
    from = Math.min(Math.max(a, line.begin), line.end - size);
    to = from + size;
    c.paint();
  };
  c.addEventListener("wheel", e => {
    e.preventDefault();
    const at = from + (e.offsetX - left) / span() * (to - from), f = Math.exp(e.deltaY * 0.0015);
    move(at - (at - from) * f, at + (to - at) * f);
  }, {passive: false});
  let drag = null;
  c.addEventListener("pointerdown", e => { drag = {x: e.offsetX, from, to}; c.setPointerCapture(e.pointerId); });
  c.addEventListener("pointerup", () => { drag = null; });
  c.addEventListener("dblclick", () => move(line.begin, line.end));
  c.addEventListener("pointermove", e => {
    if (drag) {
      const d = (drag.x - e.offsetX) / span() * (drag.to - drag.from);
      move(drag.from + d, drag.to + d);
      return;
    }
    const t = tracks[Math.floor(e.offsetY / (row + gap))], at = from + (e.offsetX - left) / span() * (to - from);
    if (!t || at < from || at > to) return;
    const k = first(t, at), where = "worker " + Math.floor(e.offsetY / (row + gap)) + " at " + time(at - line.begin) + ": ";
    hint.textContent = where + (k < t.begin.length && t.begin[k] <= at
      ? kindNames[t.kind[k]] + " for " + time(t.end[k] - t.begin[k])
      : line.simulated ? "looks for work or sleeps" : "looks for work");
  });
}

// ---- curves over time
for (const curve of data.curves) {
  const box = section(curve.title, curve.text);
  if (curve.series.length > 1) put(box, legend(curve.series.map(s => [s.color, s.name])));
  let top = curve.most;
  for (const s of curve.series) for (const v of s.values) top = Math.max(top, v);
  const height = 200, bottom = height - 28;
  put(box, canvas(height, (g, width) => {
    const w = width - left - right, step = Math.max(1, niceStep(top, 5)), most = Math.ceil(top / step) * step, head = 24;
    g.textBaseline = "middle"; g.textAlign = "right";
    for (let v = 0; v <= most + step * 1e-9; v += step) {
      const y = bottom - v / most * (bottom - head);
      g.strokeStyle = color("line"); g.beginPath(); g.moveTo(left, y + .5); g.lineTo(width - right, y + .5); g.stroke();
      g.fillStyle = color("soft"); g.fillText(Number(v.toPrecision(6)).toLocaleString("en"), left - 6, y);
    }
    g.textAlign = "left"; g.textBaseline = "top";
    g.fillText(curve.y, 2, 0);
    for (const s of curve.series) {
      const n = s.values.length;
      const path = () => {
        g.beginPath();
        for (let i = 0; i < n; ++i) {
          const y = bottom - s.values[i] / most * (bottom - head);
          g.lineTo(left + i / n * w, y);
          g.lineTo(left + (i + 1) / n * w, y);
        }
      };
      g.fillStyle = g.strokeStyle = color(s.color);
      if (curve.series.length === 1) {
        path();
        g.lineTo(left + w, bottom); g.lineTo(left, bottom);
        g.globalAlpha = .25; g.fill(); g.globalAlpha = 1;
      }
      g.lineWidth = 1.5; path(); g.stroke(); g.lineWidth = 1;
    }
    timeAxis(g, width, bottom, 0, curve.duration);
  }));
}

// ---- the longest chain
if (data.chain) {
  const chain = data.chain, box = section(chain.title, chain.text);
  put(box, canvas(58, (g, width) => {
    const w = width - left - right, perPixel = chain.duration / w;
    g.fillStyle = color("soft"); g.textAlign = "right"; g.textBaseline = "middle";
    g.fillText("chain", left - 6, 15);
    g.fillStyle = color("asleep");
    g.fillRect(left, 4, w, 22);
    chain.links.forEach(([begin, length], i) => {
      g.fillStyle = color("chain");
      g.globalAlpha = i % 2 ? .6 : 1;
      g.fillRect(left + begin / perPixel, 4, Math.max(length / perPixel, .5), 22);
    });
    g.globalAlpha = 1;
    timeAxis(g, width, 30, 0, chain.duration);
  }));
  put(box, make("div", chain.rowsText, "hint"));
  table(box, chain.columns, chain.rows, chain.texts);
}

for (const t of data.tables) {
  if (t.rows.length) table(section(t.title, t.text), t.columns, t.rows, t.texts);
  else words(t.title, t.text);
}

if (data.use) {
  const box = section(data.use.title, data.use.text);
  put(box, legend([["own", "runs tasks"], ["stolen", "looks for work"], ["asleep", "asleep"]]));
  table(box, ["worker", "", "runs tasks", "looks for work", "asleep", "slices"], data.use.rows.map(r => {
    const bar = make("div", undefined, "bar"), all = Math.max(r[1] + r[2] + r[3], 1);
    for (const [k, name] of [[1, "own"], [2, "stolen"]]) {
      const part = make("div");
      part.style.width = (100 * r[k] / all) + "%";
      part.style.background = "var(--" + name + ")";
      put(bar, part);
    }
    return [String(r[0]), bar, ...[1, 2, 3].map(k => (100 * r[k] / all).toFixed(1) + " %"), r[4].toLocaleString("en")];
  }), [1]);
}

const paintAll = () => drawings.forEach(p => p());
paintAll();
let again = 0;
window.addEventListener("resize", () => { cancelAnimationFrame(again); again = requestAnimationFrame(paintAll); });
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintAll);
window.addEventListener("beforeprint", paintAll);
document.body.dataset.scriptMs = Math.round(performance.now() - began);
document.body.dataset.loadMs = Math.round(performance.now());
</script>
</body>
</html>
)html";

/// JSON inside of a script element: no `<`, so that nothing in it ends the element or begins a comment.
[[nodiscard]] std::string inside_script(std::string const& json) {
    std::string text;
    text.reserve(json.size());
    for (char const c : json) {
        if (c == '<') {
            text += "\\u003c";
        } else {
            text += c;
        }
    }
    return text;
}

} // namespace

std::string view_page(std::string const& heading, nlohmann::json const& data) {
    std::string text(before_title);
    text += study::escaped(heading);
    text += before_data;
    text += inside_script(data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    text += after_data;
    return text;
}

} // namespace tools
