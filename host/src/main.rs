//! The `warpstride` program: [`warpstride::cli`] is all of it.

/// Ends the program with one sentence where there is no memory left.
#[global_allocator]
static ALLOCATOR: warpstride_allocator::Reporting = warpstride_allocator::Reporting;

fn main() -> std::process::ExitCode {
    warpstride::cli::run()
}
