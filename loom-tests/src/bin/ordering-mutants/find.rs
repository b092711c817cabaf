//! Finds what can be weakened in the sources.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One change of one file that makes the code weaker.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// Relative to the repository.
    pub(crate) file: PathBuf,
    /// Bytes of the file that are replaced.
    pub(crate) at: std::ops::Range<usize>,
    /// What is there.
    from: String,
    /// By what it is replaced.
    pub(crate) by: String,
    line: usize,
    function: String,
    operation: String,
    change: String,
}

/// Steps that protocols rest on beside orderings: file, text, what replaces it, what that leaves out.
pub(crate) const LOGIC: &[(&str, &str, &str, &str)] = &[
    (
        "src/depot/mod.rs",
        "(self.0 >> 32).wrapping_add(1)",
        "(self.0 >> 32).wrapping_add(0)",
        "the head's tag does not grow",
    ),
    (
        "src/slab/state.rs",
        "(self.0 >> TAG_SHIFT) + 1",
        "self.0 >> TAG_SHIFT",
        "the slab's tag does not grow",
    ),
    (
        "src/slab/mod.rs",
        "if self.slab(arena, index).state.has_room(class, blocks) {",
        "if false {",
        "a slab taken off the list is not looked at again",
    ),
    (
        "src/slab/transit.rs",
        "self.moved = true;",
        "",
        "a move is not counted",
    ),
    (
        "src/slab/transit.rs",
        "before.0 & MOVERS == 0 && ",
        "",
        "a search does not mind movers that were there when it began",
    ),
    (
        "src/registry.rs",
        "(now.generation() + 1)",
        "(now.generation())",
        "a slot's generation does not grow",
    ),
    (
        "src/registry.rs",
        "if suits(self) {",
        "if true {",
        "a slot that was claimed is not looked at again",
    ),
    (
        "src/registry.rs",
        "fetch_add(0, Ordering::AcqRel)",
        "load(Ordering::Acquire)",
        "the close is looked for without a read-modify-write",
    ),
    (
        "src/pool/mod.rs",
        "core.retire_key();",
        "",
        "the caches stay usable after the last handle",
    ),
    (
        "src/mbuf/copy.rs",
        "owner.refcount.fetch_add(1, Ordering::Relaxed);",
        "",
        "a copy is not counted",
    ),
    (
        "src/mbuf/data.rs",
        "if !self.is_exclusive() {",
        "if false {",
        "data is lent exclusively while it is shared",
    ),
    (
        "src/mbuf/data.rs",
        "&& is_unique(self.owner())",
        "",
        "a copy is taken for its data's only reference",
    ),
    (
        "src/mbuf/room.rs",
        "if !self.is_exclusive() {",
        "if false {",
        "shared data is prepended to",
    ),
    (
        "src/mbuf/free.rs",
        "if !give_up(owner) {",
        "if !give_up(owner) && owner.flags() & flags::EXTERNAL == 0 {",
        "the owner of foreign memory is told by every reference",
    ),
];

/// Mutants that no model can fail on, by what their description contains, and why they are right all the same.
const EXCUSES: &[(&str, &str)] = &[];

/// All mutants, in the order of the files.
pub(crate) fn mutants(root: &Path) -> io::Result<Vec<Mutant>> {
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files)?;
    files.sort();
    let mut found = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path)?;
        let file = path.strip_prefix(root).unwrap_or(&path).to_owned();
        if file.starts_with("src/sync") || file.ends_with("src/sync.rs") {
            continue;
        }
        orderings(&file, &text, &mut found);
        logic(&file, &text, &mut found);
    }
    // A step that is written otherwise by now would no longer be left out, and nobody would notice.
    for (file, from, ..) in LOGIC {
        let is_there = |mutant: &Mutant| mutant.file == Path::new(file) && mutant.from == *from;
        if !found.iter().any(is_there) {
            return Err(io::Error::other(format!("{file} has no `{from}`")));
        }
    }
    Ok(found)
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The file up to its unit tests.
fn shipped(text: &str) -> &str {
    let end = ["#[cfg(test)]", "#[cfg(all(test"]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min();
    &text[..end.unwrap_or(text.len())]
}

