//! Headers: they compile everywhere, and say what the Rust side says.

use super::built::*;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

fn header(name: &str) -> String {
    let text = fs::read_to_string(root().join("include").join(name)).unwrap();
    without_comments(&text)
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").unwrap().1;
    }
    out + rest
}

/// The Rust side, comments and tests aside.
fn sources() -> String {
    let mut text = String::new();
    for entry in fs::read_dir(root().join("src/capi")).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        let shipped = source.split("#[cfg(test)]").next().unwrap();
        let code = shipped
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        code.for_each(|line| {
            text.push_str(line);
            text.push('\n');
        });
    }
    text
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What C calls a Rust type; `acl` in `acl_mbuf.h`, where all handles are `aclrtMbuf`.
fn in_c(rust: &str, acl: bool) -> String {
    let rust = rust.trim();
    let (handle, code) = if acl {
        ("aclrtMbuf", "aclError")
    } else {
        ("mbuf *", "int")
    };
    match rust {
        "c_int" => code.to_owned(),
        "c_char" => "char".to_owned(),
        "c_void" => "void".to_owned(),
        "Handle" => handle.to_owned(),
        "usize" => "size_t".to_owned(),
        "u32" => "uint32_t".to_owned(),
        "u64" => "uint64_t".to_owned(),
        "Options" => "mbuf_pool_options".to_owned(),
        "Statistics" => "mbuf_pool_statistics".to_owned(),
        "Token" => "mbuf_token".to_owned(),
        "Option<Release>" => "mbuf_release".to_owned(),
        _ => {
            let (of, constant) = match rust.strip_prefix("*const ") {
                Some(of) => (of, "const "),
                None => (
                    rust.strip_prefix("*mut ")
                        .unwrap_or_else(|| panic!("{rust}")),
                    "",
                ),
            };
            // An array of handles is not written: its elements are constant, not what they point to.
            if of == "Handle" && !constant.is_empty() {
                return format!("{handle}const *");
            }
            format!("{constant}{}*", spaced(&in_c(of, acl)))
        }
    }
}

fn spaced(c: &str) -> String {
    if c.ends_with('*') {
        c.to_owned()
    } else {
        format!("{c} ")
    }
}

/// A C type without what does not matter to a call, and without its parameter's name: `const` of what a handle points to, which
/// Rust does not know, and names of types that are numbers.
fn plain_c(parameter: &str, acl: bool) -> String {
    let name_at = parameter.rfind(|c: char| !c.is_alphanumeric() && c != '_');
    let kind = match name_at {
        Some(at) if parameter != "void" => parameter[..=at].trim(),
        _ => parameter,
    };
    let kind = words(kind).replace("mbuf_pool ", "uint64_t ");
    match kind.as_str() {
        "const mbuf *" => "mbuf *".to_owned(),
        "mbuf_pool" => "uint64_t".to_owned(),
        "const aclrtMbuf" if acl => "aclrtMbuf".to_owned(),
        _ => kind,
    }
}

type Functions = BTreeMap<String, String>;

/// Every `name -> result(parameters)` that a header declares.
fn declared(header: &str, acl: bool) -> Functions {
    let mut found = Functions::new();
    for statement in header.split(';') {
        let statement = words(statement.rsplit('}').next().unwrap());
        let statement = statement.rsplit("extern \"C\" {").next().unwrap().trim();
        let Some((before, parameters)) = statement.split_once('(') else {
            continue;
        };
        // A function's type is no function.
        if statement.starts_with("typedef") {
            continue;
        }
        let at = before.rfind([' ', '*']).unwrap();
        let (result, name) = (before[..=at].trim(), before[at + 1..].to_owned());
        let result = result.rsplit("#endif").next().unwrap().trim();
        let parameters = parameters.strip_suffix(')').unwrap();
        let kinds: Vec<_> = match parameters {
            "void" => Vec::new(),
            _ => parameters
                .split(',')
                .map(|one| plain_c(one.trim(), acl))
                .collect(),
        };
        found.insert(name, format!("{result}({})", kinds.join(", ")));
    }
    found
}

/// Every function that the Rust side exports, in C's words.
fn exported(acl: bool) -> Functions {
    let mut found = Functions::new();
    for part in sources().split("#[unsafe(no_mangle)]").skip(1) {
        let signature = words(part.split('{').next().unwrap());
        let signature = signature.split_once("extern \"C\" fn ").unwrap().1;
        let (name, rest) = signature.split_once('(').unwrap();
        if name.starts_with("aclrt") != acl {
            continue;
        }
        let (parameters, result) = rest.rsplit_once(')').unwrap();
        let result = in_c(result.trim().trim_start_matches("->"), acl);
        let kinds: Vec<_> = parameters
            .split(',')
            .filter_map(|parameter| parameter.split_once(':'))
            .map(|(_, kind)| in_c(kind, acl))
            .collect();
        found.insert(name.to_owned(), format!("{result}({})", kinds.join(", ")));
    }
    found
}

#[test]
fn headers_declare_what_is_exported() {
    let acl = declared(&header("acl_mbuf.h"), true);
    assert_eq!(acl, exported(true));
    assert_eq!(acl.len(), 11);
    let own = declared(&header("mbuf.h"), false);
    assert_eq!(own, exported(false));
    assert!(own.len() > 30);
}

/// The fields of a structure, `type name;` each.
fn fields_in_c(header: &str, name: &str) -> Vec<String> {
    let body = header
        .split_once(&format!("typedef struct {name} {{"))
        .unwrap()
        .1;
    let body = body.split_once('}').unwrap().0;
    body.split(';')
        .map(words)
        .filter(|field| !field.is_empty())
        .collect()
}

