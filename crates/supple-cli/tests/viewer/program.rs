//! The program under test, and a plain WebSocket client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `supple view`; ends with the test.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: String,
    /// For its temporary files, which it cannot remove when it is killed.
    _scratch: TempDir,
}

impl Program {
    /// Starts `supple view` with some arguments and waits for its address.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_supple"))
            .args(["view", "--no-open", "--json"])
            .args(arguments)
            .env("TMPDIR", scratch.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let report: Value = serde_json::from_str(&line).expect("a line with the address");
        Self { child, address: report["address"].as_str().unwrap().to_owned(), _scratch: scratch }
    }

    /// A small hanging cloth.
    pub(crate) fn small_cloth() -> Self {
        Self::start(&["hanging-cloth", "--resolution", "0.06"])
    }

    /// A cloth whose steps are solved to the last digit, which takes seconds on any machine.
    pub(crate) fn with_long_steps() -> Self {
        let exact = ["--set", "solver.tolerance=1e-15", "--set", "solver.max_iterations=60"];
        Self::start(&[&["hanging-cloth", "--resolution", "0.4"], &exact[..]].concat())
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.split([':', '/']).nth(4).unwrap().parse().unwrap()
    }

    /// The path with the token, `/0123…/`.
    pub(crate) fn path(&self) -> &str {
        let host = format!("http://127.0.0.1:{}", self.port());
        self.address.strip_prefix(&host).unwrap()
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        Some(1024 * line.split_whitespace().nth(1)?.parse::<u64>().ok()?)
    }

    /// Sends raw bytes over HTTP and returns the whole response.
    pub(crate) fn http(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // A refused connection may be reset after its answer.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A GET with additional header lines; returns the whole response.
    pub(crate) fn get(&self, path: &str, headers: &str) -> String {
        let port = self.port();
        self.http(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}Connection: close\r\n\r\n"
        ))
    }

    pub(crate) fn connect(&self) -> Client {
        self.try_connect(None).expect("the page's own socket")
    }

    /// Connects as a page of an origin would.
    pub(crate) fn try_connect(&self, origin: Option<&str>) -> Result<Client, tungstenite::Error> {
        let address = format!("{}socket", self.address.replace("http:", "ws:"));
        self.connect_to(&address, origin)
    }

    pub(crate) fn connect_to(
        &self,
        address: &str,
        origin: Option<&str>,
    ) -> Result<Client, tungstenite::Error> {
        let mut request = address.into_client_request()?;
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        let stream = TcpStream::connect(("127.0.0.1", self.port()))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Client { socket }),
            Err(tungstenite::handshake::HandshakeError::Failure(error)) => Err(error),
            Err(error) => panic!("the handshake hangs: {error}"),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A binary message taken apart.
pub(crate) struct Binary {
    pub(crate) kind: u32,
    pub(crate) header: Value,
    numbers: Vec<u8>,
}

impl Binary {
    fn parse(bytes: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let end = 8 + word(4) as usize;
        Self {
            kind: word(0),
            header: serde_json::from_slice(&bytes[8..end]).unwrap(),
            numbers: bytes[end..].to_vec(),
        }
    }

    pub(crate) fn words(&self) -> Vec<u32> {
        self.numbers.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    /// The positions of a frame's vertices.
    pub(crate) fn positions(&self) -> Vec<[f32; 3]> {
        let count = self.header["vertices"].as_u64().unwrap() as usize;
        let number = |word: u32| f32::from_bits(word);
        self.words()[..3 * count]
            .chunks_exact(3)
            .map(|p| [number(p[0]), number(p[1]), number(p[2])])
            .collect()
    }

    pub(crate) fn time(&self) -> f64 {
        self.header["time"].as_f64().unwrap()
    }
}

/// A message received by a client.
pub(crate) enum Received {
    Text(Value),
    Binary(Binary),
    Closed,
}

/// A WebSocket client that reads only on request.
pub(crate) struct Client {
    pub(crate) socket: WebSocket<TcpStream>,
}

impl Client {
    pub(crate) fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).unwrap();
    }

    pub(crate) fn receive(&mut self) -> Received {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return Received::Text(serde_json::from_str(&text).unwrap()),
                Ok(Message::Binary(bytes)) => return Received::Binary(Binary::parse(&bytes)),
                Ok(Message::Close(_)) | Err(_) => return Received::Closed,
                Ok(_) => {}
            }
        }
    }

    /// The next frame that matches; every frame is acknowledged.
    pub(crate) fn frame_where(&mut self, fits: impl Fn(&Binary) -> bool) -> Binary {
        let started = Instant::now();
        loop {
            assert!(started.elapsed() < PATIENCE, "no such frame came");
            match self.receive() {
                Received::Binary(frame) if frame.kind == 2 => {
                    self.send(&serde_json::json!({ "type": "drawn" }));
                    if fits(&frame) {
                        return frame;
                    }
                }
                Received::Closed => panic!("the connection was closed"),
                _ => {}
            }
        }
    }

    pub(crate) fn frame(&mut self) -> Binary {
        self.frame_where(|_| true)
    }

    /// The next text of a matching type; frames in between are acknowledged.
    pub(crate) fn text_where(&mut self, kind: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            assert!(started.elapsed() < PATIENCE, "no such `{kind}` came");
            match self.receive() {
                Received::Text(text) if text["type"] == kind && fits(&text) => return text,
                Received::Binary(frame) if frame.kind == 2 => {
                    self.send(&serde_json::json!({ "type": "drawn" }));
                }
                Received::Closed => panic!("the connection was closed"),
                _ => {}
            }
        }
    }

    pub(crate) fn text(&mut self, kind: &str) -> Value {
        self.text_where(kind, |_| true)
    }
}
