// The page: draws what the program sends, and sends the user's actions.

import { Vector3 } from "./three/three.module.js";
import { Bodies } from "./bodies.js";
import { NO_REGION, RELEASED, diverging, kindColour } from "./colours.js";
import { Connection } from "./connection.js";
import { Files } from "./files.js";
import { Hand } from "./hand.js";
import { Pace } from "./pace.js";
import { Panel } from "./panel.js";
import { Plots, short } from "./plots.js";
import { Stage } from "./stage.js";

const $ = (id) => document.getElementById(id);
/** Time between two requests of the solver's hierarchy, in milliseconds. */
const HIERARCHY_EVERY = 400;
/** The same for stress and contact. */
const STRESS_EVERY = 150;
/** Lines about vertices that are left out of contact. */
const RELEASED_LINES = 4;
/** Screens on which the panel opens at the bottom. */
const NARROW = "(max-width: 760px) and (min-height: 461px), (max-width: 560px)";
/** Free space above the ground, relative to the size of the scene: for a run it is known how deep bodies have fallen so far. */
const FALL_SPACE = { live: 0.9, playback: 0.02 };
const EMPTY = { points: new Float32Array(0), words: new Uint32Array(0) };

const ICONS = {
  play: '<path d="M7 4.500v15l12.500-7.500z" fill="currentColor"/>',
  pause: '<path d="M6.500 4.500h4v15h-4zM13.500 4.500h4v15h-4z" fill="currentColor"/>',
  step: '<path d="M5 5v14l9-7zM16 5h3v14h-3z" fill="currentColor"/>',
  reset: '<path d="M5 12a7 7 0 1 1 2.200 5.100M5 12V6.500M5 12h5.500" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/>',
  theme: '<circle cx="12" cy="12" r="7.500" fill="none" stroke="currentColor" stroke-width="2"/><path d="M12 4.500a7.500 7.500 0 0 1 0 15z" fill="currentColor"/>',
  help: '<circle cx="12" cy="12" r="8.500" fill="none" stroke="currentColor" stroke-width="2"/><path d="M9.700 9.800a2.400 2.400 0 1 1 3.400 2.200c-.8.400-1.100.9-1.100 1.700" fill="none" stroke="currentColor" stroke-width="1.900" stroke-linecap="round"/><circle cx="12" cy="16.600" r="1.200" fill="currentColor"/>',
  "panel-toggle": '<path d="M4 7h9M17 7h3M4 17h3M11 17h9" stroke="currentColor" stroke-width="2" stroke-linecap="round"/><circle cx="15" cy="7" r="2" fill="none" stroke="currentColor" stroke-width="2"/><circle cx="9" cy="17" r="2" fill="none" stroke="currentColor" stroke-width="2"/>',
};

function icon(button, name) {
  if (button.dataset.icon === name) return;
  button.dataset.icon = name;
  button.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true">${ICONS[name]}</svg>`;
}

const bodies = new Bodies();
const stage = new Stage($("stage"), bodies);
const plots = new Plots($("plots"));
const send = (type, fields) => connection.send(type, fields);
const hand = new Hand(stage, bodies, send, () => ($("hint").hidden = true));
const pace = new Pace($("pace"));
const files = new Files($("scene"), $("file"), $("drop-target"), send, (problem) => toast(problem, true));
const panel = new Panel($("controls"), (path, value) => send("set", { path, value }));

let state = null;
let levels = [];
let ground = null;
let isFramed = false;
let sceneShown = null;
let offerLeft = null;
let lastFrame = null;
let cuts = null;
let hierarchyAsked = 0;
let stressAsked = 0;
let stressDue = 0;
let framesDrawn = 0;
let isScrubbing = false;

const connection = new Connection({
  open: () => $("toasts").querySelector("[data-lost]")?.remove(),
  lost,
  state: takeState,
  work: ({ work, seconds }) => pace.takeWork(work, seconds),
  error: ({ problem }) => {
    files.show(state?.scene);
    toast(problem, true);
    // A rejected value must not stay in its field.
    if (state) panel.reset(state.controls);
  },
  note: ({ text }) => toast(text),
  scene: ({ name, toml }) => download(name, toml),
  topology: takeTopology,
  frame: takeFrame,
  hierarchy: takeHierarchy,
  stress: takeStress,
  contact: takeContact,
});

