//! Pictures, plots and tables: legible text, round labels that neither overlap nor leave the
//! drawing.

use super::support::{TestFolder, read_png};

/// Grey levels between ink and paper.
const SMOOTH: std::ops::Range<u8> = 60..220;

/// Writes a curve of a sphere with uncertainties of 1 % to `c.txt`.
fn curve(folder: &TestFolder) {
    let fixed = ["sas", "evaluate", "sphere", "--backend", "cpu"];
    let options = ["--set", "radius=60", "--q", "0.01:0.2:40", "-o", "c.csv"];
    folder.run(&[&fixed[..], &options].concat()).well();
    let text = std::fs::read_to_string(folder.path("c.csv")).unwrap();
    let numbers = |line: &str| {
        let (q, i) = line.split_once(',')?;
        Some((q.parse::<f64>().ok()?, i.parse::<f64>().ok()?))
    };
    let rows = text.lines().filter_map(numbers);
    let rows: String = rows
        .map(|(q, i)| format!("{q:e} {i:e} {:e}\n", 0.01 * i))
        .collect();
    std::fs::write(folder.path("c.txt"), rows).unwrap();
}

/// A text of an SVG.
#[derive(Debug)]
struct Label {
    x: f64,
    y: f64,
    size: f64,
    end: bool,
    text: String,
}

impl Label {
    /// All texts of the drawings of a page.
    fn all(page: &str) -> Vec<Self> {
        let texts = page.split("<text ").skip(1);
        texts
            .map(|part| {
                let (attributes, rest) = part.split_once('>').unwrap();
                let value = |name: &str| {
                    let value = attributes.split(&format!("{name}=\"")).nth(1).unwrap();
                    value.split('"').next().unwrap()
                };
                Self {
                    x: value("x").parse().unwrap(),
                    y: value("y").parse().unwrap(),
                    size: value("font-size").parse().unwrap(),
                    end: value("text-anchor") == "end",
                    text: rest.split('<').next().unwrap().trim().to_owned(),
                }
            })
            .collect()
    }

    /// More than the width of the text in any usual font without serifs.
    fn width(&self) -> f64 {
        0.6 * self.size * self.text.chars().count() as f64
    }
}

#[test]
fn text_has_smooth_edges() {
    let folder = TestFolder::new();
    let options = ["--nx", "40", "--ny", "30", "--iterations", "2"];
    let fixed = ["jacobi", "--backend", "cpu", "--quiet", "--plot", "p.png"];
    folder.run(&[&fixed[..], &options].concat()).well();
    let picture = read_png(&folder.path("p.png"));
    let title = &picture.bytes[..30 * picture.width as usize * picture.samples];
    let pixels = title.chunks(picture.samples);
    let smooth = pixels.filter(|p| SMOOTH.contains(&p[0])).count();
    assert!(smooth > 100, "{smooth}");
}

/// The labels of residuals once were rounding errors of 0, such as −1.7e-21, and crossed the frame.
#[test]
fn labels_of_the_residuals_of_an_exact_fit_stay_beside_the_axis() {
    let folder = TestFolder::new();
    curve(&folder);
    let options = ["--set", "radius=60", "--fit", "scale=0:1e308"];
    let fixed = ["sas", "fit", "sphere", "c.txt", "--backend", "cpu"];
    let files = ["--report", "r.html", "--plot", "p.png"];
    let output = folder.run(&[&fixed[..], &options, &files].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    // A bound is not written with 300 digits.
    assert!(output.out.contains("0 to 1e308"), "{output:?}");
    assert!(output.out.lines().all(|line| line.len() < 200));

    let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
    let drawing = page.split("<svg").nth(1).unwrap();
    let labels = Label::all(drawing);
    let title = labels.iter().find(|l| l.text == "residuals, σ").unwrap();
    let of_residuals: Vec<&Label> = labels
        .iter()
        .filter(|label| label.end && label.y > title.y)
        .collect();
    assert!((3..=5).contains(&of_residuals.len()), "{labels:?}");
    assert_eq!(of_residuals.iter().filter(|l| l.text == "0").count(), 1);
    for label in labels.iter().filter(|label| label.end) {
        assert!(label.width() <= label.x, "{label:?}");
    }
    for pair in of_residuals.windows(2) {
        assert!((pair[0].y - pair[1].y).abs() > pair[0].size, "{pair:?}");
    }
}

#[test]
fn the_sweeps_of_a_relaxation_are_listed_at_regular_steps() {
    let folder = TestFolder::new();
    for (iterations, expected) in [
        ("9", vec![0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ("17", vec![0, 2, 4, 6, 8, 10, 12, 14, 16]),
        ("60", vec![0, 10, 20, 30, 40, 50, 59]),
    ] {
        let fixed = ["jacobi", "--backend", "cpu", "--nx", "20", "--ny", "20"];
        let output = folder.run(&[&fixed[..], &["--iterations", iterations]].concat());
        output.well();
        let table = output.out.split("norm\n").nth(1).unwrap();
        let sweeps: Vec<usize> = table
            .lines()
            .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(sweeps, expected);
    }
}
