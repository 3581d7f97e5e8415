// Small live plots on canvases: cost and convergence of steps, energies and stretch.

const LENGTH = 160;
const STAGE_COLOURS = ["#8894a5", "#4a7caa", "#4ca0a4", "#689e7c", "#daaa52", "#d67454", "#c6768c", "#8e70a4"];
const LINE_COLOURS = ["#d67454", "#4a7caa", "#689e7c", "#8e70a4"];

const RESIDUAL = {
  step: "Imbalance of forces at each iteration. The number at the right is the final value relative to the start: the step is done when it is below the tolerance.",
  frame: "Imbalance of forces at the end of a frame, relative to the start.",
};

/** A number with a few digits, and a power of ten if needed. */
export function short(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) {
    const [mantissa, power] = value.toExponential(Math.max(digits - 2, 0)).split("e");
    const raised = String(Number(power)).replace(/[-\d]/g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));
    return `${mantissa}·10${raised}`;
  }
  return String(Number(value.toPrecision(digits)));
}

class Plot {
  /** `kind` is `lines`, `stack` or `curve` (one value per iteration, logarithmic). */
  constructor(parent, title, unit, names, colours, kind, help) {
    Object.assign(this, { unit, names, colours, kind, series: names.map(() => []) });
    const figure = document.createElement("figure");
    figure.className = "plot";
    figure.style.marginInline = "0";
    const header = document.createElement("header");
    const label = document.createElement("span");
    label.textContent = unit ? `${title} (${unit})` : title;
    this.now = document.createElement("span");
    this.now.className = "now";
    header.append(label, this.now);
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", title);
    figure.append(header, this.canvas);
    if (names.length > 1) figure.append(this.keys());
    const explained = document.createElement("p");
    explained.className = "help";
    explained.textContent = help;
    figure.append(explained);
    parent.append(figure);
  }

  keys() {
    const list = document.createElement("ul");
    this.names.forEach((name, k) => {
      const item = document.createElement("li");
      item.textContent = name;
      item.style.setProperty("--key", this.colours[k]);
      list.append(item);
    });
    return list;
  }

  push(values) {
    values.forEach((value, k) => {
      this.series[k].push(value);
      if (this.series[k].length > LENGTH) this.series[k].shift();
    });
  }

  clear() {
    this.series = this.names.map(() => []);
  }

  draw(now) {
    this.now.textContent = now;
    const ratio = Math.min(devicePixelRatio, 2);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width) return;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    this.ink = style.getPropertyValue("--soft");
    this.rule = style.getPropertyValue("--line");
    const range = this.range();
    this.axes(context, width, height, range);
    if (this.kind === "stack") this.stack(context, width, height, range);
    else this.lines(context, width, height, range);
  }

  range() {
    const all = this.kind === "stack"
      ? (this.series[0] ?? []).map((_, i) => this.series.reduce((sum, line) => sum + line[i], 0))
      : this.series.flat().filter(Number.isFinite);
    if (!all.length) return [0, 1];
    if (this.kind === "curve") {
      const positive = all.filter((value) => value > 0);
      const low = Math.floor(Math.log10(Math.min(...positive, 1)));
      return [low, Math.max(Math.ceil(Math.log10(Math.max(...positive, 10 ** (low + 1)))), low + 1)];
    }
    const high = Math.max(...all);
    const low = this.kind === "stack" ? 0 : Math.min(...all);
    const margin = 0.06 * (high - low) || 0.05 * Math.abs(high) || 1;
    if (this.kind === "counts") return [0, Math.ceil(high * 1.05)];
    return [this.kind === "lines" ? low - margin : 0, high + margin];
  }

  axes(context, width, height, [low, high]) {
    context.font = "10px system-ui, sans-serif";
    context.fillStyle = this.ink;
    context.strokeStyle = this.rule;
    const text = (value) => (this.kind === "curve" ? short(10 ** value) : short(value));
    for (const [value, y, base] of [[high, 0.5, 10], [low, height - 0.5, height - 3]]) {
      context.beginPath();
      context.moveTo(0, y);
      context.lineTo(width, y);
      context.stroke();
      context.fillText(text(value), 0, base);
    }
  }

  place(i, count, width) {
    const length = this.kind === "curve" ? Math.max(count - 1, 1) : LENGTH - 1;
    const shift = this.kind === "curve" ? 0 : LENGTH - count;
    return 46 + ((width - 48) * (i + shift)) / length;
  }

  lines(context, width, height, [low, high]) {
    this.series.forEach((line, k) => {
      context.strokeStyle = context.fillStyle = this.colours[k];
      context.lineWidth = 1.6;
      context.beginPath();
      line.forEach((value, i) => {
        const seen = this.kind === "curve" ? Math.log10(Math.max(value, 10 ** low)) : value;
        const x = this.place(i, line.length, width);
        const y = height - 2 - ((height - 4) * (seen - low)) / (high - low);
        if (i) context.lineTo(x, y);
        else context.moveTo(x, y);
        if (this.kind === "curve") context.fillRect(x - 2, y - 2, 4, 4);
      });
      context.stroke();
    });
  }

  stack(context, width, height, [, high]) {
    const count = this.series[0].length;
    const bar = Math.max((width - 48) / LENGTH, 1);
    for (let i = 0; i < count; i++) {
      let below = 0;
      this.series.forEach((line, k) => {
        const [from, to] = [below, below + line[i]].map((value) => height - 1 - ((height - 2) * value) / high);
        context.fillStyle = this.colours[k];
        context.fillRect(this.place(i, count, width) - bar, to, bar + 0.5, from - to);
        below += line[i];
      });
    }
  }
}