/* What the program sends. */

function takeState(next) {
  const isNew = !state || state.mode !== next.mode || state.scene !== next.scene;
  state = next;
  const isLive = state.mode === "live";
  if (isNew) {
    document.title = `${state.scene} · Supple`;
    plots.clear(isLive ? "step" : "frame");
    hand.isEnabled = isLive;
    $("hint").hidden = !isLive;
    $("transport").classList.toggle("has-timeline", !isLive);
    $("timeline").hidden = isLive;
    $("tab-change").hidden = $("save").hidden = !isLive;
    files.isEnabled = isLive;
    if (!isLive) openTab("look");
  }
  offerColours(isLive);
  $("scene-name").textContent = state.scene;
  $("scene-description").textContent = state.description;
  icon($("play"), state.running ? "pause" : "play");
  $("play").setAttribute("aria-label", state.running ? "Pause" : "Play");
  $("speed").value = state.speed === null ? "max" : String(state.speed);
  if (!isLive) takeTimeline();
  showBadge(isLive);
  files.show(state.scene);
  panel.update(state.controls);
  pace.take(state, lastFrame);
  showOffer();
  showFacts();
  showScroll();
  if (state.problem && state.problem !== takeState.reported) toast(state.problem, true);
  takeState.reported = state.problem;
}

/** What the user may do about a slow simulation. */
function showOffer() {
  const offer = state.offer ?? null;
  $("offer").hidden = !offer || offerKey(offer) === offerLeft;
  if (!offer) return;
  $("offer-text").textContent = offer.text;
  $("offer-take").textContent = offer.label;
}

/** Advice that was declined does not come back for this scene. */
function offerKey(offer) {
  return `${state.scene}: ${offer.label}`;
}

function takeOffer() {
  for (const { type, ...fields } of state.offer.requests) send(type, fields);
  $("offer").hidden = true;
  // A hidden button would keep the keys to itself.
  $("stage").focus({ preventScroll: true });
}

function leaveOffer() {
  offerLeft = state.offer && offerKey(state.offer);
  showOffer();
  $("stage").focus({ preventScroll: true });
}

/** Unavailable colours show the reason. */
function offerColours(isLive) {
  const reasons = [];
  if (!isLive) reasons.push("A recorded run has no stress and no hierarchy: view the scene to see them.");
  if (!isLive && !state.has_contact) reasons.push("It has no contact forces: run the scene with --contact-forces.");
  if (isLive && !state.has_contact) reasons.push("This method knows no contact forces.");
  if (isLive && !state.has_stress) reasons.push("This method has no stress: it has springs in place of an elastic law.");
  choiceOf("hierarchy").disabled = !isLive;
  choiceOf("stress").disabled = !isLive || !state.has_stress;
  choiceOf("contact").disabled = !state.has_contact;
  $("colour-hint").textContent = reasons.join(" ");
  $("colour-hint").hidden = !reasons.length;
  if (choiceOf(bodies.colour).disabled) setColour("plain");
}

function choiceOf(colour) {
  return document.querySelector(`[name="colour"][value="${colour}"]`);
}

function takeTimeline() {
  $("seek").max = Math.max(state.places - 1, 0);
}

function showBadge(isLive) {
  const badge = $("badge");
  const text = state.problem ? "stopped" : !isLive ? (state.growing ? "still running" : "recorded run") : state.running ? "live" : "paused";
  badge.textContent = text;
  badge.className = `badge ${state.problem ? "wrong" : state.running || state.growing ? "live" : ""}`;
  badge.hidden = false;
}

function takeTopology(message) {
  bodies.build(message);
  ground = message.header.ground;
  stage.setTheme(theme());
  isFramed &&= message.header.bodies.length > 0 && message.header.scene === sceneShown;
  sceneShown = message.header.scene;
  levels = [];
  showHierarchy();
}

