//! The table of URLs: made systematically, with the code that each must get.

use std::net::{Ipv4Addr, Ipv6Addr};

/// First and last addresses of networks that must not be reached.
const REFUSED_V4: &[(&str, &str)] = &[
    ("0.0.0.0", "0.255.255.255"),
    ("10.0.0.0", "10.255.255.255"),
    ("100.64.0.0", "100.127.255.255"),
    ("127.0.0.0", "127.255.255.255"),
    ("168.63.129.16", "168.63.129.16"),
    ("169.254.0.0", "169.254.255.255"),
    ("172.16.0.0", "172.31.255.255"),
    ("192.0.0.0", "192.0.0.255"),
    ("192.0.2.0", "192.0.2.255"),
    ("192.88.99.0", "192.88.99.255"),
    ("192.168.0.0", "192.168.255.255"),
    ("198.18.0.0", "198.19.255.255"),
    ("198.51.100.0", "198.51.100.255"),
    ("203.0.113.0", "203.0.113.255"),
    ("224.0.0.0", "239.255.255.255"),
    ("240.0.0.0", "255.255.255.255"),
];

const REFUSED_V6: &[&str] = &[
    "::",
    "::1",
    "::2",
    "::ffff:0:0",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "2002::1",
    "2002:7f00:1::",
    "2002:808:808::1",
    "3fff::1",
    "3fff:fff::1",
    "4000::1",
    "5f00::1",
    "8000::1",
    "fc00::1",
    "fd00::1",
    "fd00:ec2::254",
    "fdff:ffff::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff00::1",
    "ff02::1",
    "ff0e::1",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
];

const PUBLIC_V4: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
];

const PUBLIC_V6: &[&str] = &[
    "2001:200::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700:4700::1111",
    "2a00:1450:4001:82b::200e",
    "2620:fe::fe",
    "3ffe::1",
    "3fff:1000::1",
];

/// Every URL with the code it must get, or none if it may be called.
pub fn table() -> Vec<(String, Option<&'static str>)> {
    let mut table = Vec::new();
    addresses(&mut table);
    odd_spellings(&mut table);
    for (url, code) in names_and_parts() {
        table.push(((*url).to_owned(), *code));
    }
    table
}

