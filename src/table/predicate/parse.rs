//! The text form of predicates, the conditions of SQL that they can state:
//!
//! ```text
//! dep_delay > 60 and carrier in ('UA', 'AA') and not (origin = 'EWR' or tailnum is null)
//! time between '2013-01-01' and '2013-01-31T12:00'    starts_with(name, 'A')    contains(name, 'x')
//! ```
#![forbid(unsafe_code)]

use super::{Comparison, Constant, Decimal, Predicate, Test};
use crate::error::{Error, Result, fail};

/// Maximum depth of parentheses and negations.
const MAX_DEPTH: usize = 64;
/// Maximum number of characters that an error shows on either side of the position.
const MAX_SHOWN: usize = 40;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name of a column, or a word.
    Word(String),
    /// A name of a column in double quotes.
    Quoted(String),
    Constant(Constant),
    Symbol(&'static str),
    End,
}

/// Symbols, longer ones before their beginnings.
const SYMBOLS: [&str; 11] = ["<=", ">=", "<>", "!=", "==", "<", ">", "=", "(", ")", ","];

struct Parser<'t> {
    text: &'t str,
    /// The next token, and where it begins and ends.
    token: Token,
    begin: usize,
    end: usize,
    depth: usize,
}

impl Predicate {
    /// Parses the text form. Errors show the position.
    pub fn parse(text: &str) -> Result<Predicate> {
        let mut parser = Parser {
            text,
            token: Token::End,
            begin: 0,
            end: 0,
            depth: 0,
        };
        parser.advance()?;
        let predicate = parser.any()?;
        match parser.token {
            Token::End => Ok(predicate),
            _ => Err(parser.expected("\"and\", \"or\" or the end")),
        }
    }
}

