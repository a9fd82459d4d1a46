//! From words to a condition, with types checked: numbers are compared, comparisons are joined.

use super::ConditionError;
use super::figure::{Bucket, Figure};
use super::token::{Kind, Token, tokens};

/// Deeper nesting is a mistake, or an attack on the stack.
const DEEPEST: usize = 32;
/// Longer conditions are several rules.
const LONGEST: usize = 400;

/// True, false or unknown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    Compare(&'static str, Number, Number),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

/// A number, or what computes one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Number {
    Constant(f64),
    Figure(Figure),
    Negative(Box<Number>),
    Of(&'static str, Box<Number>, Box<Number>),
}

impl Condition {
    /// Every figure in it, from left to right, with the constant that it is compared with.
    pub(crate) fn figures(&self) -> Vec<(&Figure, Option<f64>)> {
        match self {
            Condition::Compare(_, Number::Figure(f), Number::Constant(c))
            | Condition::Compare(_, Number::Constant(c), Number::Figure(f)) => vec![(f, Some(*c))],
            Condition::Compare(_, a, b) => {
                let mut all = Vec::new();
                a.figures(&mut all);
                b.figures(&mut all);
                all
            }
            Condition::And(a, b) | Condition::Or(a, b) => [a.figures(), b.figures()].concat(),
            Condition::Not(a) => a.figures(),
        }
    }

    /// Whether it is about any bucket.
    pub(crate) fn of_any_bucket(&self) -> bool {
        self.figures().iter().any(|(f, _)| f.bucket == Some(Bucket::Any))
    }
}

impl Number {
    fn figures<'a>(&'a self, out: &mut Vec<(&'a Figure, Option<f64>)>) {
        match self {
            Number::Constant(_) => {}
            Number::Figure(f) => out.push((f, None)),
            Number::Negative(a) => a.figures(out),
            Number::Of(_, a, b) => {
                a.figures(out);
                b.figures(out);
            }
        }
    }
}

/// Parses a whole condition.
pub(crate) fn parse(text: &str) -> Result<Condition, ConditionError> {
    let tokens = tokens(text)?;
    if let Some(beyond) = tokens.get(LONGEST) {
        return Err(error(beyond.at, format!("a condition of more than {LONGEST} words: make it several rules")));
    }
    let mut parser = Parser { tokens: &tokens, next: 0, depth: 0 };
    let at = parser.peek().at;
    let node = parser.or()?;
    let rest = parser.peek();
    if rest.kind != Kind::End {
        return Err(error(rest.at, format!("{} where and, or or the end was expected", described(&rest.kind))));
    }
    node.condition(at)
}

/// What has been read so far.
enum Node {
    Condition(Condition),
    Number(Number),
}

impl Node {
    fn condition(self, at: usize) -> Result<Condition, ConditionError> {
        match self {
            Node::Condition(c) => Ok(c),
            Node::Number(_) => Err(error(at, "a number is no condition: compare it with another".to_string())),
        }
    }