fn addresses(table: &mut Vec<(String, Option<&'static str>)>) {
    for (first, last) in REFUSED_V4 {
        let bits = |text: &str| text.parse::<Ipv4Addr>().unwrap().to_bits();
        let (first, last) = (bits(first), bits(last));
        for address in [first, first + (last - first) / 2, first + (last - first) / 3, last] {
            let ip = Ipv4Addr::from_bits(address);
            table.push((format!("https://{ip}/hook"), Some("url_forbidden")));
            table.push((format!("https://{ip}:8443"), Some("url_forbidden")));
            // The same inside IPv6: mapped, compatible, NAT64 and 6to4.
            let [a, b, c, d] = ip.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            for inside in [
                ip.to_ipv6_mapped(),
                ip.to_ipv6_compatible(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            ] {
                table.push((format!("https://[{inside}]/hook"), Some("url_forbidden")));
            }
        }
    }
    for ip in REFUSED_V6 {
        table.push((format!("https://[{ip}]/hook"), Some("url_forbidden")));
        table.push((format!("https://[{}]:8443/", ip.to_uppercase()), Some("url_forbidden")));
    }
    for ip in PUBLIC_V4 {
        table.push((format!("https://{ip}/hook"), None));
        table.push((format!("http://{ip}/hook"), Some("url_scheme")));
    }
    for ip in PUBLIC_V6 {
        table.push((format!("https://[{ip}]/hook"), None));
        table.push((format!("https://[{ip}]:22/hook"), Some("url_port")));
    }
}

/// Loopback, metadata and a public address in every spelling that some resolver takes for an address.
fn odd_spellings(table: &mut Vec<(String, Option<&'static str>)>) {
    for ip in ["127.0.0.1", "169.254.169.254", "10.0.0.1", "8.8.8.8"] {
        let ip: Ipv4Addr = ip.parse().unwrap();
        let [a, b, c, d] = ip.octets();
        let bits = ip.to_bits();
        let low24 = bits & 0x00ff_ffff;
        let low16 = bits & 0xffff;
        for spelling in [
            format!("{bits}"),
            format!("0x{bits:x}"),
            format!("0X{bits:X}"),
            format!("0{bits:o}"),
            format!("0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            format!("{a:03}.{b:03}.{c:03}.{d:03}").replace("00", "0"),
            format!("{a}.{low24}"),
            format!("{a}.{b}.{low16}"),
            format!("0x{a:x}.{b}.{low16}"),
            format!("{a}.{b}.{c}.{d}."),
            format!("{a}.{b}.{c}.0x{d:x}"),
            format!("{a}。{b}。{c}。{d}"),
            format!("{a}.{b}.{c}.{d}").chars().map(full_width).collect(),
        ] {
            // Some of them are no address to the parser at all; a few are refused as no URL. None is called.
            if spelling != ip.to_string() {
                table.push((format!("https://{spelling}/"), Some("refused")));
                table.push((format!("https://{spelling}:443/"), Some("refused")));
            }
        }
    }
}

fn full_width(c: char) -> char {
    match c {
        '0'..='9' => char::from_u32('０' as u32 + c as u32 - '0' as u32).unwrap(),
        other => other,
    }
}

fn names_and_parts() -> &'static [(&'static str, Option<&'static str>)] {
    &[
        ("https://hooks.example.com", None),
        ("https://hooks.example.com/", None),
        ("https://hooks.example.com/a/b?c=d#e", None),
        ("HTTPS://HOOKS.EXAMPLE.COM/", None),
        ("https://hooks.example.com:443/", None),
        ("https://hooks.example.com:8443/", None),
        ("https://hooks.example.com./", None),
        ("https://bücher.example/", None),
        ("https://xn--bcher-kva.example/", None),
        ("https://a-b.c_d.example/", None),
        ("https://hooks.example.com/@user", None),
        ("https://hooks.example.com/?u=http://127.0.0.1/", None),
        ("https://127.0.0.1.nip.example/", None),
        ("http://hooks.example.com/", Some("url_scheme")),
        ("http://hooks.example.com:443/", Some("url_scheme")),
        ("ftp://hooks.example.com/", Some("url_scheme")),
        ("file:///etc/passwd", Some("url_scheme")),
        ("gopher://127.0.0.1:25/", Some("url_scheme")),
        ("javascript:alert(1)", Some("url_scheme")),
        ("data:text/plain,x", Some("url_scheme")),
        ("mailto:a@b.example", Some("url_scheme")),
        ("wss://hooks.example.com/", Some("url_scheme")),
        ("https+x://hooks.example.com/", Some("url_scheme")),
        ("https:hooks.example.com", Some("url_scheme")),
        ("https:/hooks.example.com", Some("url_scheme")),
        ("://hooks.example.com", Some("url_scheme")),
        ("https://hooks.example.com:80/", Some("url_port")),
        ("https://hooks.example.com:22/", Some("url_port")),
        ("https://hooks.example.com:25/", Some("url_port")),
        ("https://hooks.example.com:6379/", Some("url_port")),
        ("https://hooks.example.com:65535/", Some("url_port")),
        ("https://hooks.example.com:0443/", None),
        ("https://hooks.example.com:0/", Some("url_invalid")),
        ("https://hooks.example.com:65536/", Some("url_invalid")),
        ("https://hooks.example.com:-1/", Some("url_invalid")),
        ("https://hooks.example.com:x/", Some("url_invalid")),
        ("https://user@hooks.example.com/", Some("url_userinfo")),
        ("https://user:password@hooks.example.com/", Some("url_userinfo")),
        ("https://:password@hooks.example.com/", Some("url_userinfo")),
        ("https://@hooks.example.com/", Some("url_userinfo")),
        ("https://hooks.example.com@127.0.0.1/", Some("url_userinfo")),
        ("https://127.0.0.1@hooks.example.com/", Some("url_userinfo")),
        ("https://a@b@hooks.example.com/", Some("url_userinfo")),
        ("https://localhost/", Some("url_forbidden")),
        ("https://LOCALHOST/", Some("url_forbidden")),
        ("https://localhost./", Some("url_forbidden")),
        ("https://a.localhost/", Some("url_forbidden")),
        ("http://localhost:8080/", Some("url_forbidden")),
        ("http://169.254.169.254/latest/meta-data/", Some("url_forbidden")),
        ("http://127.0.0.1:25/", Some("url_forbidden")),
        ("http://[::1]:8080/", Some("url_forbidden")),
        ("https://ｌｏｃａｌｈｏｓｔ/", Some("url_forbidden")),
        ("", Some("url_invalid")),
        ("hooks.example.com/x", Some("url_invalid")),
        ("/path", Some("url_invalid")),
        ("https://", Some("url_invalid")),
        ("https:///path", Some("url_invalid")),
        ("https:////hooks.example.com", Some("url_invalid")),
        ("https://?x", Some("url_invalid")),
        ("https://#x", Some("url_invalid")),
        ("https://:443/", Some("url_invalid")),
        ("https://hooks example.com/", Some("url_invalid")),
        (" https://hooks.example.com/", Some("url_invalid")),
        ("https://hooks.example.com/\n", Some("url_invalid")),
        ("https://hooks.exa\tmple.com/", Some("url_invalid")),
        ("https://hooks.example.com\\@127.0.0.1/", Some("url_invalid")),
        ("https:\\\\hooks.example.com", Some("url_invalid")),
        ("https://127.0.0.1\\.example.com/", Some("url_invalid")),
        ("https://127%2e0%2e0%2e1/", Some("url_invalid")),
        ("https://%6cocalhost/", Some("url_invalid")),
        ("https://hooks.example.com%00.example/", Some("url_invalid")),
        ("https://[::1/", Some("url_invalid")),
        ("https://::1/", Some("url_invalid")),
        ("https://[fe80::1%25eth0]/", Some("url_invalid")),
        ("https://[127.0.0.1]/", Some("url_invalid")),
        ("https://1.2.3.4.5/", Some("url_invalid")),
        ("https://256.1.1.1/", Some("url_invalid")),
        ("https://a..b.example/", None),
        ("https://exam<ple.com/", Some("url_invalid")),
    ]
}
