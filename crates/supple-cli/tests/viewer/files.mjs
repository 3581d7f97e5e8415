// A long step that says so, advice, another scene from the list, and files: a mesh chosen, a scene dropped with its mesh, and what is refused.

import { readFileSync } from "node:fs";
import { assert, frames, onPage, until } from "./browser.mjs";

const SHEET = "v -50 0 -50\nv 50 0 -50\nv 50 0 50\nv -50 0 50\nf 4 3 2 1\n";
const SCENE = '[[body]]\nname = "sheet"\nmaterial = "silk"\nshape = { file = "meshes/sheet.obj", scale = 0.01 }\n[solver]\nmethod = "hpbd"\n';

/** Drops files onto the page as a hand would. */
function drop(page, files) {
  return page.evaluate((files) => {
    const dataTransfer = new DataTransfer();
    files.forEach(([name, text]) => dataTransfer.items.add(new File([text], name)));
    for (const type of ["dragenter", "dragover", "drop"]) document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  }, files);
}

function isShown(page, scene) {
  return until(page, (scene) => window.supple.state.scene === scene && window.supple.frame.time > 0, scene);
}

/** What refusals say. */
function refused(page, words) {
  return page.locator(".toast.wrong").filter({ hasText: words }).waitFor();
}

await onPage(process.argv[2], async (page) => {
  // The step takes long: the page says so while nothing else comes.
  await page.locator("#pace.working").filter({ hasText: /computing, \d+ s/ }).waitFor();

  // What is faster is offered, and nothing changes without the person.
  await page.locator("#offer").filter({ hasText: /runs at 0\.\d+ times real time/ }).waitFor();
  await page.getByRole("button", { name: "Keep as it is" }).click();
  assert.ok(await page.locator("#offer").isHidden());
  assert.equal(await page.evaluate(() => window.supple.state.solver), "newton+galerkin");
  await page.keyboard.press("Space");
  await until(page, () => window.supple.state.running === false);
  await page.keyboard.press("Space");

  // Another built-in scene, whose material and self-contact come first.
  await page.locator("#scene").selectOption("flag-hpbd");
  await isShown(page, "flag-hpbd");
  assert.equal(await page.locator("#scene-name").textContent(), "flag-hpbd");
  await page.getByLabel("Material", { exact: true }).selectOption("silk");
  await until(page, () => window.supple.state.controls[0].value === "silk");
  assert.ok(await page.getByLabel("Self-contact").isVisible());
  assert.ok(await page.getByLabel("Coarse levels", { exact: true }).isHidden(), "details are folded");
  assert.ok(await page.locator("#panel.more-below").isVisible(), "the panel shows that it scrolls");

  // A mesh in centimetres falls onto a floor.
  await page.locator("#file").setInputFiles({ name: "sheet.obj", mimeType: "text/plain", buffer: Buffer.from(SHEET) });
  await isShown(page, "sheet");
  assert.match(await page.locator("#scene-description").textContent(), /falls onto a floor as cloth.*scale = 0\.01/);

  // What is refused says why, and the scene stays.
  await drop(page, [["notes.txt", "hello"]]);
  await refused(page, "neither a scene");
  await drop(page, [["broken.obj", "v 1 2\n"]]);
  await refused(page, "broken.obj");
  await drop(page, [["tablecloth.toml", SCENE]]);
  await refused(page, "`sheet.obj`: drop the scene and its files together");
  assert.equal(await page.evaluate(() => window.supple.state.scene), "sheet");

  // A scene with its mesh; saved, it names the mesh beside it.
  await drop(page, [["tablecloth.toml", SCENE], ["sheet.obj", SHEET]]);
  await isShown(page, "tablecloth");
  await frames(page, 2);
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as scene file" }).click();
  assert.match(readFileSync(await (await saving).path(), "utf8"), /file = "sheet\.obj"/);
});
