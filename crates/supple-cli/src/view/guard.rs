//! Access control of the server: only requests that carry the token of this session, and none from pages of another
//! origin. A page on the open web can make a browser send requests to loopback, and can make a host name of its own
//! resolve to it; the token in the path, the `Host` and the `Origin` checks block these attacks.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, StatusCode, header};

/// Requirements on a request.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    token: String,
    /// Where the server listens.
    listens: SocketAddr,
}

impl Guard {
    /// A new token for a server that listens here.
    pub(super) fn new(listens: SocketAddr) -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { token, listens })
    }

    /// The address of the page under an address of this computer.
    pub(super) fn address(&self, host: IpAddr) -> String {
        format!("http://{}/{}/", SocketAddr::new(host, self.listens.port()), self.token)
    }

    /// Rejects a request that did not come from the page or from someone who knows the address.
    pub(super) fn check(&self, path: &str, headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).filter(|host| self.is_own_host(host));
        let Some(host) = host.filter(|_| hosts.next().is_none()) else {
            return Err((
                StatusCode::FORBIDDEN,
                "open the address that `supple view` printed, not another name",
            ));
        };
        let is_own_origin = |origin: &[u8]| origin.strip_prefix(b"http://") == Some(host.as_bytes());
        if headers.get_all(header::ORIGIN).iter().any(|origin| !is_own_origin(origin.as_bytes())) {
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

    /// Whether the page is served under this authority: where the server listens, or, if it listens on all addresses, any
    /// address in numbers. A name would have to be resolved, by which a page elsewhere could be made to look like this one.
    fn is_own_host(&self, host: &str) -> bool {
        let port = self.listens.port();
        let numeric: Option<SocketAddr> = host.parse().ok();
        let listens = self.listens.ip();
        let is_local = listens.is_loopback() || listens.is_unspecified();
        match numeric {
            Some(address) => address.port() == port && (listens.is_unspecified() || address.ip() == listens),
            None => is_local && host.strip_prefix("localhost:") == Some(port.to_string().as_str()),
        }
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
        let guard = Guard::new(([127, 0, 0, 1], 4000).into()).unwrap();
        let path = format!("/{}/socket", guard.token);
        let fine = |host: &str, origin, path: &str| guard.check(path, &headers(host, origin)).is_ok();
        assert!(fine("127.0.0.1:4000", None, &path));
        assert!(fine("localhost:4000", Some("http://localhost:4000"), &path));
        assert!(!fine("evil.example:4000", None, &path));
        assert!(!fine("127.0.0.1:4001", None, &path));
        assert!(!fine("127.0.0.1:4000", Some("http://evil.example"), &path));
        assert!(!fine("127.0.0.1:4000", Some("https://127.0.0.1:4000"), &path));
        assert!(!fine("127.0.0.1:4000", Some("null"), &path));
        assert!(!fine("127.0.0.1:4000", Some("http://localhost:4000"), &path));
        assert!(!fine("192.168.1.5:4000", None, &path));
        assert!(!fine("127.0.0.1", None, &path));
        assert!(!fine("127.0.0.1:4000", None, "/"));
        assert!(!fine("127.0.0.1:4000", None, "/0123456789abcdef0123456789abcdef/"));
        assert!(!fine("127.0.0.1:4000", None, &path[..path.len() / 2]));
    }

    #[test]
    fn on_the_network_addresses_in_numbers_pass_and_names_do_not() {
        let all = Guard::new(([0, 0, 0, 0], 4000).into()).unwrap();
        let one = Guard::new(([192, 168, 1, 5], 4000).into()).unwrap();
        let fine = |guard: &Guard, host: &str, origin: Option<&str>| {
            guard.check(&format!("/{}/", guard.token), &headers(host, origin)).is_ok()
        };
        for host in ["192.168.1.5:4000", "10.0.0.7:4000", "127.0.0.1:4000", "localhost:4000", "[::1]:4000"] {
            assert!(fine(&all, host, None), "{host}");
            let own = format!("http://{host}");
            assert!(fine(&all, host, Some(own.as_str())), "{host}");
            assert!(!fine(&all, host, Some("http://10.9.9.9:4000")), "{host}");
        }
        for host in
            ["evil.example:4000", "192.168.1.5.evil.example:4000", "192.168.1.5:4001", "laptop:4000", ""]
        {
            assert!(!fine(&all, host, None), "{host}");
        }
        assert!(fine(&one, "192.168.1.5:4000", Some("http://192.168.1.5:4000")));
        assert!(!fine(&one, "192.168.1.6:4000", None) && !fine(&one, "localhost:4000", None));
        assert!(all.check("/", &headers("192.168.1.5:4000", None)).is_err(), "always with the token");
    }

    #[test]
    fn two_hosts_in_a_request_are_refused() {
        let guard = Guard::new(([127, 0, 0, 1], 4000).into()).unwrap();
        let mut both = headers("127.0.0.1:4000", None);
        both.append(header::HOST, HeaderValue::from_static("evil.example"));
        assert!(guard.check(&format!("/{}/", guard.token), &both).is_err());
    }

    #[test]
    fn every_start_has_another_token() {
        let listens = SocketAddr::from(([127, 0, 0, 1], 1));
        let address = || Guard::new(listens).unwrap().address(listens.ip());
        assert_ne!(address(), address());
    }
}