    fn number(self, at: usize) -> Result<Number, ConditionError> {
        match self {
            Node::Number(n) => Ok(n),
            Node::Condition(_) => Err(error(at, "a comparison is no number: join comparisons with and".to_string())),
        }
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
    depth: usize,
}

fn error(at: usize, message: String) -> ConditionError {
    ConditionError { at, message }
}

fn described(kind: &Kind) -> String {
    match kind {
        Kind::Number(n) => format!("the number {n}"),
        Kind::Figure(name) => format!("{name:?}"),
        Kind::And => "\"and\"".to_string(),
        Kind::Or => "\"or\"".to_string(),
        Kind::Not => "\"not\"".to_string(),
        Kind::Sign(sign) => format!("{sign:?}"),
        Kind::End => "the end".to_string(),
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Token {
        static END: Token = Token { kind: Kind::End, at: 0 };
        self.tokens.get(self.next).or(self.tokens.last()).unwrap_or(&END)
    }

    fn take(&mut self, wanted: &Kind) -> bool {
        let found = self.peek().kind == *wanted;
        self.next += usize::from(found);
        found
    }

    fn sign(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let Kind::Sign(sign) = self.peek().kind else { return None };
        let found = signs.iter().find(|s| **s == sign)?;
        self.next += 1;
        Some(found)
    }

    fn or(&mut self) -> Result<Node, ConditionError> {
        self.joined(&Kind::Or, Self::and, Condition::Or)
    }

    fn and(&mut self) -> Result<Node, ConditionError> {
        self.joined(&Kind::And, Self::not, Condition::And)
    }

    fn joined(
        &mut self,
        word: &Kind,
        part: fn(&mut Self) -> Result<Node, ConditionError>,
        join: fn(Box<Condition>, Box<Condition>) -> Condition,
    ) -> Result<Node, ConditionError> {
        let mut at = self.peek().at;
        let mut left = part(self)?;
        while self.take(word) {
            let first = left.condition(at)?;
            at = self.peek().at;
            let second = part(self)?.condition(at)?;
            left = Node::Condition(join(Box::new(first), Box::new(second)));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Node, ConditionError> {
        if !self.take(&Kind::Not) {
            return self.comparison();
        }
        let at = self.peek().at;
        let inner = self.deeper(at, Self::not)?.condition(at)?;
        Ok(Node::Condition(Condition::Not(Box::new(inner))))
    }

    fn comparison(&mut self) -> Result<Node, ConditionError> {
        const SIGNS: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];
        let at = self.peek().at;
        let left = self.sum()?;
        let Some(sign) = self.sign(&SIGNS) else { return Ok(left) };
        let left = left.number(at)?;
        let right_at = self.peek().at;
        let right = self.sum()?.number(right_at)?;
        let more = self.peek().at;
        match self.sign(&SIGNS) {
            Some(_) => Err(error(more, "one comparison after the other: join them with and".to_string())),
            None => Ok(Node::Condition(Condition::Compare(sign, left, right))),
        }
    }

    fn sum(&mut self) -> Result<Node, ConditionError> {
        self.computed(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Result<Node, ConditionError> {
        self.computed(&["*", "/"], Self::unary)
    }

    fn computed(
        &mut self,
        signs: &[&'static str],
        part: fn(&mut Self) -> Result<Node, ConditionError>,
    ) -> Result<Node, ConditionError> {
        let mut at = self.peek().at;
        let mut left = part(self)?;
        while let Some(sign) = self.sign(signs) {
            let first = left.number(at)?;
            at = self.peek().at;
            let second = part(self)?.number(at)?;
            left = Node::Number(Number::Of(sign, Box::new(first), Box::new(second)));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, ConditionError> {
        if self.sign(&["-"]).is_none() {
            return self.atom();
        }
        let at = self.peek().at;
        let inner = self.deeper(at, Self::unary)?.number(at)?;
        Ok(Node::Number(Number::Negative(Box::new(inner))))
    }

    fn atom(&mut self) -> Result<Node, ConditionError> {
        let token = self.peek();
        self.next += 1;
        match &token.kind {
            Kind::Number(value) => Ok(Node::Number(Number::Constant(*value))),
            Kind::Figure(name) => match Figure::named(name) {
                Ok(figure) => Ok(Node::Number(Number::Figure(figure))),
                Err(message) => Err(error(token.at, message)),
            },
            Kind::Sign("(") => {
                let inner = self.deeper(token.at, Self::or)?;
                let at = self.peek().at;
                match self.sign(&[")"]) {
                    Some(_) => Ok(inner),
                    None => Err(error(at, format!("{} where ) was expected", described(&self.peek().kind)))),
                }
            }
            other => Err(error(token.at, format!("{} where a figure or a number was expected", described(other)))),
        }
    }

    fn deeper(
        &mut self,
        at: usize,
        part: fn(&mut Self) -> Result<Node, ConditionError>,
    ) -> Result<Node, ConditionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(error(at, format!("nested more than {DEEPEST} deep")));
        }
        let node = part(self);
        self.depth -= 1;
        node
    }
}
