// Scenes to switch to, and files: chosen, or dropped onto the page. Files are uploaded and opened by the program.

/** What a scene may need beside itself; anything else that is dropped with it is not uploaded. */
const COMPANIONS = /\.(toml|obj|off|ply|stl|gltf|glb|bin|msh|vtk|vtu|vtp|mesh|meshb|node|ele|pc2|mdd)$/i;
const SCENE = /\.toml$/i;
/** Files that are only there for others. */
const ONLY_BESIDE = /\.(bin|ele|pc2|mdd)$/i;

function megabytes(bytes) {
  return `${Math.ceil(bytes / 2 ** 20)} MB`;
}

export class Files {
  /** `send` asks the program; `report` shows a problem. */
  constructor(select, input, overlay, send, report) {
    Object.assign(this, { select, input, overlay, send, report });
    this.isEnabled = false;
    // Each drop has a folder of its own on the other side, also if the page is loaded again.
    this.drop = Math.floor(Math.random() * 2 ** 31);
    this.known = new Set();
    select.addEventListener("change", () => send("open", { scene: select.value }));
    input.addEventListener("change", () => {
      this.open([...input.files]);
      input.value = "";
    });
    addEventListener("dragenter", (event) => this.over(event));
    addEventListener("dragover", (event) => this.over(event));
    addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) overlay.hidden = true;
    });
    addEventListener("drop", (event) => this.dropped(event));
    this.list();
  }

  async list() {
    const answer = await fetch("scenes.json");
    if (!answer.ok) return;
    const { scenes, max_file_bytes } = await answer.json();
    this.maxBytes = max_file_bytes;
    this.known = new Set(scenes.map(({ name }) => name));
    this.select.replaceChildren(...scenes.map(({ name, description }) => {
      const option = new Option(name, name);
      option.title = description;
      return option;
    }));
    this.show(this.scene);
  }

  /** Shows the current scene, which may be none of the list. */
  show(scene) {
    this.scene = scene;
    if (!this.known.size || scene === undefined) return;
    this.select.querySelector("[data-own]")?.remove();
    if (!this.known.has(scene)) {
      const own = new Option(scene, "");
      own.dataset.own = "";
      own.disabled = true;
      this.select.prepend(own);
    }
    this.select.value = this.known.has(scene) ? scene : "";
  }

  over(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = this.isEnabled ? "copy" : "none";
    this.overlay.hidden = !this.isEnabled;
  }

  dropped(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.overlay.hidden = true;
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
    if (!this.isEnabled) this.report("A recorded run cannot be replaced: view a scene to drop files onto it.");
    else if (entries.some((entry) => entry?.isDirectory)) this.report("Drop files, not folders.");
    else this.open([...event.dataTransfer.files]);
  }

  /** Uploads files and opens the scene among them, or the mesh. */
  async open(files) {
    const useful = files.filter(({ name }) => COMPANIONS.test(name));
    const scenes = useful.filter(({ name }) => SCENE.test(name));
    const meshes = useful.filter(({ name }) => !ONLY_BESIDE.test(name));
    const [main, ...more] = scenes.length ? scenes : meshes;
    if (!main) {
      const names = files.map(({ name }) => name).join(", ");
      return this.report(`${names || "This"}: neither a scene (.toml) nor a mesh (.obj .ply .glb .gltf .stl .off .msh .vtk .vtu .mesh).`);
    }
    if (more.length) return this.report(`Drop one ${scenes.length ? "scene" : "mesh"} at a time: ${[main, ...more].map(({ name }) => name).join(", ")}.`);
    const large = useful.find(({ size }) => size > this.maxBytes);
    if (large) return this.report(`${large.name} has ${megabytes(large.size)}, more than the ${megabytes(this.maxBytes)} that can be dropped: open it by supple view FILE.`);
    this.drop++;
    for (const file of useful) {
      const problem = await this.upload(file);
      if (problem) return this.report(problem);
    }
    this.send("open-file", { drop: this.drop, name: main.name });
  }

  /** Returns the problem, if there is one. */
  async upload(file) {
    try {
      const answer = await fetch(`dropped/${this.drop}/${encodeURIComponent(file.name)}`, { method: "PUT", body: file });
      return answer.ok ? null : await answer.text();
    } catch {
      return `${file.name} could not be uploaded: the program has ended or cannot be reached.`;
    }
  }
}
