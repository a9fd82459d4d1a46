//! The Python package: built as a wheel, installed where nothing else is, held to the binary and to the report.

use crate::python::python;
use crate::support::{binary, fixture, root, run};
use postrun_schema::{Dataset, Dtype, IssueCode, Table};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BUILDS: &str = "maturin==1.16.0\n";
/// What the wheel asks for, in versions that the notebooks use too.
const NEEDS: &str = "polars==2.1.0\npolars-runtime-32==2.1.0\n";
/// Relative difference of two floats that were added up in another order.
const DIGITS: f64 = 1e-12;
const COLUMNS: &str = "crates/postrun-cli/python/postrun/_columns.py";

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The wheel, made of the binary that is tested: with its profile, in its target folder, where nothing is left to build.
fn wheel(maturin: &Path, dir: &Path) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    // What other tests run must be there before maturin takes it.
    binary();
    let mut build = Command::new(maturin);
    build.args(["build", "--locked", "--profile", "dev", "--compression-method", "stored", "--manifest-path"]);
    build.arg(root().join("crates/postrun-cli/Cargo.toml")).arg("--out").arg(dir).env("CARGO_TARGET_DIR", target);
    as_outside_of_cargo(&mut build);
    let mut child = build.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        said.push(line.unwrap());
        if said.iter().any(|line| line.contains("Compiling")) {
            // A build of Polars takes minutes, and must end before the next build finds half of it.
            let _ = Command::new("kill").args(["--", &format!("-{}", child.id())]).status();
            child.wait().unwrap();
            panic!("the binary is built already, and yet: {said:#?}");
        }
    }
    assert!(child.wait().unwrap().success(), "{said:#?}");
    let mut built = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    built.find(|p| p.extension().is_some_and(|e| e == "whl")).unwrap()
}

/// Takes away what cargo sets for a test. Build scripts look at some of it (`OUT_DIR`), and would be run again.
fn as_outside_of_cargo(command: &mut Command) {
    let of_a_test = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_", "POSTRUN_"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let exact = ["CARGO", "OUT_DIR", "LD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"].contains(&text.as_ref());
        if exact || of_a_test.iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
}

/// An environment that holds the wheel and what it needs; `None` where Python or a package cannot be had.
struct Installed {
    dir: tempfile::TempDir,
}

impl Installed {
    fn new() -> Option<Installed> {
        let maturin = python("maturin", BUILDS)?.with_file_name("maturin");
        let dir = tempfile::tempdir().unwrap();
        let wheel = wheel(&maturin, dir.path());
        let constraints = dir.path().join("constraints.txt");
        std::fs::write(&constraints, NEEDS).unwrap();
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(dir.path().join("env")));
        let here = Installed { dir };
        let pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "-c"];
        succeeds(here.command("python").args(pip).arg(&constraints).arg(&wheel));
        Some(here)
    }

    /// A program of the environment, started outside of the checkout.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.dir.path().join("env/bin").join(name));
        command.current_dir(self.dir.path()).env_remove("PYTHONPATH");
        command
    }

    fn python(&self, script: &str, args: &[&Path]) -> Value {
        let script = root().join("tests/wheel").join(script);
        let output = succeeds(self.command("python").arg(script).args(args));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn ingest(&self, input: &Path, name: &str) -> PathBuf {
        let target = self.dir.path().join(name);
        succeeds(self.command("postrun").arg("ingest").arg(input).arg("-o").arg(&target));
        target
    }
}

#[test]
fn an_installed_wheel_is_the_command_and_opens_its_datasets() {
    let Some(here) = Installed::new() else { return };
    let version = String::from_utf8(succeeds(here.command("postrun").arg("--version")).stdout).unwrap();
    assert_eq!(version, run(["--version"]).stdout);

    // What README.md shows, where it has its dataset.
    let dataset = here.ingest(&fixture("server_side/kv_tight/input"), "kv-tight.postrun");
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shown = readme.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    succeeds(here.command("python").args(["-c", &format!("{shown}\nassert slow.height == 10 and full.height > 0")]));

    let report = run(["report", dataset.to_str().unwrap(), "--format", "json"]).json();
    let mut found = here.python("figures.py", &[&dataset]);
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    let figures = found["figures"].take();
    for (path, value) in figures.as_object().unwrap() {
        let reported = report["runs"][0].pointer(&format!("/{path}")).and_then(Value::as_f64);
        let reported = reported.unwrap_or_else(|| panic!("no {path} in the report"));
        let value = value.as_f64().unwrap();
        assert!((value - reported).abs() <= DIGITS * reported.abs(), "{path}: {value}, {reported}");
    }
    assert!(figures.as_object().unwrap().len() >= 20, "{figures}");

    let sweep = here.ingest(&fixture("cases/b16_several_runs/input"), "sweep");
    let reports = run(["report", sweep.to_str().unwrap(), "--format", "json"]).json();
    let labels: Vec<&Value> = reports["runs"].as_array().unwrap().iter().map(|r| &r["label"]).collect();
    let opened = here.python("several.py", &[&sweep]);
    assert!(labels.len() > 1);
    assert_eq!(opened["labels"].as_array().unwrap().iter().collect::<Vec<_>>(), labels);
    assert!(opened["refused"].as_str().unwrap().contains("postrun.open_all"), "{opened}");
    for table in Table::ALL {
        let names: Vec<&str> = table.columns().iter().map(|c| c.name).collect();
        assert_eq!(opened["columns"][table.name()], Value::from(names), "{}", table.name());
    }
    let http = here.ingest(&fixture("client_side/aiperf_http_and_curves/input"), "http.postrun");
    assert!(here.python("extras.py", &[&http]).as_u64().unwrap() > 0);

    refuses_what_the_command_refuses(&here, &dataset);
    refuses_the_manifests_that_the_command_refuses(&here, &dataset);
}

