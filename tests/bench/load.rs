//! The load behind a generated result: requests in the order they are sent, each with its own gaps.

/// Mean rate of arrivals, which are Poisson.
pub const ARRIVALS_PER_S: f64 = 24.0;
const MS: f64 = 1e6;
/// Failed requests in 65,536.
const FAILURES: u64 = 66;

/// How much to write.
#[derive(Debug, Clone, Copy)]
pub enum Size {
    /// About this many bytes, within about 1 %.
    Bytes(u64),
    /// The first request to reach this many gaps of successful requests is the last.
    Gaps(u64),
    /// So many requests, all of the same output length.
    Requests {
        /// How many.
        count: u64,
        /// Output tokens of each.
        tokens: u32,
    },
}

/// SplitMix64; its seed.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// In 0..n.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}

/// As Python turns a clock's nanoseconds into seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// How a request ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// Answered.
    Ok,
    /// No answer, by a fault.
    Refused,
    /// No answer, by load.
    Overloaded,
    /// Died in mid-stream: a first token and some gaps, no output length, no latency.
    Broken,
}

/// All requests, without end.
pub struct Load {
    /// Same seed, same requests.
    pub seed: u64,
    /// Decides the output lengths, and where [`crate::totals`] stops.
    pub size: Size,
}

impl Load {
    /// Requests in the order they are sent, without end.
    pub fn requests(&self) -> impl Iterator<Item = Request> {
        let mut clock_ns = 6_797_552_357_927;
        let mut arrivals = Random(self.seed);
        (0u64..).map(move |index| {
            clock_ns += arrivals.exponential(1e9 / ARRIVALS_PER_S) as u64;
            self.request(index, clock_ns)
        })
    }

    fn request(&self, index: u64, start_ns: u64) -> Request {
        let mut random = Random(Random(self.seed ^ index.wrapping_mul(0xd134_2543_de82_ef95)).next());
        let octaves = 9.0 * random.unit();
        let prompt = (16.0 * octaves.exp2()) as u32;
        let output = match self.size {
            Size::Requests { tokens, .. } => tokens,
            _ if random.below(200) == 0 => 1,
            _ => (20.0 + random.exponential(522.0)).min(4096.0) as u32,
        };
        let long = f64::from(prompt) / 8192.0;
        let ttft = 15.0 + 490.0 * long + 200.0 * long * long + random.exponential(20.0 + 80.0 * long);
        // The server is now more, now less busy; a long context makes every step a little slower.
        let busy = 0.5 + 0.5 * (index as f64 / 700.0).sin();
        let pace = 8.0 + 17.0 * (0.5 * busy + 0.2 * octaves / 9.0 + 0.3 * random.unit());
        let fate = match random.below(65_536) {
            n if index == 0 || n >= FAILURES => Fate::Ok,
            n if n < FAILURES / 3 => Fate::Refused,
            n if n < FAILURES * 2 / 3 => Fate::Overloaded,
            _ => Fate::Broken,
        };
        Request {
            prompt,
            output,
            start_ns,
            queue_ns: 60_000 + random.exponential(50_000.0) as u64,
            ttft_ns: (ttft * MS) as u64,
            pace_ns: pace * MS,
            fate,
            seed: random.next(),
        }
    }
}

/// One request; points in time are nanoseconds of the client's clock.
pub struct Request {
    /// Prompt tokens.
    pub prompt: u32,
    /// Output tokens if it ends well, one a chunk.
    pub output: u32,
    /// When it was sent.
    pub start_ns: u64,
    /// How long the client held it back before.
    pub queue_ns: u64,
    ttft_ns: u64,
    pace_ns: f64,
    /// How it ends.
    pub fate: Fate,
    /// Of everything random about its answer.
    pub seed: u64,
}

impl Request {
    /// Answered.
    pub fn ok(&self) -> bool {
        self.fate == Fate::Ok
    }

    /// When its first chunk comes, if it does.
    pub fn first_ns(&self) -> u64 {
        self.start_ns + self.ttft_ns
    }

    /// As recorded, in seconds.
    pub fn ttft(&self) -> f64 {
        match self.fate {
            Fate::Ok | Fate::Broken => seconds(self.first_ns()) - seconds(self.start_ns),
            Fate::Refused | Fate::Overloaded => 0.0,
        }
    }

    /// As recorded, in seconds.
    pub fn latency(&self) -> f64 {
        if self.ok() { seconds(self.end_ns()) - seconds(self.start_ns) } else { 0.0 }
    }

    fn end_ns(&self) -> u64 {
        self.gaps().last().map_or(self.first_ns(), |gap| gap.at_ns)
    }

    /// Between its chunks.
    pub fn gaps(&self) -> Gaps {
        let chunks = match self.fate {
            Fate::Ok => self.output,
            Fate::Broken => self.output / 2,
            Fate::Refused | Fate::Overloaded => 0,
        };
        let random = Random(self.seed);
        Gaps { random, left: chunks.saturating_sub(1), at_ns: self.first_ns(), pace_ns: self.pace_ns }
    }
}

/// From one chunk to the next.
pub struct Gap {
    /// Its length.
    pub ns: u64,
    /// Its length in seconds, as the client computes it.
    pub s: f64,
    /// When the later chunk comes.
    pub at_ns: u64,
}

/// The gaps of one request.
pub struct Gaps {
    random: Random,
    left: u32,
    at_ns: u64,
    pace_ns: f64,
}

impl Iterator for Gaps {
    type Item = Gap;

    fn next(&mut self) -> Option<Gap> {
        self.left = self.left.checked_sub(1)?;
        // Four uniform numbers of 16 bits make a fair bell.
        let bits = self.random.next();
        let bell = [0, 16, 32, 48].map(|shift| (bits >> shift) & 0xffff).iter().sum::<u64>() as f64 / 65_535.0 - 2.0;
        let ns = match self.random.next() >> 48 {
            // Two chunks in one read.
            0..100 => 2_000.0 + self.random.exponential(30_000.0),
            // Another request's prefill came between.
            100..900 => self.pace_ns + (20.0 + self.random.exponential(60.0)) * MS,
            // Preempted.
            900..910 => self.pace_ns + (300.0 + self.random.exponential(400.0)) * MS,
            _ => self.pace_ns * (1.0 + 0.2 * bell),
        } as u64;
        let before = seconds(self.at_ns);
        self.at_ns += ns;
        Some(Gap { ns, s: seconds(self.at_ns) - before, at_ns: self.at_ns })
    }
}