function takeFrame(message) {
  const { header } = message;
  if (header.topology !== bodies.topology) return;
  const pins = bodies.move(message);
  if (!isFramed) {
    isFramed = true;
    stage.fit(ground, FALL_SPACE[state?.mode ?? "live"]);
    stage.frameAll();
  }
  if (ground === null && state?.mode === "playback") stage.lowerGround();
  stage.showPins(pins);
  stage.showGrabs(header.grabs);
  const isBefore = lastFrame && header.time < lastFrame.time;
  if (isBefore && state?.mode === "live") plots.clear("step");
  lastFrame = header;
  plots.add(header, bodies.stretch);
  plots.draw();
  showClock();
  pace.take(state, header);
  showLegend();
  if (bodies.colour === "hierarchy") askHierarchy();
  askValues();
  showReleased(header.released);
  stage.invalidate(() => {
    framesDrawn++;
    send("drawn");
  });
}

function askHierarchy() {
  const now = performance.now();
  if (now - hierarchyAsked > HIERARCHY_EVERY && state?.mode === "live") {
    hierarchyAsked = now;
    send("hierarchy", { slice: { axis: Number($("slice-axis").value), share: Number($("slice-share").value) / 100 } });
  }
}

/** Requests again immediately. */
function askHierarchyNow() {
  hierarchyAsked = 0;
  askHierarchy();
}

/** Requests the values of vertices that colours show. */
function askValues() {
  const { colour } = bodies;
  const isKnown = { stress: state?.mode === "live" && state.has_stress, contact: state?.has_contact };
  if (!isKnown[colour]) return;
  // The last frame before a pause is also requested, once it is due.
  clearTimeout(stressDue);
  const wait = stressAsked + STRESS_EVERY - performance.now();
  if (wait > 0) {
    stressDue = setTimeout(askValues, wait);
    return;
  }
  stressAsked = performance.now();
  send(colour);
}

function takeContact(message) {
  if (message.header.topology !== bodies.topology) return;
  bodies.takeContact(message.floats(message.header.points));
  showLegend();
  stage.invalidate();
}

/** Names what is left out of contact, and with what. */
function showReleased(released) {
  $("released").hidden = !released.length;
  const texts = released.slice(0, RELEASED_LINES).map(({ body, collider, vertices }) => `${vertices.length.toLocaleString("en")} of ${body} with ${collider}`);
  if (released.length > RELEASED_LINES) texts.push(`and ${released.length - RELEASED_LINES} more colliders`);
  const items = texts.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    item.style.setProperty("--key", `#${RELEASED.toString(16).padStart(6, "0")}`);
    return item;
  });
  $("released-list").replaceChildren(...items);
}

function takeStress(message) {
  if (message.header.topology !== bodies.topology) return;
  bodies.takeStress(message.floats(message.header.points), message.header.units);
  showLegend();
  stage.invalidate();
}

function takeHierarchy(message) {
  if (message.header.topology !== bodies.topology) return;
  levels = message.header.levels.map((level) => ({
    name: level.name,
    regions: message.words(level.points),
    nodes: message.floats(3 * level.nodes),
    links: message.floats(6 * level.links),
    cells: message.floats(12 * level.cells),
    kindOfCell: message.words(level.cells),
    kinds: level.kinds,
  }));
  cuts = message.header;
  const select = $("level");
  const chosen = Math.min(Math.max(Number(select.value) || 0, 0), Math.max(levels.length - 1, 0));
  const names = levels.map((level) => level.name).join("\n");
  if (select.dataset.names !== names) {
    select.dataset.names = names;
    select.replaceChildren(...levels.map((level, k) => new Option(level.name, k)));
  }
  select.value = chosen;
  showHierarchy();
}

