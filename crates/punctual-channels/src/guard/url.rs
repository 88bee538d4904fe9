//! Checking a URL that a user chose, before anything is looked up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use punctual_model::ReasonCode;
use reqwest::Url;

use super::{AllowList, Refused, allowing, check_ip};

/// The ports that a public target may have; others need an entry in the allow-list.
const PORTS: &[u16] = &[443, 8443];
/// The code of a URL that leads to an address that must not be called.
pub(super) const FORBIDDEN: &str = "url_forbidden";
/// The longest URL.
const LONGEST: usize = 2_048;

/// Why a URL is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct UrlFault {
    /// `url_invalid`, `url_scheme`, `url_userinfo`, `url_port`, `url_forbidden` or `url_host`.
    pub code: &'static str,
    /// The same for every forbidden address: a caller with only the right to send learns nothing about the internal network.
    pub detail: String,
    /// What a start that allows the address would say.
    allowed_by: Option<String>,
}

impl UrlFault {
    fn new(code: &'static str, detail: &str) -> Self {
        Self { code, detail: detail.to_owned(), allowed_by: None }
    }

    /// The detail for admins, who save settings: with what would allow the address.
    pub fn for_admins(&self) -> String {
        match &self.allowed_by {
            Some(allowing) => format!("{}: start with `{allowing}`", self.detail),
            None => self.detail.clone(),
        }
    }

    /// The reason of a message that was addressed to this URL; which rule the URL breaks is in the detail.
    pub fn reason(&self) -> ReasonCode {
        if self.code == FORBIDDEN { ReasonCode::UrlForbidden } else { ReasonCode::UrlInvalid }
    }
}

impl From<Refused> for UrlFault {
    fn from(refused: Refused) -> Self {
        Self::new(FORBIDDEN, &refused.to_string())
    }
}

/// A URL that may be called, under the conditions that are left for the look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedUrl {
    pub url: Url,
    /// The name or address, without brackets.
    pub host: String,
    pub port: u16,
    /// Plain HTTP or an unusual port: every address of the name must be in the allow-list.
    pub listed_only: bool,
}

impl CheckedUrl {
    /// The URL with more segments at the end of its path, each of them encoded.
    #[must_use]
    pub fn at(&self, segments: &[&str]) -> Self {
        let mut longer = self.clone();
        // Only URLs without a host have no path, and those were refused.
        if let Ok(mut path) = longer.url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        longer
    }
}

/// Checks a URL that must be one of a provider's: its host is one of `hosts` or lies below one. A stand-in for the
/// provider may have any name, if an admin has listed its network: then only listed addresses are connected to.
pub fn check_provider_url(text: &str, hosts: &[&str], allow: &AllowList) -> Result<CheckedUrl, UrlFault> {
    let mut checked = check_url(text, allow)?;
    let name = checked.host.trim_end_matches('.').to_ascii_lowercase();
    let is_theirs = hosts
        .iter()
        .any(|host| name.strip_suffix(host).is_some_and(|before| before.is_empty() || before.ends_with('.')));
    if is_theirs {
        return Ok(checked);
    }
    let is_listed = match checked.host.parse::<IpAddr>() {
        Ok(ip) => allow.allows(ip, checked.port),
        Err(_) => !allow.is_empty(),
    };
    if !is_listed {
        let detail = format!("this is no URL of the provider: its host ends in {}", hosts.join(" or "));
        return Err(UrlFault::new("url_host", &detail));
    }
    checked.listed_only = true;
    Ok(checked)
}

/// Checks what can be seen in the text: scheme, user info, port, and an address in place of a name.
pub fn check_url(text: &str, allow: &AllowList) -> Result<CheckedUrl, UrlFault> {
    check(text, PORTS, allow)
}

/// A way of writing the address of a broker, such as `tls://`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    pub name: &'static str,
    /// The port that it stands for where none is written. A public target has this one.
    pub port: u16,
    /// Whether everything is encrypted; what is not goes only to networks that an admin has listed.
    pub secure: bool,
}

