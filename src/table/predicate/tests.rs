//! The text form of predicates, and its errors.

use super::*;
use crate::error::Status;

fn parsed(text: &str) -> Predicate {
    Predicate::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

fn column(name: &str, test: Test) -> Predicate {
    Predicate::Column {
        name: name.to_owned(),
        test,
    }
}

fn decimal(text: &str) -> Constant {
    Constant::Decimal(Decimal::parse(text).unwrap())
}

#[test]
fn decimals_are_exact() {
    let of = |text| Decimal::parse(text).map(|d| (d.floor, d.is_whole));
    assert_eq!(
        of("9007199254740993.0"),
        Some((Some(9_007_199_254_740_993), true))
    );
    assert_eq!(of("0.99999999999999999999"), Some((Some(0), false)));
    assert_eq!(of("-0.5"), Some((Some(-1), false)));
    assert_eq!(of("-2.5e3"), Some((Some(-2500), true)));
    assert_eq!(of("25e-1"), Some((Some(2), false)));
    assert_eq!(of("-25e-2"), Some((Some(-1), false)));
    assert_eq!(of("00.0e99"), Some((Some(0), true)));
    assert_eq!(of("1e-99"), Some((Some(0), false)));
    assert_eq!(of("1e37"), Some((Some(10i128.pow(37)), true)));
    assert_eq!(of("1e40"), Some((None, true)));
    assert_eq!(of("1e9223372036854775807"), Some((None, true)));
    assert_eq!(of("1e9223372036854775808"), None);
}

#[test]
fn text_forms() {
    use Comparison::*;
    let compare = |name, comparison, constant| column(name, Test::Compare(comparison, constant));
    let int = |n| Constant::Int(n);
    let text = |t: &str| Constant::Text(t.to_owned());
    assert_eq!(parsed("a > 60"), compare("a", Greater, int(60)));
    assert_eq!(parsed("60 < a"), compare("a", Greater, int(60)));
    assert_eq!(parsed("a.b == -1"), compare("a.b", Equal, int(-1)));
    assert_eq!(
        parsed("\"a \"\"b\" <> 'it''s'"),
        compare("a \"b", NotEqual, text("it's"))
    );
    assert_eq!(
        parsed("x <= 2.5e3"),
        compare("x", LessOrEqual, decimal("2.5e3"))
    );
    assert_eq!(
        parsed("x>=-inf"),
        compare(
            "x",
            GreaterOrEqual,
            Constant::Decimal(Decimal::special(f64::NEG_INFINITY))
        )
    );
    let all = "a in ('UA', 'AA') and not (b = true or c is null) or d";
    let expected = Predicate::Or(vec![
        Predicate::And(vec![
            column("a", Test::In(vec![text("UA"), text("AA")])),
            Predicate::Not(Box::new(Predicate::Or(vec![
                compare("b", Equal, Constant::Bool(true)),
                column("c", Test::IsNull),
            ]))),
        ]),
        column("d", Test::IsTrue),
    ]);
    assert_eq!(parsed(all), expected);
    assert_eq!(
        parsed("a IS Not NULL"),
        Predicate::Not(Box::new(column("a", Test::IsNull)))
    );
    let between = column("t", Test::Between(text("2013-01-01"), text("2013-01-31")));
    assert_eq!(parsed("t between '2013-01-01' and '2013-01-31'"), between);
    assert_eq!(
        parsed("t not between '2013-01-01' and '2013-01-31'"),
        Predicate::Not(Box::new(between))
    );
    assert_eq!(
        parsed("starts_with(n, 'A')"),
        column("n", Test::StartsWith("A".into()))
    );
    assert_eq!(
        parsed("contains(n,'x')"),
        column("n", Test::Contains("x".into()))
    );
}

#[test]
fn errors_show_the_position() {
    for (text, at) in [
        ("", 0),
        ("a >", 3),
        ("a > > 1", 4),
        ("a = 'x", 4),
        ("a = 1 b", 6),
        ("(a = 1", 6),
        ("a = 1x", 4),
        ("a in ()", 6),
        ("a not 1", 6),
        ("a is 1", 5),
        ("a between 1 or 2", 12),
        ("f(a, 'x')", 2),
        ("contains(a, 1)", 12),
        ("null = 1", 0),
        ("1 = 1", 4),
        ("1 a", 2),
        ("a ? 1", 2),
        ("é = 1 é", 7),
    ] {
        let e = Predicate::parse(text).unwrap_err();
        assert_eq!(
            (e.status, e.position),
            (Status::Argument, at),
            "{text}: {e}"
        );
        let (before, after) = text.split_at(at as usize);
        assert!(e.message.ends_with(&format!("{before}^{after}")), "{e}");
    }
    let deep = format!("{}a{}", "(".repeat(100), ")".repeat(100));
    assert!(Predicate::parse(&deep).is_err());
    assert!(Predicate::parse(&"not ".repeat(100_000)).is_err());
}
