// Bodies and colliders as meshes: smooth normals, wireframe, colours by stretch, stress, contact or the solver's hierarchy, and clipped
// where interior cells are shown. Vertices that are left out of contact have a colour of their own in all of them.

import * as THREE from "./three/three.module.js";
import { BODIES, RELEASED, regionColour, roundedLimit, roundedUp, writeStress, writeStretch } from "./colours.js";

const COLLIDER = 0xb0b0ae;
/** The fraction of vertices whose stress the scale covers: otherwise pinned corners would dominate it. */
const MOST_STRESSED = 0.99;
/** The pressure in Pa below which the scale does not end. */
const LEAST_PRESSURE = 1e-3;
/** No clipping. */
const WHOLE = [0, 0, 0, 1];

/** Smooth normals: the sum of the faces' normals, weighted by area. */
function writeNormals(positions, triangles, normals) {
  normals.fill(0);
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
    const ux = positions[b] - positions[a], uy = positions[b + 1] - positions[a + 1], uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a], vy = positions[c + 1] - positions[a + 1], vz = positions[c + 2] - positions[a + 2];
    const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
    normals[a] += x; normals[a + 1] += y; normals[a + 2] += z;
    normals[b] += x; normals[b + 1] += y; normals[b + 2] += z;
    normals[c] += x; normals[c + 1] += y; normals[c + 2] += z;
  }
  for (let v = 0; v < normals.length; v += 3) {
    const length = Math.hypot(normals[v], normals[v + 1], normals[v + 2]) || 1;
    normals[v] /= length; normals[v + 1] /= length; normals[v + 2] /= length;
  }
}

/** Rest data of a triangle for its stretch: the length of an edge, and the position of the third corner along and across it. */
function restFrames(rest, triangles) {
  const frames = new Float32Array(triangles.length);
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
    const ux = rest[b] - rest[a], uy = rest[b + 1] - rest[a + 1], uz = rest[b + 2] - rest[a + 2];
    const vx = rest[c] - rest[a], vy = rest[c + 1] - rest[a + 1], vz = rest[c + 2] - rest[a + 2];
    const length = Math.hypot(ux, uy, uz);
    frames[t] = length;
    frames[t + 1] = (ux * vx + uy * vy + uz * vz) / length;
    frames[t + 2] = Math.hypot(uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx) / length;
  }
  return frames;
}

/** The largest principal stretch of a triangle: the larger singular value of its deformation gradient. */
function stretchOf(positions, triangles, frames, t) {
  const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
  const length = frames[t], along = frames[t + 1], across = frames[t + 2];
  const ux = (positions[b] - positions[a]) / length, uy = (positions[b + 1] - positions[a + 1]) / length;
  const uz = (positions[b + 2] - positions[a + 2]) / length;
  const vx = (positions[c] - positions[a] - ux * along) / across, vy = (positions[c + 1] - positions[a + 1] - uy * along) / across;
  const vz = (positions[c + 2] - positions[a + 2] - uz * along) / across;
  const uu = ux * ux + uy * uy + uz * uz, uv = ux * vx + uy * vy + uz * vz, vv = vx * vx + vy * vy + vz * vz;
  return Math.sqrt(0.5 * (uu + vv + Math.hypot(uu - vv, 2 * uv)));
}

/** Discards fragments beyond a plane of the rest shape: those with rest position `r` for which `cut.xyz · r > cut.w`. */
function cutOpen(material, cut) {
  material.onBeforeCompile = (shader) => {
    shader.uniforms.cut = cut;
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "attribute vec3 rest;\nvarying vec3 vRest;\n#include <common>")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nvRest = rest;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "uniform vec4 cut;\nvarying vec3 vRest;\n#include <common>")
      .replace("#include <clipping_planes_fragment>", "#include <clipping_planes_fragment>\nif (dot(vRest, cut.xyz) > cut.w) discard;");
  };
}