function showHierarchy() {
  const isShown = bodies.colour === "hierarchy";
  const level = isShown ? levels[Number($("level").value)] : undefined;
  const hasCells = Boolean(level?.kinds.length);
  $("hierarchy-options").hidden = !isShown;
  $("level").disabled = !level;
  $("slice").hidden = !hasCells;
  $("hierarchy-hint").textContent = hierarchyHint(level, hasCells);
  // Around a slice the surface is grey: cells are often finer than its triangles, and colours would bleed between them.
  if (level) bodies.paintRegions(hasCells ? level.regions.map(() => NO_REGION) : level.regions);
  else bodies.forgetRegions();
  const hasNodes = level && $("nodes").checked;
  $("nodes").closest("label").hidden = hasCells;
  stage.showHierarchy(hasNodes ? level.nodes : EMPTY.points, hasNodes ? level.links : EMPTY.points);
  bodies.open(cuts?.axis ?? 2, hasCells ? cuts.cuts : null);
  stage.showCells(hasCells ? level.cells : EMPTY.points, hasCells ? level.kindOfCell : EMPTY.words);
  // Pins of the clipped part would float in front of the slice.
  stage.pins.visible = $("pins").checked && !hasCells;
  showKinds(hasCells ? level : null);
}

function hierarchyHint(level, hasCells) {
  if (hasCells) return "The body is clipped at the slice: colours show the kinds of cells.";
  if (level) return "Every region moves together on its level: one colour each. Pinned points are grey.";
  if (!lastFrame?.step) return "The hierarchy is available after the first step.";
  return "This solver has no hierarchy: choose Galerkin multigrid, multilevel or additive Schwarz, hierarchical position based dynamics, an octree or a staggered lattice.";
}

function showKinds(level) {
  const seen = new Set(level?.kindOfCell);
  const items = (level?.kinds ?? []).map((name, kind) => [name, kind]).filter(([, kind]) => seen.has(kind));
  $("kinds").hidden = !items.length;
  $("kinds-list").replaceChildren(...items.map(([name, kind]) => {
    const item = document.createElement("li");
    item.textContent = name;
    item.style.setProperty("--key", `#${kindColour(kind).toString(16).padStart(6, "0")}`);
    return item;
  }));
}

function lost(reason) {
  pace.takeWork(null);
  if ($("toasts").querySelector("[data-lost]")) return;
  const made = toast(reason || "The program has ended or cannot be reached. If it was started again, open the newly printed address.", true, false);
  made.dataset.lost = "";
}

/* What is shown around the stage. */

function showFacts() {
  const facts = state.mode === "live"
    ? [
        ["vertices", state.vertices.toLocaleString("en")],
        ["method", `${state.method} (${state.solver})`],
        ["time step", `${short(1000 * state.dt)} ms`],
      ]
    : [
        ["method", `${state.method} (${state.solver})`],
        ["frames", `${state.first} to ${state.last} of ${state.total}`],
        ["between frames", `${short(1000 * state.dt)} ms`],
      ];
  const entries = facts.flatMap(([name, value], k) => {
    const [term, detail] = [document.createElement("dt"), document.createElement("dd")];
    [term.textContent, detail.textContent] = [name, value];
    term.className = detail.className = k > 1 ? "minor" : "";
    return [term, detail];
  });
  $("facts").replaceChildren(...entries);
}

function showClock() {
  const frame = lastFrame.frame === undefined ? "" : `frame ${lastFrame.frame} · `;
  $("time").textContent = `${frame}${lastFrame.time.toFixed(2)} s`;
  if (!isScrubbing && lastFrame.place !== undefined) $("seek").value = lastFrame.place;
}

/** A stress with its unit and a prefix if needed. */
function stressText(value, unit) {
  const [factor, prefix] = value >= 1e6 ? [1e6, "M"] : value >= 1e3 ? [1e3, "k"] : [1, ""];
  return `${short(value / factor)} ${prefix}${unit}`;
}

/** The colour scale that is shown: its title, the labels, and the position of each in the diverging map. */
function scale() {
  const shares = [0, 0.25, 0.5, 0.75, 1];
  if (bodies.colour === "stretch") {
    const low = Math.max(2 - bodies.limit, 0);
    const value = (share) => low + share * (bodies.limit - low);
    return { title: "stretch (length over rest length)", labels: shares.map((share) => value(share).toFixed(3)), place: (share) => (value(share) - 1) / (bodies.limit - 1) };
  }
  if (bodies.colour === "stress" && bodies.stressLimits.size) {
    const limits = [...bodies.stressLimits];
    const label = (share) => limits.map(([unit, limit]) => stressText(share * limit, unit)).join(", ");
    return { title: "stress (von Mises)", labels: shares.map(label), place: (share) => share };
  }
  if (bodies.colour === "contact" && bodies.pressure) {
    const label = (share) => stressText(share * bodies.pressureLimit, "Pa");
    return { title: "contact pressure", labels: shares.map(label), place: (share) => share };
  }
  return null;
}

