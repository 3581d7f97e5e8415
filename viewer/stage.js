// Camera, lights, ground and markers. Draws only when something has changed.

import * as THREE from "./three/three.module.js";
import { OrbitControls } from "./three/OrbitControls.js";
import { kindColour } from "./colours.js";

const THEMES = {
  light: { ground: 0xf3f4f6, fog: 0xe4e8ec, sky: 0xe6eefb, bounce: 0xd5d2cc, sun: 2.6, ambient: 2.0, pin: 0xd1432f, wire: 0x10161d, node: 0x14202e },
  // As bright a light as in the light theme, on a dark ground: bodies stand out.
  dark: { ground: 0x31373f, fog: 0x171c22, sky: 0xdfe8f6, bounce: 0xb5b0a8, sun: 2.6, ambient: 2.1, pin: 0xff7a66, wire: 0x05080b, node: 0xf2f6fb },
};
const FIELD_OF_VIEW = 35;
/** How far the grid reaches, in sizes of the scene. */
const GRID_SIZES = 3;
/** The largest spacing of its lines, in sizes of the scene. */
const GRID_SPACING = 0.25;
/** Maximum number of device pixels per CSS pixel: more only costs time. */
const MOST_PIXELS = 2;

export class Stage {
  constructor(canvas, bodies) {
    this.canvas = canvas;
    this.bodies = bodies;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, MOST_PIXELS));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 500);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.maxPolarAngle = 0.96 * Math.PI;
    this.controls.addEventListener("change", () => this.invalidate());
    this.addLights();
    this.scene.add(bodies.group);
    this.addMarkers();
    this.afterDrawing = [];
    this.covered = 0;
    this.pending = 0;
    this.resize();
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  addLights() {
    this.sky = new THREE.HemisphereLight(0xffffff, 0xffffff, 1);
    this.sun = new THREE.DirectionalLight(0xfff4e6, 1);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 3;
    this.sun.shadow.normalBias = 0.02;
    this.scene.add(this.sky, this.sun, this.sun.target);
    this.ground = new THREE.Mesh(new THREE.CircleGeometry(1, 96), new THREE.MeshStandardMaterial({ roughness: 1 }));
    this.ground.rotation.x = -Math.PI / 2;
    this.ground.receiveShadow = true;
    // Faint lines at round distances, by which size and motion are seen.
    this.grid = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ transparent: true, opacity: 0.1, depthWrite: false }));
    this.scene.add(this.ground, this.grid);
    this.scene.fog = new THREE.Fog(0xffffff, 1, 100);
  }

  addMarkers() {
    this.pinMaterial = new THREE.MeshStandardMaterial({ roughness: 0.5 });
    this.pins = new THREE.InstancedMesh(new THREE.SphereGeometry(1, 16, 12), this.pinMaterial, 4096);
    this.pins.count = 0;
    this.pins.frustumCulled = false;
    this.pins.castShadow = true;
    this.pinPlaces = new Float32Array(0);
    this.rubber = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ depthTest: false, transparent: true }));
    this.rubber.frustumCulled = false;
    this.rubber.renderOrder = 2;
    this.nodes = new THREE.Points(new THREE.BufferGeometry(), new THREE.PointsMaterial({ size: 6, sizeAttenuation: false, depthTest: false, transparent: true }));
    this.links = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ transparent: true, opacity: 0.75, depthTest: false }));
    for (const part of [this.nodes, this.links]) {
      part.frustumCulled = false;
      part.visible = false;
      part.renderOrder = 1;
    }
    // Without light, so that the colours are those of the legend.
    this.cells = new THREE.Mesh(new THREE.BufferGeometry(), new THREE.MeshBasicMaterial({ vertexColors: true, side: THREE.DoubleSide, toneMapped: false, fog: false, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 }));
    this.cellEdges = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0x10161d, transparent: true, opacity: 0.55 }));
    for (const part of [this.cells, this.cellEdges]) {
      part.frustumCulled = false;
      part.visible = false;
    }
    this.scene.add(this.pins, this.rubber, this.nodes, this.links, this.cells, this.cellEdges);
  }

  setTheme(name) {
    const theme = THEMES[name];
    this.ground.material.color.set(theme.ground);
    this.grid.material.color.set(theme.node);
    this.scene.fog.color.set(theme.fog);
    this.sky.color.set(theme.sky);
    this.sky.groundColor.set(theme.bounce);
    this.sky.intensity = theme.ambient;
    this.sun.intensity = theme.sun;
    this.pinMaterial.color.set(theme.pin);
    this.rubber.material.color.set(theme.pin);
    this.nodes.material.color.set(theme.node);
    this.links.material.color.set(theme.node);
    this.bodies.bodies.forEach((body) => body.wire.material.color.set(theme.wire));
    this.theme = theme;
    this.invalidate();
  }

  /** Scales ground, light and markers to the size of the scene; `space` is the free space below, relative to that size. */
  fit(groundHeight, space) {
    const box = this.bodies.bounds();
    for (const collider of this.bodies.colliders) {
      const around = new THREE.Box3().setFromBufferAttribute(collider.geometry.getAttribute("position"));
      const near = box.clone().expandByScalar(box.getSize(new THREE.Vector3()).length());
      box.union(around.intersect(near));
    }
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    const size = Math.max(box.getSize(new THREE.Vector3()).length(), 1e-3);
    this.size = size;
    this.restBox = box;
    // Space to fall into, if the scene does not define the ground.
    const lowest = groundHeight ?? box.min.y - space * size;
    this.groundHeight = lowest;
    const centre = box.getCenter(new THREE.Vector3());
    this.ground.position.set(centre.x, lowest - 1e-4 * size, centre.z);
    this.ground.scale.setScalar(40 * size);
    this.drawGrid(centre, size);
    this.scene.fog.near = 6 * size;
    this.scene.fog.far = 26 * size;
    this.sun.position.set(centre.x - 1.1 * size, centre.y + 2.1 * size, centre.z + 1.3 * size);
    this.sun.target.position.copy(centre).setY(Math.max(lowest, centre.y - 0.5 * size));
    const shadow = this.sun.shadow.camera;
    shadow.left = shadow.bottom = -1.7 * size;
    shadow.right = shadow.top = 1.7 * size;
    shadow.near = 0.05 * size;
    shadow.far = 8 * size;
    shadow.updateProjectionMatrix();
    this.sun.shadow.normalBias = 0.012 * size;
    this.camera.near = 0.005 * size;
    this.camera.far = 60 * size;
    this.camera.updateProjectionMatrix();
    this.controls.minDistance = 0.05 * size;
    this.controls.maxDistance = 12 * size;
    this.pinSize = 0.011 * size;
  }

  /** Lines at round distances in metres, around a centre. */
  drawGrid(centre, size) {
    const power = 10 ** Math.floor(Math.log10(GRID_SPACING * size));
    const spacing = power * [5, 2, 1].find((step) => step * power <= GRID_SPACING * size || step === 1);
    const count = Math.ceil((GRID_SIZES * size) / spacing);
    const half = count * spacing;
    const [x, z] = [centre.x, centre.z].map((c) => spacing * Math.round(c / spacing));
    const points = [];
    for (let k = -count; k <= count; k++) {
      const at = k * spacing;
      points.push(x + at, 0, z - half, x + at, 0, z + half, x - half, 0, z + at, x + half, 0, z + at);
    }
    this.grid.geometry.setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
    this.grid.geometry.computeBoundingSphere();
    this.grid.position.y = this.ground.position.y + 2e-5 * size;
  }

  /** A three-quarter view of everything and of the space below. */
  frameAll() {
    const box = this.bodies.bounds().union(this.restBox ?? new THREE.Box3());
    const { x, z } = box.getSize(new THREE.Vector3());
    box.min.y = Math.min(box.min.y, Math.max(this.groundHeight, box.max.y - Math.max(x, z)));
    const sphere = box.getBoundingSphere(new THREE.Sphere());
    const aspect = (this.canvas.clientWidth - this.covered) / Math.max(this.canvas.clientHeight, 1);
    const half = THREE.MathUtils.degToRad(FIELD_OF_VIEW / 2);
    const narrow = Math.atan(Math.tan(half) * Math.min(aspect, 1));
    const distance = (1.13 * Math.max(sphere.radius, 1e-3)) / Math.sin(narrow);
    this.controls.target.copy(sphere.center);
    this.camera.position.set(0.52, 0.34, 0.86).normalize().multiplyScalar(distance).add(sphere.center);
    this.controls.update();
    this.invalidate();
  }

  showPins(places) {
    this.pinPlaces = places;
    const matrix = new THREE.Matrix4();
    const count = Math.min(places.length / 3, 4096);
    for (let i = 0; i < count; i++) {
      matrix.makeScale(this.pinSize, this.pinSize, this.pinSize);
      matrix.setPosition(places[3 * i], places[3 * i + 1], places[3 * i + 2]);
      this.pins.setMatrixAt(i, matrix);
    }
    this.pins.count = count;
    this.pins.instanceMatrix.needsUpdate = true;
  }

  showGrabs(grabs) {
    this.rubber.geometry.setAttribute("position", new THREE.Float32BufferAttribute(grabs.flat(2), 3));
    this.rubber.visible = grabs.length > 0;
  }

  showHierarchy(nodes, links) {
    this.nodes.visible = nodes.length > 0;
    this.links.visible = links.length > 0;
    this.nodes.geometry.setAttribute("position", new THREE.BufferAttribute(nodes, 3));
    this.links.geometry.setAttribute("position", new THREE.BufferAttribute(links, 3));
    const dense = nodes.length > 3 * 3000;
    this.nodes.material.size = (dense ? 2.5 : 6) * Math.min(devicePixelRatio, MOST_PIXELS);
    this.invalidate();
  }

  /** Draws cells of a slice: four corners each, coloured by kind. */
  showCells(corners, kinds) {
    const order = [0, 1, 2, 0, 2, 3];
    const outline = [0, 1, 1, 2, 2, 3, 3, 0];
    const places = (list) => {
      const out = new Float32Array(3 * list.length * kinds.length);
      for (let i = 0; i < kinds.length * list.length; i++) {
        const from = 12 * Math.floor(i / list.length) + 3 * list[i % list.length];
        out.set(corners.subarray(from, from + 3), 3 * i);
      }
      return new THREE.BufferAttribute(out, 3);
    };
    const colours = new Float32Array(18 * kinds.length);
    const colour = new THREE.Color();
    kinds.forEach((kind, cell) => {
      colour.set(kindColour(kind));
      for (let i = 0; i < 6; i++) colour.toArray(colours, 18 * cell + 3 * i);
    });
    this.cells.visible = this.cellEdges.visible = kinds.length > 0;
    this.cells.geometry.setAttribute("position", places(order));
    this.cells.geometry.setAttribute("color", new THREE.BufferAttribute(colours, 3));
    this.cellEdges.geometry.setAttribute("position", places(outline));
    this.invalidate();
  }

  /** In a recorded run it is unknown how deep bodies will fall: the ground moves down with them. */
  lowerGround() {
    const lowest = this.bodies.bounds().min.y;
    if (lowest < this.groundHeight) this.setGround(lowest);
  }

  setGround(height) {
    this.groundHeight = height;
    this.ground.position.y = height - 1e-4 * this.size;
    this.grid.position.y = this.ground.position.y + 2e-5 * this.size;
  }

  setShadows(shown) {
    this.sun.castShadow = shown;
    this.invalidate();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    // The centre of the picture is the centre of the area not covered by the panel.
    this.camera.setViewOffset(width, height, 0.5 * this.covered, 0, width, height);
    this.invalidate();
  }

  /** Sets the number of pixels covered on the right. */
  setCovered(width) {
    this.covered = width;
    this.resize();
  }

  /** Requests a redraw in the next animation frame. `done` is called when the picture is on the screen. */
  invalidate(done) {
    if (done) this.afterDrawing.push(done);
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.renderer.render(this.scene, this.camera);
      const done = this.afterDrawing;
      this.afterDrawing = [];
      // The browser has taken the picture when it asks for the next one.
      if (done.length) requestAnimationFrame(() => done.forEach((call) => call()));
    });
  }

  /** Rotates the view by angles in radians. */
  turn(horizontal, vertical) {
    const offset = this.camera.position.clone().sub(this.controls.target);
    const spherical = new THREE.Spherical().setFromVector3(offset);
    spherical.theta += horizontal;
    spherical.phi += vertical;
    spherical.makeSafe();
    this.camera.position.copy(this.controls.target).add(offset.setFromSpherical(spherical));
    this.controls.update();
    this.invalidate();
  }

  zoom(factor) {
    const offset = this.camera.position.clone().sub(this.controls.target).multiplyScalar(factor);
    this.camera.position.copy(this.controls.target).add(offset);
    this.controls.update();
    this.invalidate();
  }

  /** The position of a world point on the page, in CSS pixels. */
  toPage(point) {
    const seen = point.clone().project(this.camera);
    const box = this.canvas.getBoundingClientRect();
    return { x: box.left + (0.5 + 0.5 * seen.x) * box.width, y: box.top + (0.5 - 0.5 * seen.y) * box.height, isInFront: seen.z < 1 };
  }
}
