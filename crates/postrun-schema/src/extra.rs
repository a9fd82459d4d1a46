//! Names of the numbers in the `extras` table: what a client recorded of its requests and no column of `requests` holds.
//!
//! An ingestor maps its source's names to these. A number's unit stands at the end of its name; one without is a count. A
//! request for which the client recorded none has no row.

/// A number of a request.
#[derive(Debug, Clone, Copy)]
pub struct Extra {
    /// Its name in the `extras` table.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
}

const fn extra(name: &'static str, doc: &'static str) -> Extra {
    Extra { name, doc }
}

/// Every number that has a name.
pub const EXTRAS: &[Extra] = &[
    extra("http_blocked_ms", "wait for a free connection of the client's pool"),
    extra("http_dns_lookup_ms", "look-up of the server's name"),
    extra("http_connecting_ms", "opening of the connection, with TLS"),
    extra("http_sending_ms", "sending of the request"),
    extra("http_waiting_ms", "end of the sending to the first byte of the response"),
    extra("http_receiving_ms", "first to last byte of the response"),
    extra("http_duration_ms", "sending, waiting and receiving"),
    extra("http_connection_overhead_ms", "what came before the sending: blocked, look-up and connecting"),
    extra("http_total_ms", "all phases of the exchange"),
    extra("http_connection_reused", "1: an open connection was used again, 0: a new one was made"),
    extra("http_writes", "writes to the network"),
    extra("http_reads", "reads from the network; one can bring several chunks, or part of one"),
    extra("http_sent_bytes", "bytes sent"),
    extra("http_received_bytes", "bytes received"),
    extra("context_overflow", "1: the client held the prompt to be too long for the model's context"),
    extra("last_round_trip_ms", "last message sent to last token received, where a request sends several"),
    extra("mean_round_trip_ms", "mean time of receiving less mean time of sending, where a request sends several"),
    extra("predecessor_wait_ms", "wait beyond the intended send for the turn before to end"),
    extra("prompt_text_tokens", "tokens of the text in the request"),
    extra("prompt_words", "words of the text in the request, as the client counts them"),
    extra("prompt_characters", "characters of the text in the request"),
    extra("output_text_tokens", "tokens of the text in the answer"),
    extra("output_words", "words of the text in the answer, as the client counts them"),
    extra("output_characters", "characters of the text in the answer"),
    extra("images", "images in the request"),
    extra("videos", "videos in the request"),
    extra("audios", "audio clips in the request"),
];

/// The number called `name`.
pub fn find_extra(name: &str) -> Option<&'static Extra> {
    EXTRAS.iter().find(|e| e.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> = EXTRAS.iter().map(|e| e.name).collect();
        assert_eq!(names.len(), EXTRAS.len());
    }
}
