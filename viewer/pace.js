// How fast the simulation really is, next to the speed that was asked for: the achieved rate, the time of a step, and what the
// program is computing while no frame comes.

import { short } from "./plots.js";

/** Below this share of the speed that was asked for, the speed is shown as too low. */
const KEPT = 0.9;

/** A multiple of real time. */
function times(rate) {
  return rate >= 9.5 ? rate.toFixed(0) : rate >= 0.95 ? rate.toFixed(1) : short(rate, 2);
}

function duration(seconds) {
  return seconds < 1 ? `${short(1000 * seconds, 2)} ms` : `${short(seconds, 2)} s`;
}

export class Pace {
  constructor(root) {
    this.rate = document.createElement("span");
    this.step = document.createElement("span");
    this.step.className = "minor";
    root.replaceChildren(this.rate, this.step);
    this.root = root;
    this.work = null;
  }

  /** Work that lasts, or `null` when it is done. */
  takeWork(work, seconds) {
    this.work = work && { work, seconds };
    this.draw();
  }

  take(state, frame) {
    // What was being computed has arrived.
    if (frame !== this.frame && this.work?.work === "step") this.work = null;
    [this.state, this.frame] = [state, frame];
    this.draw();
  }

  draw() {
    const { state, frame, work } = this;
    const rate = state?.running ? frame?.rate : null;
    const wanted = state?.speed ?? null;
    const isKnown = typeof rate === "number";
    this.rate.textContent = isKnown ? `${times(rate)}× real time` : "";
    this.root.classList.toggle("slow", isKnown && wanted !== null && rate < KEPT * wanted);
    this.root.classList.toggle("working", Boolean(work));
    this.step.textContent = work ? this.working(work) : isKnown && state.mode === "live" && frame.report ? `${duration(frame.report.seconds)} per step` : "";
    this.root.hidden = !this.rate.textContent && !this.step.textContent;
  }

  working({ work, seconds }) {
    const name = work === "building" ? "preparing" : "computing";
    return seconds < 1 ? name : `${name}, ${Math.floor(seconds)} s`;
  }
}
