//! Protocol buffers, as far as a trace needs them: fields are appended to a message, messages to messages.

/// Wire types of the encoding.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;

/// A message under construction.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn new() -> Message {
        Message::default()
    }

    /// A whole number, an enumerator or a truth value.
    pub(crate) fn uint(&mut self, field: u64, value: u64) -> &mut Message {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    /// A number that may be negative (`int32`, `int64`).
    pub(crate) fn int(&mut self, field: u64, value: i64) -> &mut Message {
        self.uint(field, value as u64)
    }

    /// A `fixed64`.
    pub(crate) fn fixed(&mut self, field: u64, value: u64) -> &mut Message {
        self.key(field, FIXED_64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A `double`.
    pub(crate) fn double(&mut self, field: u64, value: f64) -> &mut Message {
        self.fixed(field, value.to_bits())
    }

    /// A string.
    pub(crate) fn text(&mut self, field: u64, value: &str) -> &mut Message {
        self.bytes(field, value.as_bytes())
    }

    /// A message inside this one.
    pub(crate) fn message(&mut self, field: u64, value: &Message) -> &mut Message {
        self.bytes(field, &value.bytes)
    }

    /// True while nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What goes to the wire.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn bytes(&mut self, field: u64, value: &[u8]) -> &mut Message {
        self.key(field, LENGTH);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    fn key(&mut self, field: u64, wire: u64) {
        self.varint(field << 3 | wire);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(build: impl Fn(&mut Message)) -> Vec<u8> {
        let mut message = Message::new();
        build(&mut message);
        message.bytes
    }

    #[test]
    fn bytes_are_those_of_the_encoding_guide() {
        assert_eq!(encoded(|m| _ = m.uint(1, 150)), [0x08, 0x96, 0x01]);
        assert_eq!(encoded(|m| _ = m.text(2, "testing")), [0x12, 7, b't', b'e', b's', b't', b'i', b'n', b'g']);
        assert_eq!(encoded(|m| _ = m.int(1, -2))[1..], [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        assert_eq!(encoded(|m| _ = m.double(1, 1.0)), [0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        let mut inner = Message::new();
        inner.uint(1, 150);
        assert_eq!(encoded(|m| _ = m.message(3, &inner)), [0x1a, 3, 0x08, 0x96, 0x01]);
    }
}
