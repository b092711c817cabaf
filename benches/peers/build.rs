//! The compiler's version for the results, and DPDK's shim where it can be built.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(have_dpdk)");
    let compiler = std::env::var("RUSTC").unwrap_or("rustc".into());
    let version = output(Command::new(compiler).arg("--version"));
    println!(
        "cargo:rustc-env=PEERS_RUSTC={}",
        version.unwrap_or("unknown".into())
    );
    #[cfg(feature = "dpdk")]
    dpdk();
}

/// What a command that succeeds prints.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Builds the shim if the library is installed; all features at once must also build where it is not.
#[cfg(feature = "dpdk")]
fn dpdk() {
    println!("cargo:rerun-if-changed=dpdk/shim.c");
    let ask = |what: &str| output(Command::new("pkg-config").args([what, "libdpdk"]));
    let (Some(version), Some(flags), Some(libraries)) =
        (ask("--modversion"), ask("--cflags"), ask("--libs"))
    else {
        println!(
            "cargo:warning=DPDK is left out: pkg-config knows no libdpdk (Debian: libdpdk-dev)"
        );
        return;
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
    build.compile("peers_dpdk");
    for part in libraries.split_whitespace() {
        if let Some(name) = part.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={name}");
        } else if let Some(folder) = part.strip_prefix("-L") {
            println!("cargo:rustc-link-search={folder}");
        }
    }
    println!("cargo:rustc-env=PEERS_DPDK={version}");
    println!("cargo:rustc-cfg=have_dpdk");
}
