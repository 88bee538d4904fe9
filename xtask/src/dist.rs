//! What people install: a binary with completions in an archive, a Debian package, a folder to build an image from, the bill
//! of materials, and the checksums of all of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::{run, sbom};

#[derive(Args)]
pub struct DistArgs {
    /// A binary that is already built, instead of a release build.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// The folder to write to; what is in it is removed first.
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    out: PathBuf,
    /// The version to write on it, instead of that of the workspace.
    #[arg(long)]
    version: Option<String>,
}

/// Shells, and where Debian looks for their completions.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/punctual"),
    ("zsh", "usr/share/zsh/vendor-completions/_punctual"),
    ("fish", "usr/share/fish/vendor_completions.d/punctual.fish"),
];

/// Files of the package that come from the checkout: from, to, mode.
const FILES: [(&str, &str, u32); 6] = [
    ("deploy/punctual.toml", "etc/punctual/punctual.toml", 0o644),
    ("deploy/systemd/punctual.service", "usr/lib/systemd/system/punctual.service", 0o644),
    ("deploy/systemd/punctual-site.service", "usr/lib/systemd/system/punctual-site.service", 0o644),
    ("README.md", "usr/share/doc/punctual/README.md", 0o644),
    ("CHANGELOG.md", "usr/share/doc/punctual/CHANGELOG.md", 0o644),
    ("LICENSE-MIT", "usr/share/doc/punctual/copyright", 0o644),
];

const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Makes everything and prints what was made.
pub fn run(args: &DistArgs) -> Result<u8> {
    let out = run::root().join(&args.out);
    if out.exists() {
        fs::remove_dir_all(&out).with_context(|| format!("cannot empty {}", out.display()))?;
    }
    fs::create_dir_all(&out)?;
    let built = match &args.binary {
        Some(file) => file.clone(),
        None => build()?,
    };
    let binary = stripped(&built, &out)?;
    let version = args.version.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned());
    let bill = out.join(format!("punctual-{version}.cdx.json"));
    sbom::write(Some(&bill))?;
    let made = [archive(&out, &binary, &version)?, debian(&out, &binary, &version)?, bill];
    put(&run::root().join("deploy/container/Dockerfile"), &out.join("context/Dockerfile"), 0o644)?;
    let sums = checksums(&out, &made)?;
    for file in made.iter().chain([&sums]) {
        println!("{} {}", file.display(), fs::metadata(file)?.len());
    }
    Ok(0)
}

fn build() -> Result<PathBuf> {
    let status = run::status(&mut run::cargo(["build", "--release", "--locked", "-p", "punctual"]))?;
    ensure!(status.success(), "the release build failed");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    Ok(run::root().join(target).join("release/punctual"))
}

/// A copy without symbols: one that was built elsewhere may have them, a quarter of its size.
fn stripped(binary: &Path, out: &Path) -> Result<PathBuf> {
    let copy = out.join("context/punctual");
    put(binary, &copy, 0o755)?;
    run::quiet(Command::new("strip").arg("--strip-all").arg(&copy))
        .with_context(|| format!("the symbols of {} cannot be removed", binary.display()))?;
    Ok(copy)
}

/// `punctual-VERSION-MACHINE-linux.tar.gz`: the binary, its completions, the units, a configuration to start from.
fn archive(out: &Path, binary: &Path, version: &str) -> Result<PathBuf> {
    let name = format!("punctual-{version}-{}-linux", std::env::consts::ARCH);
    let folder = out.join(&name);
    put(binary, &folder.join("punctual"), 0o755)?;
    for (shell, _) in SHELLS {
        write(&folder.join("completions").join(shell), &completions(binary, shell)?, 0o644)?;
    }
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        put(&run::root().join(file), &folder.join(file), 0o644)?;
    }
    for file in ["punctual.toml", "systemd/punctual.service", "systemd/punctual-site.service"] {
        put(&run::root().join("deploy").join(file), &folder.join(file), 0o644)?;
    }
    let file = out.join(format!("{name}.tar.gz"));
    // The same input gives the same archive: sorted, owned by nobody in particular, dated alike.
    run::quiet(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"])
            .args(["--use-compress-program=gzip -9n", "-cf"])
            .arg(&file)
            .arg("-C")
            .arg(out)
            .arg(&name),
    )?;
    fs::remove_dir_all(&folder)?;
    Ok(file)
}

