// The WebSocket to the program: JSON texts in both directions, binary messages with a JSON header to the page. It reconnects
// by itself while the program runs.

const TOPOLOGY = 1;
const FRAME = 2;
const HIERARCHY = 3;
const STRESS = 4;
const CONTACT = 5;

/** Reads a binary message: its header, and a reader for the numbers after it. */
export function parse(buffer) {
  const words = new DataView(buffer);
  const kind = words.getUint32(0, true);
  const length = words.getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  let offset = 8 + length;
  const take = (Type, count) => {
    const part = new Type(buffer, offset, count);
    offset += 4 * count;
    return part;
  };
  return { kind, header, floats: (count) => take(Float32Array, count), words: (count) => take(Uint32Array, count) };
}

export class Connection {
  /** `handlers` has `topology`, `frame`, `hierarchy`, `stress`, `contact` for binary messages, one per type of text, `open` and `lost`. */
  constructor(handlers) {
    this.handlers = handlers;
    this.delay = 500;
    this.connect();
  }

  connect() {
    const address = new URL("socket", location.href);
    address.protocol = "ws:";
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      this.delay = 500;
      this.handlers.open();
    };
    this.socket.onmessage = (event) => this.receive(event.data);
    this.socket.onclose = (event) => {
      this.handlers.lost(event.reason);
      setTimeout(() => this.connect(), this.delay);
      this.delay = Math.min(2 * this.delay, 8000);
    };
  }

  receive(data) {
    if (typeof data === "string") {
      const message = JSON.parse(data);
      this.handlers[message.type]?.(message);
      return;
    }
    const message = parse(data);
    if (message.kind === TOPOLOGY) this.handlers.topology(message);
    if (message.kind === FRAME) this.handlers.frame(message);
    if (message.kind === HIERARCHY) this.handlers.hierarchy(message);
    if (message.kind === STRESS) this.handlers.stress(message);
    if (message.kind === CONTACT) this.handlers.contact(message);
  }

  send(type, fields = {}) {
    if (this.socket.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ type, ...fields }));
    }
  }
}
