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
