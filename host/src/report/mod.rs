//! Results for people and other programs: pictures, tables, the HTML report, the summary.
