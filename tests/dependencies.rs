//! What the crate brings along is what the README says.

#![cfg(not(any(loom, shuttle)))]

use std::collections::BTreeSet;
use std::process::Command;

/// Names of the crates that a build of the library with these features needs, itself aside.
fn needed(features: &[&str]) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--edges", "normal", "--prefix", "none"])
        .args(["--package", env!("CARGO_PKG_NAME")])
        .args(features)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        tree.status.success(),
        "{}",
        String::from_utf8_lossy(&tree.stderr)
    );
    let lines = String::from_utf8(tree.stdout).unwrap();
    lines
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&name| name != env!("CARGO_PKG_NAME"))
        .map(str::to_owned)
        .collect()
}

/// The crates in the last column of a line of the README's table of features.
fn stated(feature: &str) -> BTreeSet<String> {
    let readme = include_str!("../README.md");
    let line = readme
        .lines()
        .find(|line| line.starts_with(&format!("| {feature}")))
        .unwrap_or_else(|| panic!("the README has no feature {feature}"));
    let crates = line
        .trim_end_matches([' ', '|'])
        .rsplit('|')
        .next()
        .unwrap();
    crates
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_default_build_needs_what_the_readme_says() {
    let mut expected = stated("none");
    assert_eq!(needed(&["--no-default-features"]), expected);
    expected.extend(stated("`bytes`"));
    assert_eq!(needed(&[]), expected);
}

#[test]
fn each_feature_brings_what_the_readme_says() {
    for feature in ["serde", "metrics", "tracing", "capi"] {
        let mut expected = stated("none");
        expected.extend(stated(&format!("`{feature}`")));
        let found = needed(&["--no-default-features", "--features", feature]);
        assert_eq!(found, expected, "{feature}");
    }
}
