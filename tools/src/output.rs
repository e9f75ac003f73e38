//! Results: standard output, or the file of `--output`.

use crate::failure::{Exit, Failure, Result};
use crate::file_name::FileName;
use crate::files::OutputFile;
use crate::usage;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

/// A buffered output. A failure of standard output is `Failure::Output`, that of a file names it.
pub struct Output<'a> {
    to: BufWriter<Box<dyn Write + 'a>>,
    path: Option<FileName>,
}

const BUFFER: usize = 1 << 16;

impl<'a> Output<'a> {
    pub fn standard() -> Output<'a> {
        // the lock of the standard library's handle would flush each line
        let stdout: Box<dyn Write> =
            match std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned() {
                Ok(descriptor) => Box::new(std::fs::File::from(descriptor)),
                Err(_) => Box::new(io::stdout()),
            };
        Output { to: BufWriter::with_capacity(BUFFER, stdout), path: None }
    }

    /// An output to a writer, whose failures name `path`.
    pub fn to(writer: impl Write + 'a, path: &FileName) -> Output<'a> {
        Output { to: BufWriter::with_capacity(BUFFER, Box::new(writer)), path: Some(path.clone()) }
    }

    fn checked<T>(&self, result: io::Result<T>) -> Result<T> {
        result.map_err(|error| match &self.path {
            _ if crate::signals::stopped() => Failure::Stopped,
            Some(path) if error.kind() != io::ErrorKind::BrokenPipe => {
                crate::failure::system(path)(error)
            }
            _ => Failure::Output(error),
        })
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> Result {
        let written = self.to.write_all(bytes);
        self.checked(written)
    }

    pub fn text(&mut self, text: impl Display) -> Result {
        let written = write!(self.to, "{text}");
        self.checked(written)
    }

    pub fn line(&mut self, text: impl Display) -> Result {
        let written = writeln!(self.to, "{text}");
        self.checked(written)
    }

    /// Writes what is buffered, without an end.
    pub fn flush(&mut self) -> Result {
        let written = self.to.flush();
        self.checked(written)
    }

    /// Ends the output. Returns `code`; a reader that has gone is no failure.
    pub fn finish(mut self, code: Exit) -> Result<Exit> {
        let written = self.to.flush();
        match self.checked(written) {
            Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(code),
            done => done.map(|()| code),
        }
    }
}

/// Calls a function that prints, to standard output or (`out`) into a file, which appears when it
/// is complete.
pub fn printed(
    out: Option<&FileName>,
    force: bool,
    print: impl FnOnce(&mut Output) -> Result<Exit>,
) -> Result<Exit> {
    let Some(path) = out.filter(|path| !path.is_standard()) else {
        let mut output = Output::standard();
        let code = print(&mut output)?;
        return output.finish(code);
    };
    let mut file = OutputFile::create(path, force)?;
    let mut output = Output::to(&mut file, path);
    let code = print(&mut output)?;
    let code = output.finish(code)?;
    if crate::signals::stopped() {
        return Err(Failure::Stopped);
    }
    file.complete()?;
    Ok(code)
}

/// Returns whether results are printed to a terminal; `out` is a file instead.
pub fn is_terminal(out: Option<&FileName>) -> bool {
    out.is_none_or(FileName::is_standard) && io::stdout().is_terminal()
}

/// Refuses to print bytes that a terminal may take for commands.
pub fn refuse_terminal(out: Option<&FileName>, what: &str) -> Result {
    if is_terminal(out) {
        return Err(usage!("{what} are not printed to a terminal: -o OUT, or a redirection"));
    }
    Ok(())
}

impl Failure {
    /// Reports a failure of standard output and returns the exit code. A reader that has gone is no
    /// failure.
    pub fn report_output(self) -> Exit {
        match self {
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Failure::Output(error) => {
                crate::report::error(&format!(
                    "standard output: {}",
                    crate::report::system_message(&error)
                ));
                Exit::Failed
            }
            _ => Exit::Failed,
        }
    }
}
