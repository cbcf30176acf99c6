//! The `warpstride` program: [`warpstride::cli`] is all of it.

fn main() -> std::process::ExitCode {
    warpstride::cli::run()
}
