//! Columns that are functions of q and I instead of these.

use super::super::support::TestFolder;
use super::{info, write};

#[test]
fn products_with_powers_of_q_are_refused() {
    let folder = TestFolder::new();
    for (header, columns) in [
        ("I*q^4 q", [1, 0]),
        ("q,I*q^4", [0, 1]),
        ("# Q q^2*I", [0, 1]),
    ] {
        let header = format!("{header}\n");
        write(&folder, "a.txt", &header, |[q, i, _]| {
            let row = [q, i * q.powi(4)];
            format!("{:e} {:e}", row[columns[0]], row[columns[1]])
        });
        for command in ["info", "fit"] {
            let fit: &[&str] = &["sas", "fit", "sphere", "a.txt", "--fit", "scale"];
            let given = if command == "fit" {
                fit
            } else {
                &["sas", "info", "a.txt"]
            };
            folder
                .run(given)
                .refused(1, &["a.txt: column", "power of q", "q and I themselves"]);
        }
    }
    // Beside I itself, such a column is not read.
    write(&folder, "a.txt", "I*q^4 q I\n", |[q, i, _]| {
        format!("{:e} {q} {i}", i * q.powi(4))
    });
    assert_eq!(info(&folder, "a.txt")["q"][0], 0.005);
}