/// A Debian package: units, a user, a configuration file that upgrades keep, a data folder for its user alone.
fn debian(out: &Path, binary: &Path, version: &str) -> Result<PathBuf> {
    let root = out.join("debian");
    put(binary, &root.join("usr/bin/punctual"), 0o755)?;
    for (shell, file) in SHELLS {
        write(&root.join(file), &completions(binary, shell)?, 0o644)?;
    }
    for (from, to, mode) in FILES {
        put(&run::root().join(from), &root.join(to), mode)?;
    }
    let architecture = run::quiet(Command::new("dpkg").arg("--print-architecture"))?;
    let size = run::quiet(Command::new("du").args(["-sk", "--apparent-size"]).arg(&root))?;
    let size = size.split_whitespace().next().unwrap_or("0").to_owned();
    let deploy = run::root().join("deploy/debian");
    let control = fs::read_to_string(deploy.join("control"))?;
    let values = [
        ("@VERSION@", version),
        ("@ARCHITECTURE@", &architecture),
        ("@SIZE@", &size),
        ("@GLIBC@", &newest_glibc(&fs::read(binary)?)?),
    ];
    let control = values.iter().fold(control, |text, (name, value)| text.replace(name, value));
    write(&root.join("DEBIAN/control"), &control, 0o644)?;
    put(&deploy.join("conffiles"), &root.join("DEBIAN/conffiles"), 0o644)?;
    for script in SCRIPTS {
        put(&deploy.join(script), &root.join("DEBIAN").join(script), 0o755)?;
    }
    let file = out.join(format!("punctual_{version}_{architecture}.deb"));
    run::quiet(
        Command::new("dpkg-deb").args(["--root-owner-group", "-Zgzip", "--build"]).arg(&root).arg(&file),
    )?;
    fs::remove_dir_all(&root)?;
    Ok(file)
}

fn completions(binary: &Path, shell: &str) -> Result<String> {
    Ok(run::quiet(Command::new(binary).args(["completions", shell]))? + "\n")
}

fn checksums(out: &Path, files: &[PathBuf]) -> Result<PathBuf> {
    let names = files.iter().filter_map(|file| file.file_name());
    let text = run::quiet(Command::new("sha256sum").current_dir(out).args(names))? + "\n";
    let file = out.join("SHA256SUMS");
    write(&file, &text, 0o644)?;
    Ok(file)
}

/// The newest version of the C library that the binary names a symbol of: an older one cannot start it.
fn newest_glibc(binary: &[u8]) -> Result<String> {
    const MARK: &[u8] = b"GLIBC_2.";
    let versions = binary.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    let minor = versions.filter_map(|(at, _)| {
        let digits = binary[at + MARK.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        String::from_utf8(digits.copied().collect()).ok()?.parse::<u32>().ok()
    });
    match minor.max() {
        Some(minor) => Ok(format!("2.{minor}")),
        None => bail!("the binary names no version of the C library"),
    }
}

fn put(from: &Path, to: &Path, mode: u32) -> Result<()> {
    prepare(to)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}

fn write(to: &Path, text: &str, mode: u32) -> Result<()> {
    prepare(to)?;
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}

fn prepare(file: &Path) -> Result<()> {
    let folder = file.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_decides_which_c_library_is_needed() {
        let binary = b"\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.17\0GLIBC_PRIVATE\0";
        assert_eq!(newest_glibc(binary).unwrap(), "2.34");
        assert!(newest_glibc(b"nothing").is_err());
    }

    #[test]
    fn what_is_packed_has_no_symbols() {
        let out = tempfile::tempdir().unwrap();
        // This very program was built with symbols.
        let built = std::env::current_exe().unwrap();
        let packed = stripped(&built, out.path()).unwrap();
        let symbols = |file: &Path| {
            let sections =
                run::quiet(Command::new("readelf").args(["--sections", "--wide"]).arg(file)).unwrap();
            sections.contains(".symtab")
        };
        assert_eq!((symbols(&built), symbols(&packed)), (true, false));
        assert!(run::quiet(Command::new(&packed).arg("--help")).is_ok(), "it does not start any more");
    }

    #[test]
    fn a_package_has_its_files_its_scripts_and_one_file_that_upgrades_keep() {
        let out = tempfile::tempdir().unwrap();
        // Any program that prints something for `completions SHELL` will do for what is around it.
        let binary = out.path().join("stand-in");
        write(&binary, "#!/bin/sh\n# GLIBC_2.31\necho \"$2\"\n", 0o755).unwrap();
        let package = debian(out.path(), &binary, "9.8.7").unwrap();
        let shown = |what: &str| run::quiet(Command::new("dpkg-deb").arg(what).arg(&package)).unwrap();
        let (info, contents) = (shown("--info"), shown("--contents"));
        for line in ["Version: 9.8.7", "libc6 (>= 2.31)", "postinst", "conffiles"] {
            assert!(info.contains(line), "{line} is missing in\n{info}");
        }
        for (_, file, _) in FILES {
            assert!(contents.contains(&format!("./{file}")), "{file} is missing in\n{contents}");
        }
        assert!(!contents.contains("@"), "{contents}");
        assert!(contents.lines().all(|line| line.contains("root/root")), "{contents}");
    }
}
