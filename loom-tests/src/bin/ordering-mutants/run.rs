//! Runs the models on a mutated copy of the repository.

use crate::find::Mutant;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The models, quick ones first.
const MODELS: [&str; 4] = ["parts", "sharing", "views", "pool"];

/// A mutant that hangs is killed, too.
const LONGEST: Duration = Duration::from_secs(300);

/// What became of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// By the model of that name.
    Killed(String),
    /// All models passed.
    Survived,
}

/// The verdicts so far, kept in a file.
pub(crate) struct Results {
    verdicts: HashMap<String, Verdict>,
    file: File,
}

fn folder(root: &Path) -> PathBuf {
    root.join("target/ordering-mutants")
}

impl Results {
    /// Reads what all earlier runs found; what this one finds goes to the shard's own file.
    pub(crate) fn open(root: &Path, shard: (usize, usize), fresh: bool) -> io::Result<Self> {
        let folder = folder(root);
        fs::create_dir_all(&folder)?;
        let mut verdicts = HashMap::new();
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "tsv") {
                continue;
            }
            if fresh {
                fs::remove_file(&path)?;
                continue;
            }
            for line in fs::read_to_string(&path)?.lines() {
                if let Some((mutant, verdict)) = line.split_once('\t') {
                    let verdict = match verdict {
                        "survived" => Verdict::Survived,
                        model => Verdict::Killed(model.to_owned()),
                    };
                    verdicts.insert(mutant.to_owned(), verdict);
                }
            }
        }
        let path = folder.join(format!("verdicts-{}-{}.tsv", shard.0, shard.1));
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { verdicts, file })
    }

    /// The verdict, if there is one.
    pub(crate) fn verdict(&self, mutant: &Mutant) -> Option<&Verdict> {
        self.verdicts.get(&mutant.to_string())
    }

    /// Keeps a verdict.
    pub(crate) fn record(&mut self, mutant: &Mutant, verdict: Verdict) -> io::Result<()> {
        let text = match &verdict {
            Verdict::Killed(model) => model,
            Verdict::Survived => "survived",
        };
        writeln!(self.file, "{mutant}\t{text}")?;
        self.verdicts.insert(mutant.to_string(), verdict);
        Ok(())
    }
}

/// A copy of the repository to mutate.
pub(crate) struct Tree {
    root: PathBuf,
    target: PathBuf,
}

impl Tree {
    /// Copies the repository, without what it builds.
    pub(crate) fn copy(root: &Path, shard: (usize, usize)) -> io::Result<Self> {
        let folder = folder(root);
        let copy = folder.join(format!("tree-{}-{}", shard.0, shard.1));
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        copy_folder(root, &copy)?;
        Ok(Self {
            root: copy,
            target: folder.join(format!("target-{}-{}", shard.0, shard.1)),
        })
    }

    /// Fails unless the models pass on the code as it is.
    pub(crate) fn check_unmutated(&self) -> io::Result<()> {
        match self.failing_model()? {
            None => Ok(()),
            Some(model) => Err(io::Error::other(format!(
                "{model} fails on the code as it is"
            ))),
        }
    }

    /// Runs the models on the mutant.
    pub(crate) fn try_out(&self, mutant: &Mutant) -> io::Result<Verdict> {
        let path = self.root.join(&mutant.file);
        let text = fs::read_to_string(&path)?;
        fs::write(&path, mutant.apply(&text))?;
        let failing = self.failing_model();
        fs::write(&path, text)?;
        Ok(failing?.map_or(Verdict::Survived, Verdict::Killed))
    }

    fn failing_model(&self) -> io::Result<Option<String>> {
        for models in MODELS {
            if let Some(model) = self.failing_model_of(models)? {
                return Ok(Some(model));
            }
        }
        Ok(None)
    }

    fn failing_model_of(&self, models: &str) -> io::Result<Option<String>> {
        let log = self.target.with_extension("log");
        let output = File::create(&log)?;
        let mut child = Command::new("cargo")
            .args([
                "test",
                "--quiet",
                "--package",
                "loom-tests",
                "--profile",
                "loom",
            ])
            .args(["--config", "build.rustflags=['--cfg=loom']"])
            .args(["--test", models])
            .arg("--target-dir")
            .arg(&self.target)
            .current_dir(&self.root)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output)
            .spawn()?;
        let Some(passed) = wait(&mut child)? else {
            return Ok(Some(format!("{models} (hangs)")));
        };
        if passed {
            return Ok(None);
        }
        let mut said = String::new();
        File::open(&log)?.read_to_string(&mut said)?;
        if said.contains("error: could not compile") {
            return Err(io::Error::other(format!(
                "a mutant does not compile:\n{said}"
            )));
        }
        Ok(Some(
            name_of_failure(&said).unwrap_or_else(|| models.to_owned()),
        ))
    }
}

/// The model that panicked first.
fn name_of_failure(said: &str) -> Option<String> {
    let at = said.find("thread '")? + "thread '".len();
    let name = &said[at..];
    let name = &name[..name.find('\'')?];
    Some(name.rsplit("::").next()?.to_owned())
}

/// Whether the child succeeded; `None` if it had to be stopped.
fn wait(child: &mut Child) -> io::Result<Option<bool>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if start.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        // The copy lies inside the repository, whose cargo configuration it would double.
        if name == "target" || name == ".git" || name == ".cargo" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to.join(name))?;
        } else {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}