class Body {
  constructor(header, message, index) {
    this.name = header.name;
    this.vertices = header.vertices;
    this.rest = message.floats(3 * header.vertices);
    this.triangles = message.words(3 * header.triangles);
    this.edges = message.words(2 * header.edges);
    this.frames = restFrames(this.rest, this.triangles);
    this.stretches = new Float32Array(header.triangles);
    this.positions = new Float32Array(this.rest);
    this.normals = new Float32Array(3 * header.vertices);
    this.colours = new Float32Array(3 * header.vertices);
    this.geometry = new THREE.BufferGeometry();
    const attribute = (array) => new THREE.BufferAttribute(array, 3).setUsage(THREE.DynamicDrawUsage);
    this.geometry.setAttribute("position", attribute(this.positions));
    this.geometry.setAttribute("normal", attribute(this.normals));
    this.geometry.setAttribute("color", attribute(this.colours));
    this.geometry.setAttribute("rest", new THREE.BufferAttribute(this.rest, 3));
    this.geometry.setIndex(new THREE.BufferAttribute(this.triangles, 1));
    this.plain = new THREE.Color(BODIES[index % BODIES.length]);
    this.material = new THREE.MeshStandardMaterial({ color: this.plain, roughness: 0.78, metalness: 0, side: THREE.DoubleSide });
    this.cut = { value: new THREE.Vector4(...WHOLE) };
    this.place = null;
    this.released = [];
    cutOpen(this.material, this.cut);
    this.mesh = new THREE.Mesh(this.geometry, this.material);
    this.mesh.castShadow = this.mesh.receiveShadow = true;
    this.mesh.frustumCulled = false;
    this.mesh.userData.body = index;
    const lines = new THREE.BufferGeometry();
    lines.setAttribute("position", this.geometry.getAttribute("position"));
    lines.setIndex(new THREE.BufferAttribute(this.edges, 1));
    this.wire = new THREE.LineSegments(lines, new THREE.LineBasicMaterial({ color: 0x10161d, transparent: true, opacity: 0.32 }));
    this.wire.frustumCulled = false;
    this.wire.visible = false;
  }

  /** The body's own colour; at each vertex if some have another. */
  paintPlain() {
    if (this.released.length) {
      for (let v = 0; v < this.vertices; v++) this.plain.toArray(this.colours, 3 * v);
    }
    this.showColours(this.released.length > 0);
  }

  /** Gives released vertices their colour, over any other. */
  markReleased() {
    if (!this.released.length) return;
    const colour = new THREE.Color(RELEASED);
    for (const v of this.released) colour.toArray(this.colours, 3 * v);
    this.geometry.getAttribute("color").needsUpdate = true;
  }

  /** Updates the positions from a frame. */
  move(positions) {
    this.positions.set(positions);
    writeNormals(this.positions, this.triangles, this.normals);
    this.geometry.getAttribute("position").needsUpdate = true;
    this.geometry.getAttribute("normal").needsUpdate = true;
    this.geometry.boundingSphere = null;
    this.geometry.boundingBox = null;
  }

  /** Clips the body where its rest shape exceeds `at` along an axis; `null` removes the clipping. */
  open(axis, at) {
    if (this.place === at && this.axis === axis) return;
    [this.axis, this.place] = [axis, at];
    const isKept = (vertex) => at === null || this.rest[3 * vertex + axis] <= at;
    const kept = (list, size) => list.filter((_, i) => {
      const first = i - (i % size);
      return list.subarray(first, first + size).some(isKept);
    });
    this.cut.value.set(...(at === null ? WHOLE : [0, 1, 2].map((k) => Number(k === axis)).concat(at)));
    // Fragments are clipped exactly; triangles are removed as well, otherwise they would still cast shadows and be picked.
    this.geometry.setIndex(new THREE.BufferAttribute(at === null ? this.triangles : kept(this.triangles, 3), 1));
    this.wire.geometry.setIndex(new THREE.BufferAttribute(at === null ? this.edges : kept(this.edges, 2), 1));
  }

  measure() {
    for (let t = 0; t < this.triangles.length; t += 3) {
      this.stretches[t / 3] = stretchOf(this.positions, this.triangles, this.frames, t);
    }
  }

  /** Colours show the mean stretch of the triangles around each vertex. */
  paintStretch(limit) {
    const sums = new Float32Array(2 * this.vertices);
    for (let t = 0; t < this.triangles.length; t += 3) {
      const area = this.frames[t] * this.frames[t + 2];
      const stretch = this.stretches[t / 3];
      if (!Number.isFinite(stretch)) continue;
      for (let k = 0; k < 3; k++) {
        const v = 2 * this.triangles[t + k];
        sums[v] += area * stretch;
        sums[v + 1] += area;
      }
    }
    for (let v = 0; v < this.vertices; v++) {
      writeStretch(this.colours, v, sums[2 * v + 1] > 0 ? sums[2 * v] / sums[2 * v + 1] : 1, limit);
    }
    this.showColours(true);
  }

  paintStress(stress, limit) {
    for (let v = 0; v < this.vertices; v++) writeStress(this.colours, v, stress[v], limit);
    this.showColours(true);
  }

  paintContact(pressure, limit) {
    for (let v = 0; v < this.vertices; v++) writeStress(this.colours, v, pressure[v], limit);
    this.showColours(true);
  }

