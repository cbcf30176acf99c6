//! The `warpstride` program: [`warpstride_cli`] is all of it.

fn main() -> std::process::ExitCode {
    warpstride_cli::run()
}
