// The hand: drag a body to pull it, click it to pin a vertex, click a pin to release it. Dragging the background rotates the view.

import * as THREE from "./three/three.module.js";

/** Maximum movement of a click, in CSS pixels. */
const CLICK = 5;
/** Maximum distance of a click from a pin, for a mouse and for a finger. */
const NEAR_PIN = { mouse: 9, touch: 20, pen: 12 };
/** Meshes with more triangles are not picked while hovering. */
const MOST_TRIANGLES_FOR_HOVER = 60000;

export class Hand {
  constructor(stage, bodies, send, onFirstTouch) {
    this.stage = stage;
    this.bodies = bodies;
    this.send = send;
    this.onFirstTouch = onFirstTouch;
    this.isEnabled = true;
    this.held = null;
    this.caster = new THREE.Raycaster();
    this.plane = new THREE.Plane();
    const canvas = stage.canvas;
    // Before OrbitControls, which listens on the same element.
    canvas.addEventListener("pointerdown", (event) => this.down(event), { capture: true });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", (event) => this.cancel(event));
  }

  aim(event) {
    const box = this.stage.canvas.getBoundingClientRect();
    const place = new THREE.Vector2(
      (2 * (event.clientX - box.left)) / box.width - 1,
      1 - (2 * (event.clientY - box.top)) / box.height,
    );
    this.caster.setFromCamera(place, this.stage.camera);
    return this.caster.ray;
  }

  rayFields(ray) {
    return { origin: ray.origin.toArray(), direction: ray.direction.toArray() };
  }

  /** The pin under a pointer. */
  pinAt(event) {
    const reach = NEAR_PIN[event.pointerType] ?? NEAR_PIN.mouse;
    const places = this.stage.pinPlaces;
    let nearest = null;
    for (let i = 0; i < places.length; i += 3) {
      const point = new THREE.Vector3().fromArray(places, i);
      const seen = this.stage.toPage(point);
      const distance = Math.hypot(seen.x - event.clientX, seen.y - event.clientY);
      if (seen.isInFront && distance < (nearest?.distance ?? reach)) nearest = { distance, point };
    }
    return nearest?.point ?? null;
  }

  down(event) {
    if (!this.isEnabled || event.button !== 0 || !event.isPrimary) {
      // A second finger rotates the view instead.
      if (this.held) this.cancel();
      return;
    }
    const ray = this.aim(event).clone();
    const hit = this.caster.intersectObjects(this.bodies.meshes, false)[0];
    const pin = this.stage.pins.visible ? this.pinAt(event) : null;
    if (!hit && !pin) return;
    // The solver does not know about the clipping: the ray starts at the clipping plane.
    if (hit && this.bodies.isOpen) ray.origin.addScaledVector(ray.direction, 0.98 * hit.distance);
    this.stage.controls.enabled = false;
    this.stage.canvas.setPointerCapture(event.pointerId);
    this.stage.canvas.focus({ preventScroll: true });
    this.held = { id: event.pointerId, x: event.clientX, y: event.clientY, ray, point: hit?.point, pin, isDragging: false };
  }

  move(event) {
    if (!this.held) return this.hover(event);
    if (event.pointerId !== this.held.id) return;
    const moved = Math.hypot(event.clientX - this.held.x, event.clientY - this.held.y);
    if (!this.held.isDragging) {
      if (moved < CLICK || !this.held.point) return;
      this.held.isDragging = true;
      this.stage.canvas.classList.add("dragging");
      this.send("grab", this.rayFields(this.held.ray));
      this.onFirstTouch();
    }
    const facing = this.stage.camera.getWorldDirection(new THREE.Vector3());
    this.plane.setFromNormalAndCoplanarPoint(facing, this.held.point);
    const target = this.aim(event).intersectPlane(this.plane, new THREE.Vector3());
    if (target) this.send("drag", { target: target.toArray() });
  }

  up(event) {
    if (!this.held || event.pointerId !== this.held.id) return;
    const { isDragging, pin, ray } = this.held;
    if (!isDragging && pin) this.send("unpin", { at: pin.toArray() });
    if (!isDragging && !pin) this.send("pin", this.rayFields(ray));
    if (!isDragging) this.onFirstTouch();
    this.cancel();
  }

  cancel() {
    if (!this.held) return;
    if (this.held.isDragging) this.send("release");
    this.held = null;
    this.stage.canvas.classList.remove("dragging");
    this.stage.controls.enabled = true;
  }

  hover(event) {
    const count = this.bodies.bodies.reduce((sum, body) => sum + body.triangles.length / 3, 0);
    if (!this.isEnabled || event.buttons || event.pointerType !== "mouse" || count > MOST_TRIANGLES_FOR_HOVER) return;
    this.aim(event);
    const isOver = this.caster.intersectObjects(this.bodies.meshes, false).length > 0;
    this.stage.canvas.classList.toggle("over-body", isOver);
  }
}