export class Plots {
  constructor(parent) {
    this.parent = parent;
    this.clear("step");
  }

  /** Restarts; values are per `step` or per `frame`. */
  clear(unit) {
    this.unit = unit;
    this.parent.replaceChildren();
    this.cost = null;
    const plot = (...rest) => new Plot(this.parent, ...rest);
    this.costPlace = document.createElement("div");
    this.parent.append(this.costPlace);
    this.iterations = plot(`Iterations per ${unit}`, "", ["nonlinear", "linear"], LINE_COLOURS, "counts", "Iterations of the method, and the total of its linear solver.");
    this.residuals = plot(unit === "step" ? "Residual of the last step, iteration by iteration" : "Residual per frame", "", ["residual"], LINE_COLOURS, "curve", RESIDUAL[unit]);
    this.energies = plot("Energy", "J", ["kinetic", "elastic", "potential"], LINE_COLOURS, "lines", "Kinetic, elastic and gravitational energy of all bodies.");
    this.stretch = plot("Stretch", "length over rest length", ["largest", "mean"], LINE_COLOURS, "lines", "Of the triangles of all surfaces: 1 is undeformed, 1.1 is ten per cent longer.");
    this.last = null;
  }

  add(header, stretch) {
    const report = header.report;
    this.last = { header, stretch };
    this.stretch.push([stretch.max, stretch.mean]);
    if (!report) return;
    if (!this.cost) {
      const title = `Time per ${this.unit} by stage`;
      this.cost = new Plot(this.costPlace, title, "ms", report.stages.map(([name]) => name), STAGE_COLOURS, "stack", "Computing time of each stage.");
    }
    this.cost.push(report.stages.map(([, seconds]) => 1000 * seconds));
    this.iterations.push([report.iterations, report.linear_iterations]);
    this.energies.push([report.energy.kinetic, report.energy.elastic, report.energy.potential]);
    if (this.unit === "step") this.residuals.series = [header.residuals];
    else if (report.residual !== null && report.residual !== undefined) this.residuals.push([report.residual]);
  }

  draw() {
    if (!this.last || !this.parent.offsetParent) return;
    const { header: { report }, stretch } = this.last;
    this.stretch.draw(`${stretch.max.toFixed(3)}, ${stretch.mean.toFixed(3)}`);
    if (!report) return;
    this.cost?.draw(`${short(1000 * report.seconds)} ms`);
    this.iterations.draw(`${report.iterations}, ${report.linear_iterations}`);
    this.residuals.draw(report.residual === null ? "none in this method" : short(report.residual, 2));
    this.energies.draw(`${short(report.energy.kinetic)}, ${short(report.energy.elastic)}, ${short(report.energy.potential)}`);
  }
}
