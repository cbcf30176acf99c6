//! `docs/your-own-kernels.md` shows the code of `tests/outside/mandelbrot`.

use std::fs;
use std::path::Path;

#[test]
fn the_guide_shows_this_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect(path);
    let guide = read("docs/your-own-kernels.md");
    let project = "tests/outside/mandelbrot";
    for file in ["kernels/src/lib.rs", "kernels/tests/emulator.rs"] {
        assert!(
            guide.contains(&read(&format!("{project}/{file}"))),
            "{file}"
        );
    }
    let program = read(&format!("{project}/src/main.rs"));
    let run = program
        .split_once("/// The same code runs")
        .and_then(|(_, rest)| rest.split_once("/// The definition."))
        .map(|(run, _)| run.trim_end())
        .expect("the function run");
    assert!(guide.contains(run), "src/main.rs");
}
