//! `docs/your-own-kernels.md` shows the code of `tests/outside/mandelbrot`.

use std::fs;
use std::path::Path;

#[test]
fn the_guide_shows_this_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect(path);
    let guide = read("docs/your-own-kernels.md");
    for file in [
        "Cargo.toml",
        "src/main.rs",
        "kernels/Cargo.toml",
        "kernels/src/lib.rs",
        "kernels/tests/emulator.rs",
    ] {
        let text = read(&format!("tests/outside/mandelbrot/{file}"));
        assert!(guide.contains(&text), "{file}");
    }
}
