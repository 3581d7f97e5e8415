//! Invalid requests are rejected, and the run continues.

use serde_json::json;
use tungstenite::Message;

use crate::program::{Program, Received};

/// The simulation still answers and moves.
fn still_runs(program: &Program) {
    let mut client = program.connect();
    let first = client.frame();
    client.frame_where(|frame| frame.time() > first.time());
}

fn code(answer: &str) -> &str {
    answer.split_whitespace().nth(1).unwrap_or("none")
}

#[test]
fn requests_without_token_or_of_another_host_or_origin_are_refused() {
    let program = Program::small_cloth();
    let (path, port) = (program.path().to_owned(), program.port());
    assert_eq!(code(&program.get(&path, "")), "200");
    assert_eq!(code(&program.get(&format!("{path}main.js"), "")), "200");
    assert_eq!(code(&program.get(&format!("{path}../../etc/passwd"), "")), "404");
    assert_eq!(code(&program.get(&format!("{path}nothing.js"), "")), "404");
    for refused in ["/", "/socket", "/main.js", "/00000000000000000000000000000000/", "/favicon.ico"] {
        assert_eq!(code(&program.get(refused, "")), "403", "{refused}");
    }
    assert_eq!(code(&program.get(&path, "Origin: http://evil.example\r\n")), "403");
    assert_eq!(code(&program.get(&path, "Origin: null\r\n")), "403");
    assert_eq!(code(&program.get(&path, "Sec-Fetch-Site: cross-site\r\n")), "403");
    let rebound = format!("GET {path} HTTP/1.1\r\nHost: evil.example:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(code(&program.http(&rebound)), "403");
    let post = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 9999999999\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(code(&program.http(&post)), "405");
    still_runs(&program);
}

#[test]
fn the_page_may_load_nothing_from_elsewhere_and_be_framed_by_nobody() {
    let program = Program::small_cloth();
    let page = program.get(program.path(), "");
    let lower = page.to_lowercase();
    assert!(lower.contains("content-security-policy: default-src 'none'"));
    assert!(lower.contains("frame-ancestors 'none'") && lower.contains("referrer-policy: no-referrer"));
    assert!(!page.contains("https://") && !page.contains("//cdn"), "the page works offline");
}

#[test]
fn sockets_without_token_or_of_another_origin_are_refused() {
    let program = Program::small_cloth();
    let port = program.port();
    let refused = |error: tungstenite::Error| match error {
        tungstenite::Error::Http(answer) => answer.status().as_u16(),
        other => panic!("{other}"),
    };
    for address in ["socket", "00000000000000000000000000000000/socket"] {
        let address = format!("ws://127.0.0.1:{port}/{address}");
        assert_eq!(program.connect_to(&address, None).err().map(refused), Some(403));
    }
    assert_eq!(program.try_connect(Some("http://evil.example")).err().map(refused), Some(403));
    assert_eq!(program.try_connect(Some("https://127.0.0.1")).err().map(refused), Some(403));
    let own = format!("http://127.0.0.1:{port}");
    assert!(program.try_connect(Some(&own)).is_ok());
    still_runs(&program);
}

#[test]
fn other_devices_are_served_on_purpose_and_with_the_token_only() {
    let program = Program::start(&["hanging-cloth", "--resolution", "0.06", "--host", "0.0.0.0"]);
    let (path, port) = (program.path().to_owned(), program.port());
    let from = |host: &str, path: &str, more: &str| {
        program
            .http(&format!("GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n{more}Connection: close\r\n\r\n"))
    };
    assert_eq!(code(&from("192.0.2.7", &path, "")), "200");
    assert_eq!(code(&from("192.0.2.7", "/", "")), "403");
    assert_eq!(code(&from("192.0.2.7", &path, "Origin: http://192.0.2.8\r\n")), "403");
    // A name may be resolved by whoever owns it.
    assert_eq!(code(&from("evil.example", &path, "")), "403");
    still_runs(&program);
}

#[test]
fn files_are_taken_from_the_page_only_and_by_plain_names() {
    let program = Program::small_cloth();
    let (path, port) = (program.path().to_owned(), program.port());
    let put = |path: &str, more: &str| {
        program.http(&format!(
            "PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{more}Content-Length: 1\r\nConnection: close\r\n\r\nv"
        ))
    };
    assert_eq!(code(&put(&format!("{path}dropped/1/a.obj"), "")), "204");
    assert_eq!(code(&put("/dropped/1/a.obj", "")), "403");
    assert_eq!(code(&put(&format!("{path}dropped/1/a.obj"), "Origin: http://evil.example\r\n")), "403");
    for name in ["..%2Fa.obj", "%2Fetc%2Fpasswd", ".hidden", "..%5Ca.obj"] {
        assert_eq!(code(&put(&format!("{path}dropped/1/{name}"), "")), "400", "{name}");
    }
    let large = format!(
        "PUT {path}dropped/1/a.obj HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 9999999999\r\nConnection: close\r\n\r\n"
    );
    let answer = program.http(&large);
    assert!(code(&answer) == "413" && answer.contains("128 MB"), "{answer}");
    still_runs(&program);
}

#[test]
fn a_dropped_scene_does_not_read_other_files_of_this_computer() {
    let program = Program::small_cloth();
    let (path, port) = (program.path().to_owned(), program.port());
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.obj");
    std::fs::write(&secret, "v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 3 2\n").unwrap();
    let scene = format!("[[body]]\nname = \"a\"\nshape = {{ file = {:?} }}\n", secret.to_str().unwrap());
    let length = scene.len();
    let answer = program.http(&format!(
        "PUT {path}dropped/1/scene.toml HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{scene}"
    ));
    assert_eq!(code(&answer), "204");
    let mut client = program.connect();
    client.send(&json!({ "type": "open-file", "drop": 1, "name": "scene.toml" }));
    let problem = client.text("error")["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("`secret.obj`") && problem.contains("together"), "{problem}");
    client.send(&json!({ "type": "open-file", "drop": 1, "name": "../1/scene.toml" }));
    client.text("error");
    still_runs(&program);
}

#[test]
#[cfg(target_os = "linux")]
fn the_server_listens_on_loopback_only() {
    let program = Program::small_cloth();
    let port = format!(":{:04X}", program.port());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let listening =
        table.lines().filter_map(|line| line.split_whitespace().nth(1).filter(|at| at.ends_with(&port)));
    assert!(listening.clone().count() > 0);
    assert!(listening.into_iter().all(|at| at.starts_with("0100007F")));
}

#[test]
fn malformed_messages_get_an_error_and_nothing_else() {
    let program = Program::small_cloth();
    let mut client = program.connect();
    for bad in [
        "",
        "{",
        "hello",
        "null",
        r#"{"type":"explode"}"#,
        r#"{"type":"drag","target":[1,2]}"#,
        r#"{"type":"drag","target":[1,2,1e999]}"#,
        r#"{"type":"grab","origin":[0,0,0]}"#,
        r#"{"type":"seek","place":-4}"#,
        r#"{"type":"set","path":"body.0.shape.file","value":"\"/etc/passwd\""}"#,
        r#"{"type":"set","path":"time.substeps","value":"0"}"#,
        r#"{"type":"set","path":"time.fps","value":"nan"}"#,
        r#"{"type":"seek","place":1}"#,
    ] {
        client.socket.send(Message::text(bad)).unwrap();
        assert!(!client.text("error")["problem"].as_str().unwrap().is_empty(), "{bad}");
    }
    client.socket.send(Message::binary(vec![0u8; 100])).unwrap();
    client.text("error");
    // Harmless: a ray without direction, or into nothing.
    client.send(&json!({ "type": "grab", "origin": [0, 0, 0], "direction": [0, 0, 0] }));
    client.send(&json!({ "type": "pin", "origin": [9, 9, 9], "direction": [1, 0, 0] }));
    client.send(&json!({ "type": "drag", "target": [1e300, -1e300, 0] }));
    let now = client.frame().time();
    client.frame_where(|frame| frame.time() > now);
    still_runs(&program);
}

#[test]
fn an_oversized_message_ends_its_connection_and_no_other() {
    let program = Program::small_cloth();
    let (mut bystander, mut client) = (program.connect(), program.connect());
    client.frame();
    // The connection may be closed before all of it is written.
    let _ = client.socket.send(Message::text("x".repeat(1 << 20)));
    loop {
        match client.receive() {
            Received::Closed => break,
            Received::Text(text) => assert_ne!(text["type"], "scene"),
            Received::Binary(_) => {}
        }
    }
    let now = bystander.frame().time();
    bystander.frame_where(|frame| frame.time() > now);
}

#[test]
fn a_port_that_is_taken_is_refused_with_advice() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_supple"))
        .args(["view", "demo", "--resolution", "0.1", "--no-open", "--port", &port])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--port"));
}
