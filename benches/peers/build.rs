//! The compiler's version for the results, and DPDK's shim where it can be built.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=dpdk/shim.c");
    println!("cargo::rustc-check-cfg=cfg(have_dpdk)");
    let compiler = std::env::var("RUSTC").unwrap_or("rustc".into());
    let version = output(Command::new(compiler).arg("--version"));
    println!(
        "cargo::rustc-env=PEERS_RUSTC={}",
        version.unwrap_or("unknown".into())
    );
    watch_packages();
    match dpdk() {
        Ok(version) => {
            println!("cargo::rustc-env=PEERS_DPDK={version}");
            println!("cargo::rustc-cfg=have_dpdk");
        }
        Err(reason) => println!("cargo::rustc-env=PEERS_NO_DPDK={reason}"),
    }
}

/// What a command that succeeds prints.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// DPDK may be installed or removed later: builds again when the folders change in which pkg-config looks. To build as if it were not there, set
/// `PKG_CONFIG_LIBDIR` to a folder that does not exist.
fn watch_packages() {
    for variable in ["PKG_CONFIG_LIBDIR", "PKG_CONFIG_PATH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let ask = ["--variable", "pc_path", "pkg-config"];
    let folders = output(Command::new("pkg-config").args(ask)).unwrap_or_default();
    // A folder that is not there would count as changed each time.
    for folder in folders
        .split(':')
        .filter(|folder| Path::new(folder).is_dir())
    {
        println!("cargo::rerun-if-changed={folder}");
    }
}

/// Builds the shim if the library is installed. The version, or why there is none.
fn dpdk() -> Result<String, &'static str> {
    let ask = |what: &str| output(Command::new("pkg-config").args([what, "libdpdk"]));
    let (Some(version), Some(flags), Some(libraries)) =
        (ask("--modversion"), ask("--cflags"), ask("--libs"))
    else {
        return Err("libdpdk-dev was not installed when this was built");
    };
    let mut build = cc::Build::new();
    build.file("dpdk/shim.c").opt_level(3).warnings(true);
    build.define("ALLOW_EXPERIMENTAL_API", None);
    for flag in flags.split_whitespace() {
        // The headers of a library are not ours to warn about.
        match flag.strip_prefix("-I") {
            Some(folder) => build.flag("-isystem").flag(folder),
            None => build.flag(flag),
        };
    }
    if let Err(error) = build.try_compile("peers_dpdk") {
        println!("cargo::warning=DPDK {version} is left out: {error}");
        return Err("its shim does not compile with the version that is installed");
    }
    for part in libraries.split_whitespace() {
        if let Some(name) = part.strip_prefix("-l") {
            println!("cargo::rustc-link-lib={name}");
        } else if let Some(folder) = part.strip_prefix("-L") {
            println!("cargo::rustc-link-search={folder}");
        }
    }
    Ok(version)
}