/// The same for the URL of a broker. What comes back is spelled with `https` or `http`, for these are the schemes of
/// which the parser knows what a host is.
pub fn check_broker_url(text: &str, schemes: &[Scheme], allow: &AllowList) -> Result<CheckedUrl, UrlFault> {
    let names: Vec<String> = schemes.iter().map(|scheme| format!("{}://", scheme.name)).collect();
    let names = names.join(" or ");
    let invalid = || UrlFault::new("url_invalid", &format!("this is no URL; write {names}host"));
    let (name, rest) = text.split_once("://").ok_or_else(invalid)?;
    let scheme = schemes
        .iter()
        .find(|scheme| scheme.name == name)
        .ok_or_else(|| UrlFault::new("url_scheme", &format!("a URL must start with {names}")))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let port = if raw_host(authority) == authority { format!(":{}", scheme.port) } else { String::new() };
    let protocol = if scheme.secure { "https" } else { "http" };
    check(&format!("{protocol}://{authority}{port}{tail}"), &[scheme.port], allow).map_err(
        |fault| match fault.code {
            "url_scheme" => UrlFault::new(
                "url_scheme",
                &format!("{name}:// is not encrypted: an admin has to list the network that it goes to"),
            ),
            "url_port" => UrlFault::new("url_port", &format!("the port of this URL must be {}", scheme.port)),
            "url_invalid" => invalid(),
            _ => fault,
        },
    )
}

fn check(text: &str, ports: &[u16], allow: &AllowList) -> Result<CheckedUrl, UrlFault> {
    let invalid = || UrlFault::new("url_invalid", "this is no URL; write https://host/path");
    // The parser takes away tabs and line breaks and turns `\` into `/`: what people read would differ from what
    // is called.
    if text.len() > LONGEST || text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(invalid());
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(if text.contains(':') { scheme_fault() } else { invalid() });
    };
    let secure = scheme.eq_ignore_ascii_case("https");
    if !secure && !scheme.eq_ignore_ascii_case("http") {
        return Err(scheme_fault());
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(UrlFault::new("url_userinfo", "a URL must not carry a user name or password"));
    }
    if authority.is_empty() || authority.contains('%') {
        return Err(invalid());
    }
    let url = Url::parse(text).map_err(|_| invalid())?;
    let port = url.port_or_known_default().filter(|port| *port > 0).ok_or_else(invalid)?;
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(invalid)?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = host.trim_end_matches('.');

    let may_be_listed = if let Ok(ip) = host.parse::<IpAddr>() {
        // `0x7f.1`, `2130706433` and full-width digits all parse to an address: only its plain spelling passes.
        if ip.is_ipv4() && raw_host(authority) != host {
            return Err(Refused.into());
        }
        check_ip(ip, port, allow).map_err(|refused| forbidden(refused, ip, port))?;
        allow.allows(ip, port)
    } else if name == "localhost" || name.ends_with(".localhost") {
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        if !loopback.iter().any(|ip| allow.allows(*ip, port)) {
            return Err(forbidden(Refused, loopback[0], port));
        }
        true
    } else {
        // Whether a name is listed shows when it is looked up; without a list it cannot be.
        !allow.is_empty()
    };
    if !secure && !may_be_listed {
        return Err(scheme_fault());
    }
    let usual_port = ports.contains(&port);
    if !usual_port && !may_be_listed {
        return Err(UrlFault::new("url_port", "the port of a URL must be 443 or 8443"));
    }
    let listed_only = !secure || !usual_port;
    Ok(CheckedUrl { url, host, port, listed_only })
}

/// With what would allow the address.
fn forbidden(refused: Refused, ip: IpAddr, port: u16) -> UrlFault {
    UrlFault { allowed_by: Some(allowing(ip, port)), ..refused.into() }
}

fn scheme_fault() -> UrlFault {
    UrlFault::new("url_scheme", "a URL must start with https://")
}

/// The host as it was written, without its port.
fn raw_host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}