/// Name of a damaged dataset, words of the error, and what was done to it.
type Damage = (&'static str, &'static str, fn(&Path));

/// Each damage by itself: the package says why, and the command refuses it too.
fn refuses_what_the_command_refuses(here: &Installed, dataset: &Path) {
    let damages: [Damage; 8] = [
        ("empty", "not a postrun dataset", |d| std::fs::remove_file(d.join("manifest.json")).unwrap()),
        ("newer", "use a newer postrun", |d| replaced(d, "postrun.dataset/1", "postrun.dataset/2")),
        ("foreign", "expected 'postrun.dataset/1'", |d| replaced(d, "postrun.dataset/1", "other.dataset/1")),
        ("cut_manifest", "manifest is damaged", |d| replaced(d, "\"tables\"", "")),
        ("no_tables", "manifest is damaged", |d| replaced(d, "\"tables\"", "\"other\"")),
        ("no_table", "chunks.parquet", |d| std::fs::remove_file(d.join("chunks.parquet")).unwrap()),
        ("cut_table", "bytes (expected", |d| {
            let path = d.join("chunks.parquet");
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        }),
        ("flipped_bit", "sha256 (expected", |d| {
            let path = d.join("requests.parquet");
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }),
    ];
    let folder = here.dir.path().join("damaged");
    for (name, _, damage) in &damages {
        let copy = folder.join(name);
        copied(dataset, &copy);
        damage(&copy);
    }
    let said = here.python("refused.py", &[&folder]);
    for (name, why, _) in &damages {
        let said = said[name].as_str().unwrap_or_else(|| panic!("{name} was opened"));
        assert!(said.contains(why) && said.contains(name), "{name}: {said}");
        let ran = run(["report", folder.join(name).to_str().unwrap()]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.stderr);
    }
}

fn copied(dataset: &Path, copy: &Path) {
    std::fs::create_dir_all(copy).unwrap();
    for entry in std::fs::read_dir(dataset).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
}

/// Every key of the manifest taken away, and every value replaced by one of each other kind: the package refuses those that
/// postrun refuses, and no other.
fn refuses_the_manifests_that_the_command_refuses(here: &Installed, dataset: &Path) {
    let copy = here.dir.path().join("manifests");
    copied(dataset, &copy);
    let path = copy.join("manifest.json");
    let whole: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let mut changes = Vec::new();
    changed(&whole, "", &mut |what, manifest| changes.push((what, manifest)));
    let list = here.dir.path().join("manifests.json");
    let manifests: Vec<&Value> = changes.iter().map(|(_, manifest)| manifest).collect();
    std::fs::write(&list, serde_json::to_vec(&manifests).unwrap()).unwrap();
    let said = here.python("manifests.py", &[&copy, &list]);
    let said = said.as_array().unwrap();
    assert_eq!(said.len(), changes.len());
    let mut refused = Vec::new();
    for ((what, manifest), said) in changes.iter().zip(said) {
        std::fs::write(&path, serde_json::to_vec(manifest).unwrap()).unwrap();
        let opened = Dataset::open(&copy).map(|_| ()).map_err(|e| e.to_string());
        assert_eq!(opened.is_err(), said.is_string(), "{what}: {opened:?}, the package: {said}");
        if opened.is_err() {
            refused.push(what.as_str());
        }
    }
    let needed = ["tool", "load", "counted", "clocks", "output_tokens_source", "sources", "issues", "not_recorded"];
    for what in needed.map(|key| format!("/{key} removed")).iter().chain([&"/label: null".to_string()]) {
        assert!(refused.contains(&what.as_str()), "{what} was opened");
    }
    assert!(refused.len() > 500 && refused.len() < changes.len(), "{} of {}", refused.len(), changes.len());
}

