//! Weakens the shipped code one ordering at a time, and sees whether a model notices.
//!
//! Every ordering of every atomic operation and fence in `src` is lowered by one step, every fence is removed, and the steps
//! of [`find::LOGIC`] that protocols rest on are left out. For each such mutant the models run on a copy of the repository.
//! A mutant that no model fails on survives: then the ordering can be weaker, or a model is missing.

mod find;
mod run;

use find::Mutant;
use indicatif::{ProgressBar, ProgressStyle};
use run::{Results, Verdict};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo ordering-mutants [OPTIONS]

Weakens one ordering of the library at a time and runs the models. Verdicts are kept in target/ordering-mutants, so a run
that was stopped goes on where it was.

  --list          print the mutants and stop
  --only TEXT     only mutants whose description contains TEXT
  --shard I/N     only the I-th of N equal parts, counted from 1
  --fresh         forget earlier verdicts
  --table         print the verdicts so far as a Markdown table and stop

The exit status is 0 if no mutant survived.";

struct Options {
    list: bool,
    table: bool,
    fresh: bool,
    only: String,
    shard: (usize, usize),
}

fn parse() -> Result<Option<Options>, lexopt::Error> {
    use lexopt::prelude::*;
    let mut options = Options {
        list: false,
        table: false,
        fresh: false,
        only: String::new(),
        shard: (1, 1),
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("list") => options.list = true,
            Long("table") => options.table = true,
            Long("fresh") => options.fresh = true,
            Long("only") => options.only = parser.value()?.string()?,
            Long("shard") => options.shard = shard(&parser.value()?.string()?)?,
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Some(options))
}

fn shard(text: &str) -> Result<(usize, usize), lexopt::Error> {
    let parts = text
        .split_once('/')
        .and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if (1..=n).contains(&i) => Ok((i, n)),
        _ => Err(format!("a shard is I/N with I from 1 to N, not {text}").into()),
    }
}

fn main() -> ExitCode {
    let options = match parse() {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match go(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn go(options: &Options) -> std::io::Result<bool> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()?;
    let (i, n) = options.shard;
    let mutants: Vec<Mutant> = find::mutants(&root)?
        .into_iter()
        .filter(|mutant| mutant.to_string().contains(&options.only))
        .enumerate()
        .filter_map(|(index, mutant)| (index % n == i - 1).then_some(mutant))
        .collect();
    if options.list {
        mutants.iter().for_each(|mutant| println!("{mutant}"));
        return Ok(true);
    }
    let mut results = Results::open(&root, options.shard, options.fresh)?;
    if options.table {
        print_table(&mutants, &results);
        return Ok(true);
    }
    run_all(&root, options.shard, &mutants, &mut results)?;
    report(&mutants, &results)
}

fn run_all(
    root: &Path,
    shard: (usize, usize),
    mutants: &[Mutant],
    results: &mut Results,
) -> std::io::Result<()> {
    let bar = ProgressBar::new(mutants.len() as u64);
    let style = "{elapsed_precise} {wide_bar} {pos}/{len}, {eta} left  {msg}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    let tree = run::Tree::copy(root, shard)?;
    tree.check_unmutated()?;
    for mutant in mutants {
        bar.set_message(mutant.short());
        if results.verdict(mutant).is_none() {
            let verdict = tree.try_out(mutant)?;
            if verdict == Verdict::Survived {
                bar.suspend(|| println!("SURVIVED  {mutant}"));
            }
            results.record(mutant, verdict)?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

fn report(mutants: &[Mutant], results: &Results) -> std::io::Result<bool> {
    let survivors: Vec<_> = mutants
        .iter()
        .filter(|mutant| results.verdict(mutant) == Some(&Verdict::Survived))
        .collect();
    let excused = survivors.iter().filter(|mutant| mutant.excuse().is_some());
    let unexplained = survivors.len() - excused.count();
    for mutant in &survivors {
        println!("survived: {mutant}");
        if let Some(excuse) = mutant.excuse() {
            println!("          allowed: {excuse}");
        }
    }
    println!(
        "{} mutants, {} killed, {} survived, {unexplained} of them unexplained",
        mutants.len(),
        mutants.len() - survivors.len(),
        survivors.len(),
    );
    Ok(unexplained == 0)
}

fn print_table(mutants: &[Mutant], results: &Results) {
    println!("| file | function | operation | weakened | fails |");
    println!("|---|---|---|---|---|");
    for mutant in mutants {
        let verdict = match results.verdict(mutant) {
            None => "not run".to_owned(),
            Some(Verdict::Killed(model)) => format!("`{model}`"),
            Some(Verdict::Survived) => match mutant.excuse() {
                Some(excuse) => format!("none: {excuse}"),
                None => "**none**".to_owned(),
            },
        };
        println!("{}{verdict} |", mutant.row());
    }
}