impl Parser<'_> {
    fn any(&mut self) -> Result<Predicate> {
        let mut all = vec![self.all()?];
        while self.take_word("or")? {
            all.push(self.all()?);
        }
        Ok(one_or(all, Predicate::Or))
    }

    fn all(&mut self) -> Result<Predicate> {
        let mut all = vec![self.negated()?];
        while self.take_word("and")? {
            all.push(self.negated()?);
        }
        Ok(one_or(all, Predicate::And))
    }

    fn negated(&mut self) -> Result<Predicate> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.wrong("parentheses and negations are nested too deeply"));
        }
        let predicate = if self.take_word("not")? {
            Predicate::Not(Box::new(self.negated()?))
        } else if self.take_symbol("(")? {
            let inner = self.any()?;
            self.require(")")?;
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(predicate)
    }

    fn test(&mut self) -> Result<Predicate> {
        if self.constant().is_some() {
            let constant = self.take_constant()?;
            let Some(comparison) = self.take_comparison()? else {
                return Err(self.expected("a comparison"));
            };
            let test = Test::Compare(comparison.exchanged(), constant);
            let name = self.take_name()?;
            return Ok(Predicate::Column { name, test });
        }
        let name = self.take_name()?;
        if self.take_symbol("(")? {
            return self.function(&name);
        }
        if let Some(comparison) = self.take_comparison()? {
            let test = Test::Compare(comparison, self.take_constant()?);
            return Ok(Predicate::Column { name, test });
        }
        if self.take_word("is")? {
            let negated = self.take_word("not")?;
            if !self.take_word("null")? {
                return Err(self.expected("\"null\""));
            }
            return Ok(maybe_not(negated, name, Test::IsNull));
        }
        let negated = self.take_word("not")?;
        let test = if self.take_word("between")? {
            let low = self.take_constant()?;
            if !self.take_word("and")? {
                return Err(self.expected("\"and\""));
            }
            Test::Between(low, self.take_constant()?)
        } else if self.take_word("in")? {
            Test::In(self.list()?)
        } else if negated {
            return Err(self.expected("\"between\" or \"in\""));
        } else {
            Test::IsTrue
        };
        Ok(maybe_not(negated, name, test))
    }

    /// Parses the arguments of a function.
    fn function(&mut self, function: &str) -> Result<Predicate> {
        let of_text: fn(String) -> Test = match function {
            "starts_with" => Test::StartsWith,
            "contains" => Test::Contains,
            _ => return Err(self.wrong("the functions are starts_with and contains")),
        };
        let name = self.take_name()?;
        self.require(",")?;
        let Some(Constant::Text(text)) = self.constant() else {
            return Err(self.expected("a text in single quotes"));
        };
        self.advance()?;
        self.require(")")?;
        let test = of_text(text);
        Ok(Predicate::Column { name, test })
    }

    fn list(&mut self) -> Result<Vec<Constant>> {
        self.require("(")?;
        let mut all = vec![self.take_constant()?];
        while self.take_symbol(",")? {
            all.push(self.take_constant()?);
        }
        self.require(")")?;
        Ok(all)
    }

    // ---- tokens

    /// Returns the next token as a constant.
    fn constant(&self) -> Option<Constant> {
        match &self.token {
            Token::Constant(constant) => Some(constant.clone()),
            Token::Word(word) if word.eq_ignore_ascii_case("true") => Some(Constant::Bool(true)),
            Token::Word(word) if word.eq_ignore_ascii_case("false") => Some(Constant::Bool(false)),
            _ => None,
        }
    }

    fn take_constant(&mut self) -> Result<Constant> {
        let found = self
            .constant()
            .ok_or_else(|| self.expected("a number, a text in single quotes, true or false"))?;
        self.advance().map(|()| found)
    }

    fn take_name(&mut self) -> Result<String> {
        let name = match &self.token {
            Token::Word(word) if !is_reserved(word) => word.clone(),
            Token::Quoted(name) => name.clone(),
            _ => {
                let what = "the name of a column (in double quotes if it is a keyword)";
                return Err(self.expected(what));
            }
        };
        self.advance().map(|()| name)
    }

    fn take_comparison(&mut self) -> Result<Option<Comparison>> {
        let found = match self.token {
            Token::Symbol("=" | "==") => Comparison::Equal,
            Token::Symbol("<>" | "!=") => Comparison::NotEqual,
            Token::Symbol("<") => Comparison::Less,
            Token::Symbol("<=") => Comparison::LessOrEqual,
            Token::Symbol(">") => Comparison::Greater,
            Token::Symbol(">=") => Comparison::GreaterOrEqual,
            _ => return Ok(None),
        };
        self.advance().map(|()| Some(found))
    }

    fn take_word(&mut self, expected: &str) -> Result<bool> {
        let found = matches!(&self.token, Token::Word(word) if word.eq_ignore_ascii_case(expected));
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn take_symbol(&mut self, expected: &str) -> Result<bool> {
        let found = matches!(self.token, Token::Symbol(symbol) if symbol == expected);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn require(&mut self, symbol: &str) -> Result<()> {
        match self.take_symbol(symbol)? {
            true => Ok(()),
            false => Err(self.expected(&format!("{symbol:?}"))),
        }
    }

    /// Reads the next token.
    fn advance(&mut self) -> Result<()> {
        let rest = self.text.get(self.end..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.begin = self.text.len() - trimmed.len();
        let (token, n) = match trimmed.chars().next() {
            None => (Token::End, 0),
            Some('\'') => {
                self.quoted(trimmed, '\'', |text| Token::Constant(Constant::Text(text)))?
            }
            Some('"') => self.quoted(trimmed, '"', Token::Quoted)?,
            Some(c) if c.is_alphabetic() || c == '_' => {
                let name = word(trimmed);
                let token = match special(name) {
                    Some(x) => Token::Constant(Constant::Decimal(Decimal::special(x))),
                    None => Token::Word(name.to_owned()),
                };
                (token, name.len())
            }
            Some(c) if c.is_ascii_digit() || "+-.".contains(c) => self.number(trimmed)?,
            Some(_) => match SYMBOLS.iter().find(|s| trimmed.starts_with(**s)) {
                Some(symbol) => (Token::Symbol(symbol), symbol.len()),
                None => return Err(self.wrong("this character has no meaning here")),
            },
        };
        (self.token, self.end) = (token, self.begin + n);
        Ok(())
    }

    /// Reads a text in quotes, in which two of them stand for one.
    fn quoted(
        &self,
        text: &str,
        quote: char,
        token: impl Fn(String) -> Token,
    ) -> Result<(Token, usize)> {
        let mut found = String::new();
        let mut characters = text.char_indices().skip(1).peekable();
        while let Some((at, c)) = characters.next() {
            if c != quote {
                found.push(c);
            } else if characters.next_if(|(_, next)| *next == quote).is_some() {
                found.push(quote);
            } else {
                return Ok((token(found), at + 1));
            }
        }
        Err(self.wrong(&format!("the quote {quote} is not closed")))
    }

    /// Reads a number.
    fn number(&self, text: &str) -> Result<(Token, usize)> {
        let mut n = usize::from(text.starts_with(['+', '-']));
        let sign = text.get(..n).unwrap_or_default();
        let rest = text.get(n..).unwrap_or_default();
        let name = word(rest);
        if let Some(x) = special(name) {
            let x = if sign == "-" { -x } else { x };
            let x = Constant::Decimal(Decimal::special(x));
            return Ok((Token::Constant(x), n + name.len()));
        }
        let mut before = ' ';
        for c in rest.chars() {
            let is_sign = "+-".contains(c) && "eE".contains(before);
            if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || is_sign) {
                break;
            }
            (before, n) = (c, n + 1);
        }
        let number = text.get(..n).unwrap_or_default();
        if let Ok(integer) = number.parse() {
            return Ok((Token::Constant(Constant::Int(integer)), n));
        }
        let is_plain = |b: u8| b.is_ascii_digit() || b"+-.eE".contains(&b);
        let decimal = Decimal::parse(number).filter(|_| number.bytes().all(is_plain));
        decimal
            .map(|decimal| (Token::Constant(Constant::Decimal(decimal)), n))
            .ok_or_else(|| self.wrong("this is no number"))
    }

    // ---- errors

    fn expected(&self, what: &str) -> Error {
        let found = match self.token {
            Token::End => "the end",
            _ => self.text.get(self.begin..self.end).unwrap_or_default(),
        };
        self.wrong(&format!("expected {what}, found {found}"))
    }

    /// Returns an error that shows the text with a caret at the position.
    fn wrong(&self, what: &str) -> Error {
        let (before, after) = (self.text.split_at_checked(self.begin)).unwrap_or((self.text, ""));
        let skipped = before.chars().count().saturating_sub(MAX_SHOWN);
        let start: String = before.chars().skip(skipped).collect();
        let end: String = after.chars().take(MAX_SHOWN).collect();
        let message = format!("the predicate: {what}, at ^ in: {start}^{end}");
        let message = message.replace(char::is_control, " ");
        fail!(Argument, "{message}").at(self.begin as u64)
    }
}

/// Returns the word at the start of a text.
fn word(text: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let n = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.get(..n).unwrap_or_default()
}

/// Returns the number that a word stands for.
fn special(word: &str) -> Option<f64> {
    match word.to_ascii_lowercase().as_str() {
        "nan" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        _ => None,
    }
}

fn is_reserved(word: &str) -> bool {
    let reserved = [
        "and", "or", "not", "between", "in", "is", "null", "true", "false",
    ];
    reserved.iter().any(|r| word.eq_ignore_ascii_case(r))
}

fn one_or(mut all: Vec<Predicate>, many: fn(Vec<Predicate>) -> Predicate) -> Predicate {
    match all.pop() {
        Some(only) if all.is_empty() => only,
        Some(last) => {
            all.push(last);
            many(all)
        }
        None => many(all),
    }
}

fn maybe_not(negated: bool, name: String, test: Test) -> Predicate {
    let predicate = Predicate::Column { name, test };
    match negated {
        true => Predicate::Not(Box::new(predicate)),
        false => predicate,
    }
}