/// Gives `take` every change of `whole` at `place` or below, and what was changed. Of a list, its first item stands for all.
fn changed(whole: &Value, place: &str, take: &mut impl FnMut(String, Value)) {
    let at = |key: &str| format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
    match whole.pointer(place).unwrap() {
        Value::Object(fields) => {
            for key in fields.keys() {
                let mut without = whole.clone();
                without.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(key);
                take(format!("{} removed", at(key)), without);
                replaced_by_others(whole, &at(key), take);
                changed(whole, &at(key), take);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            replaced_by_others(whole, &at("0"), take);
            changed(whole, &at("0"), take);
        }
        _ => {}
    }
}

fn replaced_by_others(whole: &Value, place: &str, take: &mut impl FnMut(String, Value)) {
    for other in ["null", "\"other\"", "-1", "0.5", "true", "[]", "{}"] {
        let mut with = whole.clone();
        *with.pointer_mut(place).unwrap() = serde_json::from_str(other).unwrap();
        take(format!("{place}: {other}"), with);
    }
}

fn replaced(dataset: &Path, from: &str, to: &str) {
    let path = dataset.join("manifest.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from));
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// `_columns.py` as the schema has it.
fn columns() -> String {
    let dtype = |dtype: Dtype| match dtype {
        Dtype::U16 => "UInt16",
        Dtype::U32 => "UInt32",
        Dtype::I64 => "Int64",
        Dtype::F64 => "Float64",
        Dtype::Utf8 => "String",
        Dtype::Bool => "Boolean",
    };
    let mut out = String::from(
        "\"\"\"Columns of each table and codes of issues, of the schema that postrun writes. Made from it: `UPDATE_README=1 cargo test`.\"\"\"\n\n\
         import polars as pl\n\nCOLUMNS: dict[str, dict[str, type[pl.DataType]]] = {\n",
    );
    for table in Table::ALL {
        out.push_str(&format!("    \"{}\": {{\n", table.name()));
        for column in table.columns() {
            out.push_str(&format!("        \"{}\": pl.{},\n", column.name, dtype(column.dtype)));
        }
        out.push_str("    },\n");
    }
    out.push_str("}\n\n# Columns that are never null, and so never absent.\nREQUIRED: dict[str, frozenset[str]] = {\n");
    for table in Table::ALL {
        let never = table.columns().iter().filter(|c| !c.nullable).map(|c| format!("\"{}\"", c.name));
        out.push_str(&format!("    \"{}\": frozenset({{{}}}),\n", table.name(), never.collect::<Vec<_>>().join(", ")));
    }
    out.push_str("}\n\n# Codes of issues that a manifest may hold.\nISSUE_CODES: frozenset[str] = frozenset({\n");
    for code in IssueCode::ALL {
        out.push_str(&format!("    \"{}\",\n", code.id()));
    }
    out + "})\n"
}

#[test]
fn columns_of_the_package_are_those_of_the_schema() {
    let path = root().join(COLUMNS);
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(&path, columns()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        columns(),
        "`UPDATE_README=1 cargo test` writes it anew"
    );
}

/// Whoever has an older Polars must not be told that a good file is damaged.
#[test]
fn the_oldest_polars_that_is_promised_reads_every_table() {
    let about = std::fs::read_to_string(root().join("crates/postrun-cli/pyproject.toml")).unwrap();
    let oldest = about.split("polars>=").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let Some(python) = python("polars-oldest", &format!("polars=={oldest}.0\n")) else { return };
    let dir = tempfile::tempdir().unwrap();
    let (dataset, flat) = (dir.path().join("run"), dir.path().join("flat.parquet"));
    let input = fixture("client_side/aiperf_http_and_curves/input");
    assert_eq!(run(["ingest", input.to_str().unwrap(), "-o", dataset.to_str().unwrap()]).code, 0);
    let export = ["export", dataset.to_str().unwrap(), "--to", "parquet", "-o", flat.to_str().unwrap()];
    assert_eq!(run(export).code, 0);
    // The package as it lies here, not installed: it is asked for no version.
    let script = "import importlib.metadata as about, sys, polars as pl\n\
                  about.version = lambda name: '0'\n\
                  import postrun\n\
                  run = postrun.open(sys.argv[1])\n\
                  for name in ['requests', 'chunks', 'samples', 'events', 'reported', 'extras']:\n    \
                      frame = getattr(run, name).collect()\n    \
                      print(name, frame.height)\n\
                  print('flat', pl.read_parquet(sys.argv[2]).height)";
    let mut command = Command::new(python);
    command
        .args(["-B", "-c", script])
        .args([&dataset, &flat])
        .env("PYTHONPATH", root().join("crates/postrun-cli/python"));
    let said = String::from_utf8(succeeds(&mut command).stdout).unwrap();
    let rows = |name: &str| {
        let line = said.lines().find_map(|l| l.strip_prefix(name)).unwrap();
        line.trim().parse::<usize>().unwrap()
    };
    // All three have floats, which is what older readers stumbled over.
    assert!(rows("requests") > 0 && rows("reported") > 0 && rows("extras") > 0, "{said}");
    assert_eq!(rows("flat"), rows("requests"), "{said}");
}