function showLegend() {
  const shown = scale();
  $("legend").hidden = !shown;
  const key = shown && shown.title + shown.labels.join();
  if (!shown || $("legend").dataset.key === key) return;
  $("legend").dataset.key = key;
  $("legend-title").textContent = shown.title;
  const context = $("legend-bar").getContext("2d");
  const height = $("legend-bar").height;
  for (let y = 0; y < height; y++) {
    context.fillStyle = `rgb(${diverging(shown.place((height - 1 - y) / (height - 1))).map(Math.round).join(" ")})`;
    context.fillRect(0, y, 12, 1);
  }
  const labels = shown.labels.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  });
  $("legend-labels").replaceChildren(...labels);
}

function toast(text, isWrong = false, fades = true) {
  const made = document.createElement("div");
  made.className = isWrong ? "toast wrong" : "toast";
  made.textContent = text;
  $("toasts").append(made);
  while ($("toasts").children.length > 3) $("toasts").firstChild.remove();
  if (fades) setTimeout(() => made.remove(), 4000 + 45 * text.length);
  return made;
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  toast(`Saved as ${name}. Run it with: supple run ${name}`);
}

/* What people do. */

function theme() {
  return document.documentElement.dataset.theme;
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  stage.setTheme(name);
  plots.draw();
}

function openTab(name) {
  for (const other of ["change", "look", "plots"]) {
    $(`tab-${other}`).setAttribute("aria-selected", other === name);
    $(`page-${other}`).hidden = other !== name;
  }
  showScroll();
  plots.draw();
}

/** The panel fades where more of it is below. */
function showScroll() {
  const pages = document.querySelector(".pages");
  const below = pages.scrollHeight - pages.clientHeight - pages.scrollTop;
  $("panel").classList.toggle("more-below", below > 4);
}

function togglePanel(isOpen = document.body.classList.contains("closed")) {
  document.body.classList.toggle("closed", !isOpen);
  $("panel-toggle").setAttribute("aria-expanded", isOpen);
  coverStage();
  plots.draw();
}

/** The panel covers the stage's right side, unless it opens at the bottom. */
function coverStage() {
  const isBeside = !matchMedia(NARROW).matches && !document.body.classList.contains("closed");
  stage.setCovered(isBeside ? $("panel").offsetWidth + 16 : 0);
}

function setColour(colour) {
  const choice = choiceOf(colour);
  if (choice.disabled) return;
  choice.checked = true;
  bodies.setColour(colour);
  if (colour === "hierarchy") askHierarchyNow();
  stressAsked = 0;
  askValues();
  showHierarchy();
  showLegend();
  stage.invalidate();
}

function nextColour() {
  const order = ["plain", "stretch", "stress", "contact", "hierarchy"].filter((colour) => !choiceOf(colour).disabled);
  setColour(order[(order.indexOf(bodies.colour) + 1) % order.length]);
}

function stepBack() {
  if (state?.mode === "playback" && lastFrame) send("seek", { place: Math.max(lastFrame.place - 1, 0) });
}

const actions = {
  play: () => send(state?.running ? "pause" : "play"),
  step: () => send("step"),
  reset: () => send("reset"),
  theme: () => setTheme(theme() === "dark" ? "light" : "dark"),
  help: () => $("help-dialog").showModal(),
  "panel-toggle": () => togglePanel(),
  save: () => send("save"),
  "frame-all": () => stage.frameAll(),
  "offer-take": takeOffer,
  "offer-leave": leaveOffer,
  "tab-change": () => openTab("change"),
  "tab-look": () => openTab("look"),
  "tab-plots": () => openTab("plots"),
};
for (const [id, action] of Object.entries(actions)) $(id).addEventListener("click", action);
for (const id of ["step", "reset", "theme", "help", "panel-toggle"]) icon($(id), id);
icon($("play"), "pause");

