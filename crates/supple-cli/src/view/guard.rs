//! Access control of the server: only requests that carry the token of this session, and none from pages of another
//! origin. A page on the open web can make a browser send requests to loopback, and can make a host name of its own
//! resolve to it; the token in the path, the `Host` and the `Origin` checks block these attacks.

use axum::http::{HeaderMap, StatusCode, header};

/// Requirements on a request.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    token: String,
    /// The authorities under which the page is served.
    hosts: [String; 2],
}

impl Guard {
    /// A new token for a server on this port.
    pub(super) fn new(port: u16) -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { token, hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")] })
    }

    /// The address of the page.
    pub(super) fn address(&self) -> String {
        format!("http://{}/{}/", self.hosts[0], self.token)
    }

    /// Rejects a request that did not come from the page or from someone who knows the address.
    pub(super) fn check(&self, path: &str, headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.hosts.iter().any(|own| own == host)) {
            return Err((StatusCode::FORBIDDEN, "this server answers on 127.0.0.1 only"));
        }
        if headers.get_all(header::ORIGIN).iter().any(|origin| !self.is_own_origin(origin.as_bytes())) {
            return Err((StatusCode::FORBIDDEN, "requests from other pages are rejected"));
        }
        let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
        if !matches!(site, None | Some(b"same-origin" | b"none")) {
            return Err((StatusCode::FORBIDDEN, "requests from other pages are rejected"));
        }
        let token = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        if !same(token.as_bytes(), self.token.as_bytes()) {
            return Err((StatusCode::FORBIDDEN, "open the complete address that `supple view` printed"));
        }
        Ok(())
    }

    fn is_own_origin(&self, origin: &[u8]) -> bool {
        let authority = origin.strip_prefix(b"http://");
        authority.is_some_and(|authority| self.hosts.iter().any(|own| own.as_bytes() == authority))
    }
}

/// Compares in constant time, so that timing does not reveal where two tokens differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        headers
    }

    #[test]
    fn only_the_own_host_origin_and_token_pass() {
        let guard = Guard::new(4000).unwrap();
        let path = format!("/{}/socket", guard.token);
        let fine = |host: &str, origin, path: &str| guard.check(path, &headers(host, origin)).is_ok();
        assert!(fine("127.0.0.1:4000", None, &path));
        assert!(fine("localhost:4000", Some("http://localhost:4000"), &path));
        assert!(!fine("evil.example:4000", None, &path));
        assert!(!fine("127.0.0.1:4001", None, &path));
        assert!(!fine("127.0.0.1:4000", Some("http://evil.example"), &path));
        assert!(!fine("127.0.0.1:4000", Some("https://127.0.0.1:4000"), &path));
        assert!(!fine("127.0.0.1:4000", Some("null"), &path));
        assert!(!fine("127.0.0.1:4000", None, "/"));
        assert!(!fine("127.0.0.1:4000", None, "/0123456789abcdef0123456789abcdef/"));
        assert!(!fine("127.0.0.1:4000", None, &path[..path.len() / 2]));
    }

    #[test]
    fn every_start_has_another_token() {
        assert_ne!(Guard::new(1).unwrap().address(), Guard::new(1).unwrap().address());
    }
}