  paintRegions(regions) {
    for (let v = 0; v < this.vertices; v++) {
      const [r, g, b] = regionColour(regions[v]);
      this.colours[3 * v] = r;
      this.colours[3 * v + 1] = g;
      this.colours[3 * v + 2] = b;
    }
    this.showColours(true);
  }

  showColours(painted) {
    if (this.material.vertexColors !== painted) {
      this.material.vertexColors = painted;
      this.material.color = painted ? new THREE.Color(1, 1, 1) : this.plain;
      this.material.needsUpdate = true;
    }
    this.geometry.getAttribute("color").needsUpdate = painted;
  }

  dispose() {
    this.geometry.dispose();
    this.material.dispose();
    this.wire.geometry.dispose();
    this.wire.material.dispose();
  }
}

class Collider {
  constructor(header, message) {
    this.vertices = header.vertices;
    this.moves = header.moves;
    this.positions = new Float32Array(message.floats(3 * header.vertices));
    this.triangles = message.words(3 * header.triangles);
    this.normals = new Float32Array(3 * header.vertices);
    this.geometry = new THREE.BufferGeometry();
    this.geometry.setAttribute("position", new THREE.BufferAttribute(this.positions, 3));
    this.geometry.setAttribute("normal", new THREE.BufferAttribute(this.normals, 3));
    this.geometry.setIndex(new THREE.BufferAttribute(this.triangles, 1));
    // Smooth normals would blur the creases of a box.
    const isCoarse = header.triangles <= 60;
    this.material = new THREE.MeshStandardMaterial({ color: COLLIDER, roughness: 0.9, flatShading: isCoarse });
    this.mesh = new THREE.Mesh(this.geometry, this.material);
    this.mesh.castShadow = this.mesh.receiveShadow = true;
    this.mesh.frustumCulled = false;
    this.refresh();
  }

  move(positions) {
    this.positions.set(positions);
    this.refresh();
  }

  refresh() {
    writeNormals(this.positions, this.triangles, this.normals);
    this.geometry.getAttribute("position").needsUpdate = true;
    this.geometry.getAttribute("normal").needsUpdate = true;
  }

  dispose() {
    this.geometry.dispose();
    this.material.dispose();
  }
}

/** All meshes of a topology. */
export class Bodies {
  constructor() {
    this.group = new THREE.Group();
    this.colliderGroup = new THREE.Group();
    this.group.add(this.colliderGroup);
    this.bodies = [];
    this.colliders = [];
    this.colour = "plain";
    this.regions = null;
    this.stress = null;
    this.pressure = null;
    this.pressureLimit = 0;
    this.released = [];
    this.limit = 1.005;
    this.stressLimits = new Map();
    this.stretch = { max: 1, mean: 1 };
    this.wireframe = false;
    this.topology = null;
  }

