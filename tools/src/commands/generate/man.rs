//! A page of the manual.

use super::{Block, blocks, description, sections, usage};
use clap::Command;
use clap_mangen::Man;
use roff::{Roff, roman};
use std::path::Path;

pub fn write_page(command: &Command, folder: &Path) -> std::io::Result<()> {
    let man = Man::new(command.clone())
        .source(format!("holdall {}", env!("CARGO_PKG_VERSION")))
        .manual("holdall");
    let (mut page, mut own) = (Vec::new(), Roff::new());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    own.control("SH", ["SYNOPSIS"]);
    for (i, line) in usage(command).lines().enumerate() {
        (i > 0).then(|| own.control("br", []));
        own.text([roman(line.trim())]);
    }
    own.control("SH", ["DESCRIPTION"]);
    render(&mut own, &description(command));
    own.to_writer(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut options = Vec::new();
    man.render_options_section(&mut options)?;
    page.extend_from_slice(tightened(&String::from_utf8_lossy(&options)).as_bytes());
    let mut own = Roff::new();
    render(&mut own, &sections(command));
    own.control("SH", ["SEE ALSO"]);
    own.text([roman(match command.get_name() {
        "holdall" => "jq(1), sha256sum(1), zstd(1)",
        _ => "holdall(1)",
    })]);
    own.to_writer(&mut page)?;
    std::fs::write(folder.join(man.get_filename()), page)
}

/// Removes blank lines before lists of values, and makes their indentation that of other lists.
fn tightened(options: &str) -> String {
    options
        .replace("\n.br\n\n.br\n", "\n.br\n")
        .replace(".RS 14\n", ".RS 7\n.PD 0\n")
        .replace(".RE\n", ".RE\n.PD\n")
}

fn render(page: &mut Roff, text: &str) {
    let mut begins = true; // a paragraph there has no gap before it
    for block in blocks(text) {
        match &block {
            Block::Heading(heading) => {
                page.control("SH", [heading.to_uppercase().as_str()]);
            }
            Block::Item(lines) => {
                page.control("IP", ["\\(bu", "2"]);
                lines.iter().for_each(|line| _ = page.text([roman(*line)]));
            }
            Block::Paragraph(lines) => {
                (!begins).then(|| page.control("PP", []));
                lines.iter().for_each(|line| _ = page.text([roman(*line)]));
            }
            Block::Literal(lines) => {
                page.control("RS", ["0"]).control("nf", []);
                for line in lines {
                    match line.is_empty() {
                        true => page.control("sp", []),
                        false => page.text([roman(*line)]),
                    };
                }
                page.control("fi", []).control("RE", []);
            }
        }
        begins = matches!(block, Block::Heading(_));
    }
}