$("speed").addEventListener("change", () => send("speed", { factor: $("speed").value === "max" ? null : Number($("speed").value) }));
$("seek").addEventListener("input", () => {
  isScrubbing = true;
  send("seek", { place: Number($("seek").value) });
});
$("seek").addEventListener("change", () => (isScrubbing = false));
document.querySelectorAll('[name="colour"]').forEach((choice) => choice.addEventListener("change", () => setColour(choice.value)));
$("level").addEventListener("change", showHierarchy);
$("nodes").addEventListener("change", showHierarchy);
$("slice-axis").addEventListener("change", askHierarchyNow);
$("slice-share").addEventListener("input", askHierarchyNow);
$("wireframe").addEventListener("change", () => {
  bodies.setWireframe($("wireframe").checked);
  stage.invalidate();
});
$("colliders").addEventListener("change", () => {
  bodies.colliderGroup.visible = $("colliders").checked;
  stage.invalidate();
});
$("shadows").addEventListener("change", () => stage.setShadows($("shadows").checked));
$("pins").addEventListener("change", showHierarchy);
document.querySelector(".pages").addEventListener("scroll", showScroll);
// What is inside grows and shrinks too: details unfold, plots appear.
const sizes = new ResizeObserver(showScroll);
[".pages", "#page-change", "#page-look", "#page-plots"].forEach((part) => sizes.observe(document.querySelector(part)));

const keys = {
  " ": actions.play,
  ".": actions.step,
  ",": stepBack,
  r: actions.reset,
  f: actions["frame-all"],
  c: nextColour,
  w: () => $("wireframe").click(),
  p: () => togglePanel(),
  l: actions.theme,
  "?": actions.help,
  ArrowLeft: () => stage.turn(-0.08, 0),
  ArrowRight: () => stage.turn(0.08, 0),
  ArrowUp: () => stage.turn(0, -0.06),
  ArrowDown: () => stage.turn(0, 0.06),
  "+": () => stage.zoom(0.9),
  "-": () => stage.zoom(1.11),
};
addEventListener("keydown", (event) => {
  const isTyping = event.target.matches?.("input[type=text], select, input[type=range], dialog *");
  const isButton = event.key === " " && event.target.matches?.("button, [type=checkbox], [type=radio]");
  const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action || isTyping || isButton || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
});

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
setTheme(dark.matches ? "dark" : "light");
matchMedia(NARROW).addEventListener("change", coverStage);
addEventListener("resize", coverStage);
/** On a small screen the stage comes first. */
togglePanel(!matchMedia("(max-width: 760px), (max-height: 500px)").matches);

function explain(isOn) {
  document.body.classList.toggle("explained", isOn);
  document.querySelectorAll(".explain-switch").forEach((other) => (other.checked = isOn));
  plots.draw();
}
document.querySelectorAll(".explain-switch").forEach((other) => other.addEventListener("change", () => explain(other.checked)));
// Devices without hover have no tooltips.
explain(matchMedia("(hover: none)").matches);

/** For tests and debugging: the current state of the page. */
window.supple = {
  get framesDrawn() { return framesDrawn; },
  get state() { return state; },
  get frame() { return lastFrame; },
  get levels() { return levels; },
  get stress() { return bodies.stress && { units: bodies.stress.units, most: Math.max(...bodies.stress.values) }; },
  get contact() { return bodies.pressure && { pressure: [...bodies.pressure], limit: bodies.pressureLimit }; },
  get released() { return bodies.released; },
  get pins() { return stage.pinPlaces.length / 3; },
  get ground() { return stage.groundHeight; },
  get lowest() { return bodies.bounds().min.y; },
  position: (body, vertex) => [...bodies.bodies[body].positions.subarray(3 * vertex, 3 * vertex + 3)],
  place: (point) => stage.toPage(new Vector3(...point)),
};