  /** Replaces the topology. */
  build(message) {
    [...this.bodies, ...this.colliders].forEach((part) => part.dispose());
    this.group.clear();
    this.colliderGroup.clear();
    this.topology = message.header.id;
    this.bodies = message.header.bodies.map((header, index) => new Body(header, message, index));
    this.colliders = message.header.colliders.map((header) => new Collider(header, message));
    this.bodies.forEach((body) => this.group.add(body.mesh, body.wire));
    this.colliders.forEach((collider) => this.colliderGroup.add(collider.mesh));
    for (const { point, normal } of message.header.planes) {
      const plane = new THREE.Mesh(
        new THREE.PlaneGeometry(20, 20),
        new THREE.MeshStandardMaterial({ color: COLLIDER, roughness: 0.95, transparent: true, opacity: 0.5, side: THREE.DoubleSide }),
      );
      plane.position.fromArray(point);
      plane.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3().fromArray(normal));
      this.colliderGroup.add(plane);
    }
    this.group.add(this.colliderGroup);
    this.regions = this.stress = this.pressure = null;
    this.pressureLimit = 0;
    this.limit = 1.005;
    this.stressLimits.clear();
    this.setWireframe(this.wireframe);
  }

  /** Updates from a frame; returns the positions of its pins. */
  move(message) {
    const { header } = message;
    const all = message.floats(3 * header.vertices);
    const pins = message.floats(3 * header.pins);
    let first = 0;
    for (const body of this.bodies) {
      body.move(all.subarray(first, first + 3 * body.vertices));
      first += 3 * body.vertices;
    }
    for (const collider of this.colliders.filter((collider) => collider.moves)) {
      collider.move(message.floats(3 * collider.vertices));
    }
    this.measure();
    this.release(header.released);
    this.paint();
    return pins;
  }

  /** Takes the vertices that are left out of contact with a collider. */
  release(released) {
    const before = this.bodies.map((body) => body.released.length);
    this.released = released;
    for (const body of this.bodies) {
      body.released = released.filter((list) => list.body === body.name).flatMap((list) => list.vertices);
    }
    // Regions are painted when they arrive: those of what is in contact again are painted here.
    const isLess = this.bodies.some((body, k) => body.released.length < before[k]);
    if (isLess && this.colour === "hierarchy" && this.regions) this.paintRegions(this.regions);
  }

  measure() {
    let max = 0, sum = 0, count = 0;
    for (const body of this.bodies) {
      body.measure();
      for (const stretch of body.stretches) {
        if (!Number.isFinite(stretch)) continue;
        max = Math.max(max, stretch);
        sum += stretch;
        count++;
      }
    }
    this.stretch = count ? { max, mean: sum / count } : { max: 1, mean: 1 };
  }

  paint() {
    if (this.colour === "stretch") {
      this.limit = Math.max(this.limit, roundedLimit(this.stretch.max - 1));
      this.bodies.forEach((body) => body.paintStretch(this.limit));
    } else if (this.colour === "stress" && this.stress) {
      this.paintStress();
    } else if (this.colour === "contact" && this.pressure) {
      this.paintContact();
    } else if (this.colour !== "hierarchy" || !this.regions) {
      this.bodies.forEach((body) => body.paintPlain());
    }
    this.bodies.forEach((body) => body.markReleased());
  }

  setColour(colour) {
    this.colour = colour;
    this.limit = 1.005;
    this.stressLimits.clear();
    this.pressureLimit = 0;
    this.paint();
    if (colour === "hierarchy" && this.regions) this.paintRegions(this.regions);
  }

  /** Colours show the region of each vertex of all bodies. */
  paintRegions(regions) {
    this.regions = regions;
    if (this.colour !== "hierarchy") return;
    let first = 0;
    for (const body of this.bodies) {
      body.paintRegions(regions.subarray(first, first + body.vertices));
      body.markReleased();
      first += body.vertices;
    }
  }

  /** Updates the pressure of contact on each vertex of all bodies; none if it is not known. */
  takeContact(pressure) {
    this.pressure = pressure.length ? pressure : null;
    if (this.colour === "contact") this.paint();
  }

  paintContact() {
    const touched = this.pressure.filter((pressure) => pressure > 0).sort();
    const most = touched[Math.floor(MOST_STRESSED * (touched.length - 1))] ?? 0;
    this.pressureLimit = Math.max(this.pressureLimit, roundedUp(Math.max(most, LEAST_PRESSURE)));
    let first = 0;
    for (const body of this.bodies) {
      body.paintContact(this.pressure.subarray(first, (first += body.vertices)), this.pressureLimit);
    }
  }

  /** Updates the stress of each vertex of all bodies, and the unit of each body. */
  takeStress(values, units) {
    this.stress = { values, units };
    if (this.colour === "stress") this.paint();
  }

  paintStress() {
    const { values, units } = this.stress;
    let first = 0;
    const parts = this.bodies.map((body) => values.subarray(first, (first += body.vertices)));
    parts.forEach((part, k) => {
      const most = Float32Array.from(part).sort()[Math.floor(MOST_STRESSED * (part.length - 1))] ?? 0;
      const known = this.stressLimits.get(units[k]) ?? 0;
      this.stressLimits.set(units[k], Math.max(known, roundedUp(Math.max(most, 1e-3))));
    });
    this.bodies.forEach((body, k) => body.paintStress(parts[k], this.stressLimits.get(units[k])));
  }

  /** Clips all bodies along an axis, each at its own position; without positions nothing is clipped. */
  open(axis, places) {
    this.isOpen = Boolean(places);
    this.bodies.forEach((body, k) => body.open(axis, places?.[k] ?? null));
  }

  forgetRegions() {
    this.regions = null;
    this.paint();
  }

  setWireframe(shown) {
    this.wireframe = shown;
    this.bodies.forEach((body) => {
      body.wire.visible = shown;
      body.material.polygonOffset = shown;
      body.material.polygonOffsetFactor = 1;
      body.material.polygonOffsetUnits = 1;
      body.material.needsUpdate = true;
    });
  }

  get meshes() {
    return this.bodies.map((body) => body.mesh);
  }

  /** The box around all bodies. */
  bounds() {
    const box = new THREE.Box3();
    const point = new THREE.Vector3();
    for (const body of this.bodies) {
      for (let v = 0; v < body.positions.length; v += 3) {
        box.expandByPoint(point.fromArray(body.positions, v));
      }
    }
    return box;
  }
}
