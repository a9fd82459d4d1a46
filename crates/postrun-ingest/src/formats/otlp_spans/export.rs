//! OTLP/JSON export requests, walked span by span: whatever the file's layout, one span is in memory at a time.

use crate::json::{JsonReader, Result, Tree};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::Read;

/// Longer texts (prompts, stack traces) are shortened.
const TEXT_BYTES: usize = 512;

/// What stands around a span.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// `service.name` of the resource.
    pub service: String,
    /// Name of the instrumentation scope.
    pub scope: String,
}

/// What an export request carries besides spans.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Seen {
    pub spans: bool,
    pub metrics: bool,
    pub logs: bool,
}

/// What a span did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Server,
    Client,
    Other,
}

/// One span; identities are hashes of the hex texts.
#[derive(Debug)]
pub(crate) struct Span {
    pub identity: u64,
    /// Of the span above it, where it names one.
    pub parent: Option<u64>,
    /// `trace:span`, as text.
    pub id_text: String,
    pub name: String,
    pub kind: SpanKind,
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
    pub attributes: Vec<(String, Tree)>,
    /// Time and name.
    pub events: Vec<(i64, String)>,
    /// The status says that it failed, and perhaps why.
    pub failure: Option<String>,
}

/// The same key whether it is written `startTimeUnixNano` or `start_time_unix_nano`.
fn plain(key: &str) -> String {
    key.bytes().filter(|b| *b != b'_').map(|b| b.to_ascii_lowercase() as char).collect()
}

/// Which signals the keys of an object name.
pub(crate) fn signals<'a>(keys: impl IntoIterator<Item = &'a str>) -> Seen {
    let mut seen = Seen::default();
    for key in keys {
        match plain(key).as_str() {
            "resourcespans" => seen.spans = true,
            "resourcemetrics" => seen.metrics = true,
            "resourcelogs" => seen.logs = true,
            _ => {}
        }
    }
    seen
}

/// Reads one export request and calls `each` with every span.
pub(crate) fn read_request<R: Read>(
    reader: &mut JsonReader<R>,
    each: &mut impl FnMut(&Surroundings, Span, u64),
) -> Result<Seen> {
    let mut seen = Seen::default();
    reader.object(|reader, key| {
        let here = signals([key]);
        seen.spans |= here.spans;
        seen.metrics |= here.metrics;
        seen.logs |= here.logs;
        match here.spans {
            true => objects(reader, |reader| read_resource(reader, each)),
            false => reader.skip_value(),
        }
    })?;
    Ok(seen)
}

/// Calls `each` at every object of an array; other elements are passed over.
fn objects<R: Read>(reader: &mut JsonReader<R>, mut each: impl FnMut(&mut JsonReader<R>) -> Result<()>) -> Result<()> {
    let element = |reader: &mut JsonReader<R>| match reader.peek()? {
        Some(b'{') => each(reader),
        _ => reader.skip_value(),
    };
    reader.array(element).map(drop)
}

fn read_resource<R: Read>(reader: &mut JsonReader<R>, each: &mut impl FnMut(&Surroundings, Span, u64)) -> Result<()> {
    let mut around = Surroundings::default();
    reader.object(|reader, key| match plain(key).as_str() {
        "resource" => {
            let resource = reader.tree(TEXT_BYTES)?;
            let attributes = attributes(resource.get("attributes"));
            around.service = attribute(&attributes, "service.name").text().unwrap_or_default().to_string();
            Ok(())
        }
        "scopespans" | "instrumentationlibraryspans" => objects(reader, |reader| {
            around.scope.clear();
            reader.object(|reader, key| match plain(key).as_str() {
                "scope" | "instrumentationlibrary" => {
                    around.scope = reader.tree(TEXT_BYTES)?.get("name").text().unwrap_or_default().to_string();
                    Ok(())
                }
                "spans" => objects(reader, |reader| {
                    let at = reader.offset();
                    let span = span(reader.tree(TEXT_BYTES)?);
                    each(&around, span, at);
                    Ok(())
                }),
                _ => reader.skip_value(),
            })
        }),
        _ => reader.skip_value(),
    })
}

fn span(tree: Tree) -> Span {
    let Tree::Map(members) = tree else { return span(Tree::Map(Vec::new())) };
    let mut fields: Vec<(String, Tree)> = members.into_iter().map(|(key, value)| (plain(&key), value)).collect();
    let mut take = |key: &str| {
        let found = fields.iter_mut().rev().find(|(name, _)| name == key);
        found.map(|(_, value)| std::mem::take(value)).unwrap_or_default()
    };
    let (trace, id, parent) = (take("traceid"), take("spanid"), take("parentspanid"));
    let text = |tree: &Tree| tree.text().unwrap_or_default().to_ascii_lowercase();
    let (trace, id, parent) = (text(&trace), text(&id), text(&parent));
    let status = take("status");
    Span {
        identity: identity(&trace, &id),
        // Some writers fill in zeros at the root.
        parent: parent.bytes().any(|b| b != b'0').then(|| identity(&trace, &parent)),
        id_text: if trace.is_empty() && id.is_empty() { String::new() } else { format!("{trace}:{id}") },
        name: take("name").text().unwrap_or_default().to_string(),
        kind: kind(&take("kind")),
        start_ns: moment(&take("starttimeunixnano")),
        end_ns: moment(&take("endtimeunixnano")),
        attributes: attributes(&take("attributes")),
        events: events(&take("events")),
        failure: failure(&status),
    }
}

