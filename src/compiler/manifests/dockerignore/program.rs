//! The regular expressions that patterns become: the small part of Go's syntax that can come out of a pattern, run in
//! time linear in the path's length.

use super::class::Class;

/// A compiled expression, matched against a whole path.
#[derive(Clone, Debug)]
pub(super) struct Program {
    steps: Vec<Step>,
    /// What every match starts with: most paths are turned down by it.
    head: String,
    /// What every match ends with.
    tail: String,
}

#[derive(Clone, Debug)]
enum Step {
    /// `\b` (true) and `\B` (false).
    Boundary(bool),
    /// `\z`.
    End,
    /// One character of the class.
    One(Class),
    /// The class, any number of times.
    Many(Class),
    /// `(…)?` around the next two steps.
    Maybe,
    /// `^`, `\A`.
    Start,
}

impl Program {
    /// Compiles an expression; `Err` says why Go would refuse it (or, in a few cases that no path needs, we do).
    pub(super) fn parse(expression: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut rest = expression;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            match letter {
                '^' => steps.push(Step::Start),
                '.' => steps.push(Step::One(Class::no_line_break())),
                '(' => {
                    steps.extend([
                        Step::Maybe,
                        Step::Many(Class::no_line_break()),
                        Step::One(Class::only('/')),
                    ]);
                    rest = rest.strip_prefix(".*/)?").unwrap_or(rest);
                }
                '*' => match steps.pop() {
                    Some(Step::One(class)) => steps.push(Step::Many(class)),
                    _ => return Err("there is nothing to repeat before a `*`".to_owned()),
                },
                '[' => steps.push(Step::One(Class::parse(&mut rest)?)),
                // A last `\` escapes the `$` that Go gets to see behind it, and so there is no end.
                '\\' if rest.is_empty() => {
                    steps.extend([Step::One(Class::only('$')), Step::Many(Class::all())]);
                }
                '\\' => steps.push(escape(&mut rest)?),
                letter => steps.push(Step::One(Class::only(letter))),
            }
        }
        let head = steps.iter().map_while(Step::letter).collect();
        let certain = steps.iter().rposition(|step| matches!(step, Step::Maybe)).map_or(0, |at| at + 3);
        let tail: Vec<char> = steps[certain..].iter().rev().map_while(Step::letter).collect();
        Ok(Self { steps, head, tail: tail.into_iter().rev().collect() })
    }

    /// Whether the whole of `text` matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        text.starts_with(&self.head) && text.ends_with(&self.tail) && Run::new(self).matches(text)
    }
}

impl Step {
    fn letter(&self) -> Option<char> {
        if let Step::One(class) = self { class.letter() } else { None }
    }
}

fn escape(rest: &mut &str) -> Result<Step, String> {
    let step = match rest.chars().next() {
        Some('A') => Step::Start,
        Some('b') => Step::Boundary(true),
        Some('B') => Step::Boundary(false),
        Some('z') => Step::End,
        _ => return Class::escape(rest).map(Step::One),
    };
    *rest = &rest[1..];
    Ok(step)
}

/// One match under way: the steps that may take the next character, all followed at once.
struct Run<'a> {
    steps: &'a [Step],
    active: Vec<usize>,
    pending: Vec<usize>,
}

impl<'a> Run<'a> {
    fn new(program: &'a Program) -> Self {
        Self { steps: &program.steps, active: Vec::with_capacity(8), pending: Vec::with_capacity(8) }
    }

    fn matches(mut self, text: &str) -> bool {
        let mut letters = text.chars().peekable();
        self.reach(0, None, letters.peek().copied());
        let mut entered = Vec::with_capacity(8);
        while let Some(letter) = letters.next() {
            entered.clear();
            entered.extend(self.active.drain(..).filter_map(|at| match &self.steps[at..] {
                [Step::One(class), ..] if class.contains(letter) => Some(at + 1),
                [Step::Many(class), ..] if class.contains(letter) => Some(at),
                _ => None,
            }));
            if entered.is_empty() {
                return false;
            }
            for at in entered.iter().copied() {
                self.reach(at, Some(letter), letters.peek().copied());
            }
        }
        self.active.contains(&self.steps.len())
    }

    /// Makes the step `at` active, and all that it leads to without taking a character.
    fn reach(&mut self, at: usize, before: Option<char>, after: Option<char>) {
        self.pending.push(at);
        while let Some(at) = self.pending.pop() {
            if self.active.contains(&at) {
                continue;
            }
            self.active.push(at);
            let passed = match self.steps.get(at) {
                Some(Step::Boundary(wanted)) => (is_word(before) != is_word(after)) == *wanted,
                Some(Step::End) => after.is_none(),
                Some(Step::Start) => before.is_none(),
                Some(Step::Many(_)) => true,
                Some(Step::Maybe) => {
                    self.pending.push(at + 3);
                    true
                }
                Some(Step::One(_)) | None => false,
            };
            if passed {
                self.pending.push(at + 1);
            }
        }
    }
}

fn is_word(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
