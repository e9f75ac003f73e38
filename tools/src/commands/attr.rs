//! `holdall attr`: the attributes of arrays and tables, JSON under names. Those of frames are MessagePack, shown as
//! JSON.
//!
//! `get` prints the value of one attribute, or one JSON object of all.
//!
//! With `--file`, the further files in the folder `meta` of a dataset instead: bytes by name.

use crate::array::attributes;
use crate::cli::{Attr, AttrAction, AttrOptions};
use crate::content::Content;
use crate::detect::{self, Container};
use crate::failure::{Exit, Result};
use crate::file_name::FileName;
use crate::output::Output;
use crate::report::printable;
use crate::{failure, files, options, standard, usage};
use holdall::{Format, Options};

/// Refuses containers without attributes.
fn check(path: &FileName) -> Result {
    standard::refuse_unread(path)?;
    match (detect::format(path, None), detect::container(path, None)) {
        (Some(Format::Bloscpack), _) => {}
        (Some(format), _) if detect::is_frame(format) => return Ok(()),
        (_, Container::Dataset) => return Ok(()),
        _ => {}
    }
    Err(failure!(
        "{path}: attributes are those of datasets, and this is none (info prints the metadata of a superchunk)"
    ))
}

fn get(path: &FileName, name: Option<&str>, options: &AttrOptions) -> Result<Exit> {
    let raw = options.raw;
    if raw && name.is_none() {
        return Err(usage!("--raw is for one value, to get or to set"));
    }
    check(path)?;
    let content = Content::dataset(path, None, &Options::new().follow_links(options.follow_links))?;
    let mut output = Output::standard();
    match name {
        Some(name) if options.file => output.bytes(&content.meta_file(path, name)?)?,
        None if options.file => {
            let names = content.meta_file_names(path)?;
            names.iter().try_for_each(|name| output.line(printable(name)))?;
        }
        Some(name) if raw => output.bytes(content.stored_attribute(path, name)?)?,
        Some(name) => output.line(content.attribute(path, name)?)?,
        None => {
            let names = content.attribute_names();
            output.text("{")?;
            for (i, name) in names.iter().enumerate() {
                let (separator, key) = (if i > 0 { "," } else { "" }, serde_json::json!(name));
                let value = attributes::as_json(&content.attribute(path, name)?);
                output.text(format_args!("{separator}\n  {key}: {value}"))?;
            }
            output.line(if names.is_empty() { "}" } else { "\n}" })?;
        }
    }
    output.finish(Exit::Done)
}

/// Opens a dataset, changes it and commits.
fn change(
    path: &FileName,
    options: &AttrOptions,
    change: impl FnOnce(&mut Content) -> Result,
) -> Result<Exit> {
    check(path)?;
    let opening = Options::new().follow_links(options.follow_links);
    let mut content = Content::open_for_writing(path, &options::sync(opening, &options.sync))?;
    change(&mut content)?;
    content.commit(path)?;
    Ok(Exit::Done)
}

/// Sets an attribute, in the header of a frame if `fixed`.
fn set(
    path: &FileName,
    (name, fixed): (&str, bool),
    value: &FileName,
    options: &AttrOptions,
) -> Result<Exit> {
    if options.raw || options.file {
        let bytes = files::read_all(value)?;
        return change(path, options, |content| match options.file {
            true => content.set_meta_file(path, name, &bytes),
            false => content.set_stored_attribute(path, (name, fixed), &bytes),
        });
    }
    let text = std::str::from_utf8(value.bytes()).ok();
    let Some(json) = text.filter(|text| attributes::is_json(text)) else {
        return Err(usage!("the value is JSON, as 1.5, '\"text\"' or '[1, 2]', not '{value}'"));
    };
    change(path, options, |content| content.set_attribute(path, (name, fixed), json))
}

fn remove(path: &FileName, name: &str, options: &AttrOptions) -> Result<Exit> {
    if options.raw {
        return Err(usage!("--raw is for one value, to get or to set"));
    }
    change(path, options, |content| {
        if options.file {
            content.meta_file(path, name)?;
            return content.remove_meta_file(path, name);
        }
        if !content.attribute_names().contains(&name) {
            return Err(failure!("{path}: there is no attribute '{name}'"));
        }
        content.remove_attribute(path, name)
    })
}

pub fn run(args: &Attr) -> Result<Exit> {
    match &args.action {
        AttrAction::Get { options, path, name, .. } => get(path, name.as_deref(), options),
        AttrAction::Set { options, path, name, fixed, value } => {
            set(path, (name, *fixed), value, options)
        }
        AttrAction::Remove { options, path, name, .. } => remove(path, name, options),
    }
}
