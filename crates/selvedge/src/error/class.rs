//! Whose fault an error is, and so the exit code. Which error is of which class is `error`'s.

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// What we were given is wrong: exit code 1.
    Input,
    /// What we were asked for is wrong, which only the files show: exit code 2.
    CommandLine,
    /// The machine did not do its part: exit code 3.
    Environment,
}

impl Class {
    /// The exit code. What clap finds wrong with the command line is 2 too, what is ours 70 (panic hook).
    pub fn exit_code(self) -> u8 {
        match self {
            Class::Input => 1,
            Class::CommandLine => 2,
            Class::Environment => 3,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Class::Input => "input",
            Class::CommandLine => "command line",
            Class::Environment => "environment",
        }
    }
}
