// The controls, built from the list that the program sends: sliders with numbers and units, choices, vectors; details are folded.

import { short } from "./plots.js";

/** Time between two messages while a slider moves, in milliseconds. */
const SLOWEST = 180;
const STEPS = 1000;

let count = 0;
const newId = () => `control-${++count}`;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
  made.append(...children);
  return made;
}

/** A text that is readable and valid TOML. */
function written(value) {
  return value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6) ? value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e") : String(Number(value.toPrecision(6)));
}

/** The description of a control, for devices without hover; screen readers read it with each of its inputs. */
function help(control, ...inputs) {
  const id = newId();
  inputs.forEach((input) => input.setAttribute("aria-describedby", id));
  return element("p", { class: "help", id }, `${control.help}.`);
}

class NumberControl {
  constructor(control, change) {
    const id = newId();
    this.text = element("input", { type: "text", inputmode: "decimal", id, autocomplete: "off", "data-path": control.path });
    this.slider = element("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": `${control.label}, slider` });
    const name = element("label", { class: "name", for: id }, control.label);
    const unit = element("span", { class: "unit" }, control.unit);
    const value = element("span", { class: "value" }, this.text, unit);
    this.root = element("div", { class: "control", title: control.help }, element("div", { class: "row" }, name, value), this.slider, help(control, this.text, this.slider));
    this.text.addEventListener("change", () => change(this.text.value.trim()));
    let last = 0;
    this.slider.addEventListener("input", () => {
      const chosen = this.fromSlider();
      this.text.value = written(chosen);
      const now = performance.now();
      if (!control.path.startsWith("solver") && now - last > SLOWEST) {
        last = now;
        change(written(chosen));
      }
    });
    this.slider.addEventListener("change", () => change(written(this.fromSlider())));
    this.update(control);
  }

  fromSlider() {
    const { least, most, logarithmic, whole } = this.control;
    const share = Number(this.slider.value) / STEPS;
    const low = Math.max(least, 1e-12);
    const value = logarithmic ? low * (most / low) ** share : least + share * (most - least);
    return whole ? Math.round(value) : Number(value.toPrecision(3));
  }

  update(control, isRefused) {
    this.control = control;
    const { value, least, most, logarithmic } = control;
    const low = Math.max(least, 1e-12);
    const share = logarithmic ? Math.log(Math.max(value, low) / low) / Math.log(most / low) : (value - least) / (most - least || 1);
    if (isRefused || document.activeElement !== this.text) this.text.value = written(value);
    if (!this.slider.matches(":active")) this.slider.value = Math.round(STEPS * share);
    this.slider.setAttribute("aria-valuetext", `${short(value)} ${control.unit}`);
  }
}

class ChoiceControl {
  constructor(control, change) {
    const id = newId();
    this.select = element("select", { id, "data-path": control.path });
    this.help = help(control, this.select);
    this.root = element("div", { class: "control" }, element("label", { class: "name", for: id }, control.label), this.select, this.help);
    this.select.addEventListener("change", () => change(JSON.stringify(this.select.value)));
    this.update(control);
  }

  update(control) {
    const key = JSON.stringify(control.choices);
    if (key !== this.key) {
      this.key = key;
      this.select.replaceChildren(...control.choices.map(({ word, title, disabled }) => {
        const option = new Option(title, word);
        option.disabled = Boolean(disabled);
        return option;
      }));
    }
    this.select.value = control.value;
    // What the choice is explains more than what it is for.
    const about = control.choices.find(({ word }) => word === control.value)?.about;
    this.help.textContent = about ? `${control.help}. ${about}.` : `${control.help}.`;
    this.root.title = this.help.textContent;
  }
}

class VectorControl {
  constructor(control, change) {
    this.inputs = ["x", "y", "z"].map((axis) =>
      element("input", { type: "text", inputmode: "decimal", autocomplete: "off", "data-path": `${control.path}.${axis}`, "aria-label": `${control.label} along ${axis}` }),
    );
    const name = element("span", { class: "name" }, control.label);
    const row = element("div", { class: "row" }, name, element("span", { class: "unit" }, control.unit));
    const fields = ["x", "y", "z"].map((axis, k) => element("label", {}, axis, this.inputs[k]));
    this.root = element("div", { class: "control", title: control.help }, row, element("div", { class: "vector" }, ...fields), help(control, ...this.inputs));
    for (const input of this.inputs) {
      input.addEventListener("change", () => change(`[${this.inputs.map((other) => other.value.trim() || "0").join(", ")}]`));
    }
    this.update(control);
  }

  update(control, isRefused) {
    this.inputs.forEach((input, k) => {
      if (isRefused || document.activeElement !== input) input.value = written(control.value[k]);
    });
  }
}

class SwitchControl {
  constructor(control, change) {
    this.input = element("input", { type: "checkbox", "data-path": control.path });
    const label = element("label", { class: "check" }, this.input, element("span", {}, control.label));
    this.root = element("div", { class: "control", title: control.help }, label, help(control, this.input));
    this.input.addEventListener("change", () => change(String(this.input.checked)));
    this.update(control);
  }

  update(control) {
    this.input.checked = control.value;
  }
}

const KINDS = { number: NumberControl, choice: ChoiceControl, vector: VectorControl, switch: SwitchControl };

/** Synchronises the controls of the page with those of the program. */
export class Panel {
  constructor(root, set) {
    this.root = root;
    this.set = set;
    this.shape = "";
    this.controls = new Map();
    /** The sections whose details are unfolded. */
    this.unfolded = new Set();
  }

  update(controls) {
    const shape = controls.map((control) => `${control.group} ${control.path} ${control.kind}`).join("\n");
    if (shape !== this.shape) this.build(controls, shape);
    controls.forEach((control) => this.controls.get(control.path).update(control));
  }

  /* Shows what holds after something was refused, in the field that is written in too. */
  reset(controls) {
    controls.forEach((control) => this.controls.get(control.path)?.update(control, true));
  }

  build(controls, shape) {
    this.shape = shape;
    this.controls.clear();
    this.root.replaceChildren();
    let group = null;
    let details = null;
    for (const control of controls) {
      if (control.group !== group) {
        [group, details] = [control.group, null];
        this.root.append(element("h2", {}, group));
      }
      const made = new KINDS[control.kind](control, (value) => this.set(control.path, value));
      this.controls.set(control.path, made);
      if (control.detail && !details) this.root.append((details = this.details(group)));
      (control.detail ? details : this.root).append(made.root);
    }
  }

  /** The folded part of a section. */
  details(group) {
    const name = group === "Solver" ? "Solver details" : "Numbers of the material";
    const details = element("details", {}, element("summary", {}, name));
    details.open = this.unfolded.has(group);
    details.addEventListener("toggle", () => this.unfolded[details.open ? "add" : "delete"](group));
    return details;
  }
}