fn fields_in_rust(source: &str, name: &str) -> Vec<String> {
    let (before, body) = source.split_once(&format!("struct {name} {{")).unwrap();
    assert!(
        before
            .trim_end()
            .lines()
            .rev()
            .take(2)
            .any(|line| line == "#[repr(C)]")
    );
    let body = body.split_once('}').unwrap().0;
    let fields = body.split(',').filter_map(|field| field.split_once(':'));
    fields
        .map(|(name, kind)| format!("{} {}", in_c(kind, false), name.trim()))
        .collect()
}

#[test]
fn structures_are_the_same() {
    let (header, source) = (header("mbuf.h"), sources());
    for (c, rust) in [
        ("mbuf_pool_options", "Options"),
        ("mbuf_pool_statistics", "Statistics"),
        ("mbuf_token", "Token"),
    ] {
        let fields = fields_in_c(&header, c);
        assert_eq!(fields, fields_in_rust(&source, rust), "{c}");
        assert!(fields.len() > 2);
    }
}

#[test]
fn codes_are_the_same() {
    let source = sources();
    let code = |name: &str| {
        let text = source
            .split_once(&format!("const {name}: Self = Self("))
            .unwrap()
            .1;
        text.split_once(')').unwrap().0.replace('_', "")
    };
    for (file, c, rust) in [
        ("acl_mbuf.h", "ACL_ERROR_INVALID_PARAM", "ARGUMENT"),
        ("acl_mbuf.h", "ACL_ERROR_RT_PARAM_INVALID", "HANDLE"),
        ("acl_mbuf.h", "ACL_ERROR_RT_MEMORY_ALLOCATION", "MEMORY"),
        ("acl_mbuf.h", "ACL_ERROR_RT_OVER_LIMIT", "CHAIN_TOO_LONG"),
        ("mbuf.h", "MBUF_ERROR_ARGUMENT", "ARGUMENT"),
        ("mbuf.h", "MBUF_ERROR_HANDLE", "HANDLE"),
        ("mbuf.h", "MBUF_ERROR_MEMORY", "MEMORY"),
        ("mbuf.h", "MBUF_ERROR_CHAIN_TOO_LONG", "CHAIN_TOO_LONG"),
        ("mbuf.h", "MBUF_ERROR_SHARED", "SHARED"),
    ] {
        let value = format!("{c} = {}", code(rust));
        assert!(header(file).contains(&value), "{file} has no `{value}`");
    }
    let own = fs::read_to_string(root().join("include/mbuf.h")).unwrap();
    for (name, value) in [
        ("MBUF_USER_AREA", mbuf::USER_AREA),
        ("MBUF_MAX_CHAIN", mbuf::MAX_CHAIN),
    ] {
        assert!(own.contains(&format!("#define {name} {value}\n")));
    }
    let parts = [
        ("MAJOR", env!("CARGO_PKG_VERSION_MAJOR")),
        ("MINOR", env!("CARGO_PKG_VERSION_MINOR")),
        ("PATCH", env!("CARGO_PKG_VERSION_PATCH")),
    ];
    for (part, value) in parts {
        assert!(own.contains(&format!("#define MBUF_VERSION_{part} {value}\n")));
    }
}

#[test]
fn headers_compile_in_every_language() {
    if !library() {
        return;
    }
    let folder = folder();
    let mut compilers = vec![(compiler(), "c", vec!["c99", "c11", "c17"])];
    if is_there(&compiler_of_cpp()) {
        compilers.push((compiler_of_cpp(), "c++", vec!["c++11", "c++17", "c++20"]));
    } else {
        say("skipped: there is no C++ compiler here");
    }
    let includes = [
        "#include <mbuf.h>\n#include <acl_mbuf.h>\n#include <mbuf.h>\n",
        "#include <acl_mbuf.h>\n",
        "#include <mbuf.h>\nmbuf_pool_options options = MBUF_POOL_OPTIONS_INIT;\n",
    ];
    for (number, text) in includes.iter().enumerate() {
        let source = folder.join(format!("include-{number}.source"));
        fs::write(&source, text).unwrap();
        for (compiler, language, standards) in &compilers {
            for standard in standards {
                let mut command = Command::new(compiler);
                command
                    .args(["-x", language, "-fsyntax-only", &format!("-std={standard}")])
                    .args([
                        "-Wall",
                        "-Wextra",
                        "-Wpedantic",
                        "-Wconversion",
                        "-Wshadow",
                        "-Wundef",
                    ])
                    .args(["-Werror", "-I"])
                    .arg(folder.join("include"))
                    .arg(&source);
                succeed(&mut command);
            }
        }
    }
}

#[test]
fn nothing_else_is_exported() {
    if !library() {
        return;
    }
    if !is_there("nm") || !is_there("readelf") {
        say("skipped: there are no binutils here");
        return;
    }
    let shared = folder().join("lib/libmbuf.so");
    let listed = succeed(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(&shared),
    );
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut symbols: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split(' ').next_back())
        .collect();
    symbols.sort_unstable();
    let mut declared: Vec<_> = exported(true)
        .into_keys()
        .chain(exported(false).into_keys())
        .collect();
    declared.sort_unstable();
    assert_eq!(symbols, declared);
    let dynamic = succeed(Command::new("readelf").arg("-d").arg(&shared));
    let dynamic = String::from_utf8(dynamic.stdout).unwrap();
    assert!(dynamic.contains("soname: [libmbuf.so."), "{dynamic}");
}