/// The hash is the same in every run and on every machine.
fn identity(trace: &str, span: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (trace, span).hash(&mut hasher);
    hasher.finish()
}

fn kind(tree: &Tree) -> SpanKind {
    match (tree.integer(), tree.text().unwrap_or_default().to_ascii_uppercase().rsplit('_').next()) {
        (Some(2), _) | (_, Some("SERVER")) => SpanKind::Server,
        (Some(3), _) | (_, Some("CLIENT")) => SpanKind::Client,
        _ => SpanKind::Other,
    }
}

/// 0 is how the absence of a time is written.
fn moment(tree: &Tree) -> Option<i64> {
    tree.integer().filter(|ns| *ns > 0)
}

fn failure(status: &Tree) -> Option<String> {
    let code = status.get("code");
    let failed = code.integer() == Some(2) || code.text().is_some_and(|c| c.to_ascii_uppercase().ends_with("ERROR"));
    failed.then(|| status.get("message").text().unwrap_or_default().to_string())
}

fn events(tree: &Tree) -> Vec<(i64, String)> {
    let event = |tree: &Tree| {
        let time = tree.members().iter().find(|(key, _)| plain(key) == "timeunixnano");
        Some((moment(&time?.1)?, tree.get("name").text()?.to_string()))
    };
    tree.elements().iter().filter_map(event).collect()
}

/// `[{key, value: {stringValue}}]` as keys and plain values; also a plain object of them.
fn attributes(tree: &Tree) -> Vec<(String, Tree)> {
    if let Tree::Map(members) = tree {
        return members.clone();
    }
    let pair = |element: &Tree| Some((element.get("key").text()?.to_string(), any_value(element.get("value"))));
    tree.elements().iter().filter_map(pair).collect()
}

fn any_value(value: &Tree) -> Tree {
    let Some((key, inner)) = value.members().first() else { return value.clone() };
    match plain(key).as_str() {
        "arrayvalue" => Tree::List(inner.get("values").elements().iter().map(any_value).collect()),
        _ => inner.clone(),
    }
}

/// The attribute called `key`; null where there is none.
pub(crate) fn attribute<'a>(attributes: &'a [(String, Tree)], key: &str) -> &'a Tree {
    static NOTHING: Tree = Tree::Null;
    attributes.iter().rev().find(|(name, _)| name == key).map_or(&NOTHING, |(_, value)| value)
}

/// The first of `keys` that is there.
pub(crate) fn first_attribute<'a>(attributes: &'a [(String, Tree)], keys: &[&str]) -> &'a Tree {
    static NOTHING: Tree = Tree::Null;
    keys.iter().map(|key| attribute(attributes, key)).find(|tree| **tree != Tree::Null).unwrap_or(&NOTHING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(text: &str) -> Vec<Span> {
        let mut out = Vec::new();
        let mut reader = JsonReader::new(text.as_bytes());
        read_request(&mut reader, &mut |_, span, _| out.push(span)).unwrap();
        out
    }

    #[test]
    fn both_spellings_give_the_same_span() {
        let camel = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"AB","spanId":"01","parentSpanId":"",
            "kind":2,"startTimeUnixNano":"17","endTimeUnixNano":19,"status":{"code":2,"message":"m"},
            "attributes":[{"key":"a","value":{"intValue":"7"}},
                {"key":"b","value":{"arrayValue":{"values":[{"stringValue":"stop"}]}}}]}]}]}]}"#;
        let snake = r#"{"resource_spans":[{"instrumentation_library_spans":[{"spans":[{"trace_id":"ab","span_id":"01",
            "parent_span_id":"0000","kind":"SPAN_KIND_SERVER","start_time_unix_nano":17,"end_time_unix_nano":"19",
            "status":{"code":"STATUS_CODE_ERROR","message":"m"},
            "attributes":{"a":7,"b":["stop"]}}]}]}]}"#;
        for text in [camel, snake] {
            let span = spans(text).pop().unwrap();
            assert_eq!((span.start_ns, span.end_ns, span.kind), (Some(17), Some(19), SpanKind::Server));
            assert_eq!((span.id_text.as_str(), span.parent, span.failure.as_deref()), ("ab:01", None, Some("m")));
            assert_eq!(attribute(&span.attributes, "a").count(), Some(7));
            assert_eq!(attribute(&span.attributes, "b").elements()[0].text(), Some("stop"));
            assert_eq!(span.identity, identity("ab", "01"));
        }
    }
}
