//! Changes a text by chance, the same chance in every run: bits, stretches, numbers, and words that hurt.

/// What numbers, texts and brackets become.
const WORDS: &[&str] = &[
    "0",
    "-0",
    "-1",
    "1e999",
    "-1e308",
    "4e-324",
    "NaN",
    "-Infinity",
    "null",
    "true",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "65536",
    "1764481545.123456789",
    "1e18",
    "\"",
    "\\",
    "\\ud800",
    "\\u0000",
    "{",
    "}",
    "[",
    "]",
    "[[[[[[[[",
    "{}",
    "[]",
    ",",
    ":",
    "=",
    "'",
    "\n",
    "\r\n",
    "\t",
    " ",
    ";",
    "\u{feff}",
    "é",
    "2026-01-02T03:04:05Z",
    "9999-12-31 23:59:59",
    "0000-00-00",
    "PAR1",
    "#",
    "(",
    ")",
    "not ",
    "..",
];

/// A source of changes.
pub struct Mutator(u64);

impl Mutator {
    /// The same name, the same changes.
    pub fn new(name: &str) -> Mutator {
        let mixed = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Mutator(name.bytes().fold(0xcbf2_9ce4_8422_2325, mixed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`; 0 where that is 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Up to so many bytes, whole groups of four.
    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let groups = 1 + self.below(most / 4);
        (0..groups).flat_map(|_| (self.next() as u32).to_le_bytes()).collect()
    }

    /// `text` with one to four changes.
    pub fn mutated(&mut self, text: &[u8]) -> Vec<u8> {
        let mut out = text.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut out);
        }
        out
    }

    fn change(&mut self, text: &mut Vec<u8>) {
        let at = self.below(text.len());
        let word = WORDS[self.below(WORDS.len())].bytes();
        match self.below(8) {
            0 if !text.is_empty() => text[at] ^= 1 << self.below(8),
            1 if !text.is_empty() => text[at] = self.next() as u8,
            2 => drop(text.drain(self.stretch(at, text.len()))),
            3 => {
                let again = text[self.stretch(at, text.len())].to_vec();
                let to = self.below(text.len());
                text.splice(to..to, again);
            }
            4 => text.truncate(at),
            5 => drop(text.splice(at..at, word)),
            _ => drop(text.splice(number(text, at), word)),
        }
    }

    /// From `at` on; mostly short.
    fn stretch(&mut self, at: usize, len: usize) -> std::ops::Range<usize> {
        let most = [8, 64, 1024][self.below(3)];
        at..(at + self.below(most)).min(len)
    }
}

/// The first number behind `at`; nothing where there is none.
fn number(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = text[at..].iter().position(u8::is_ascii_digit).map_or(text.len(), |found| at + found);
    let digits = text[start..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.');
    start..start + digits.count()
}