fn orderings(file: &Path, text: &str, found: &mut Vec<Mutant>) {
    const PATH: &str = "Ordering::";
    let shipped = shipped(text);
    for (at, _) in shipped.match_indices(PATH) {
        let line_start = shipped[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = &shipped[line_start..at];
        let sanitized = shipped[..line_start]
            .trim_end()
            .ends_with("#[cfg(mbuf_tsan)]");
        if before.trim_start().starts_with("//") || before.contains("use ") || sanitized {
            continue;
        }
        let name_at = at + PATH.len();
        let name: String = shipped[name_at..]
            .chars()
            .take_while(|c| c.is_alphabetic())
            .collect();
        let fence = before.ends_with("fence(");
        for weaker in weaker(&name, fence) {
            found.push(Mutant::new(
                file,
                text,
                name_at..name_at + name.len(),
                weaker,
                &format!("{name} to {weaker}"),
            ));
        }
        if fence {
            let start = at - "fence(".len();
            let end = name_at + name.len() + 1;
            found.push(Mutant::new(file, text, start..end, "()", "fence removed"));
        }
    }
}

/// One step down. A fence that is `Acquire` or `Release` has none but removal.
fn weaker(ordering: &str, fence: bool) -> &'static [&'static str] {
    match ordering {
        "SeqCst" => &["AcqRel"],
        "AcqRel" => &["Acquire", "Release"],
        "Acquire" | "Release" if !fence => &["Relaxed"],
        _ => &[],
    }
}

fn logic(file: &Path, text: &str, found: &mut Vec<Mutant>) {
    for &(place, from, to, what) in LOGIC {
        if file != Path::new(place) {
            continue;
        }
        for (at, _) in shipped(text).match_indices(from) {
            found.push(Mutant::new(file, text, at..at + from.len(), to, what));
        }
    }
}

impl Mutant {
    fn new(file: &Path, text: &str, at: std::ops::Range<usize>, by: &str, change: &str) -> Self {
        let before = &text[..at.start];
        let after = &text[at.end..];
        let statement_start = before.rfind([';', '{', '}']).map_or(0, |end| end + 1);
        let statement_end = after.find([';', '{', '}']).unwrap_or(after.len());
        let statement = &text[statement_start..at.end + statement_end];
        Self {
            file: file.to_owned(),
            from: text[at.clone()].to_owned(),
            by: by.to_owned(),
            line: before.matches('\n').count() + 1,
            function: function(before),
            operation: code(statement),
            change: change.to_owned(),
            at,
        }
    }

    /// The mutated text of the file.
    pub(crate) fn apply(&self, text: &str) -> String {
        format!(
            "{}{}{}",
            &text[..self.at.start],
            self.by,
            &text[self.at.end..]
        )
    }

    /// Where it is, in brief.
    pub(crate) fn short(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }

    /// Why the mutant may survive, if it may.
    pub(crate) fn excuse(&self) -> Option<&'static str> {
        let description = self.to_string();
        EXCUSES
            .iter()
            .find(|(mark, _)| description.contains(mark))
            .map(|&(_, excuse)| excuse)
    }

    /// All but the last column of its row in the table.
    pub(crate) fn row(&self) -> String {
        format!(
            "| `{}` | `{}` | `{}` | {} | ",
            self.file
                .strip_prefix("src")
                .unwrap_or(&self.file)
                .display(),
            self.function,
            self.operation.replace('|', "\\|"),
            self.change
        )
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{} in {}: {}: {}",
            self.file.display(),
            self.line,
            self.function,
            self.change,
            self.operation
        )
    }
}

/// The name of the function that the end of `before` is in.
fn function(before: &str) -> String {
    let name = before.rsplit("fn ").next().unwrap_or_default();
    name.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// A statement on one line, without comments.
fn code(statement: &str) -> String {
    let lines = statement
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//"));
    let joined = lines.collect::<Vec<_>>().join(" ");
    let mut short = joined.split_whitespace().collect::<Vec<_>>().join(" ");
    for (loose, tight) in [("( ", "("), (", )", ")"), (" .", "."), (" )", ")")] {
        short = short.replace(loose, tight);
    }
    short
}
