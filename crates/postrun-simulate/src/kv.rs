//! The KV cache: how many blocks each request has, and which common prefixes are still in it.
//!
//! Blocks of a common prefix are counted once, however many requests read them. When the last reader leaves they stay,
//! as free blocks with contents, until someone needs the room: the least recently used prefix goes first.

/// A common prefix in the cache.
#[derive(Debug, Clone, Copy, Default)]
struct Shared {
    blocks: u32,
    resident: bool,
    readers: u32,
    last_use: u64,
    seen: bool,
}

/// The blocks.
#[derive(Debug)]
pub(crate) struct Kv {
    pub block_size: u32,
    pub total: u32,
    own: Vec<u32>,
    reads: Vec<Option<u32>>,
    own_total: u32,
    resident_total: u32,
    pinned_total: u32,
    groups: Vec<Shared>,
    clock: u64,
}

impl Kv {
    pub(crate) fn new(block_size: u32, total: u32, requests: usize, groups: u32) -> Kv {
        Kv {
            block_size,
            total,
            own: vec![0; requests],
            reads: vec![None; requests],
            own_total: 0,
            resident_total: 0,
            pinned_total: 0,
            groups: vec![Shared::default(); groups as usize],
            clock: 0,
        }
    }

    /// Blocks in use (free blocks with contents do not count).
    pub(crate) fn used(&self) -> u32 {
        self.own_total + self.pinned_total
    }

    fn shared_blocks(&self, request: usize) -> u32 {
        self.reads[request].map_or(0, |g| self.groups[g as usize].blocks)
    }

    /// Whether a request, holding what it holds, could have room for `tokens`.
    fn missing(&self, request: usize, tokens: u32) -> u32 {
        tokens.div_ceil(self.block_size).saturating_sub(self.shared_blocks(request) + self.own[request])
    }

    /// Makes room for `tokens` of a request; false (and nothing done) if there is none.
    pub(crate) fn grow(&mut self, request: usize, tokens: u32) -> bool {
        let missing = self.missing(request, tokens);
        if missing > self.total - self.used() {
            return false;
        }
        while missing > self.total - self.own_total - self.resident_total {
            self.evict_one();
        }
        self.own[request] += missing;
        self.own_total += missing;
        true
    }

    fn evict_one(&mut self) {
        let idle = self.groups.iter_mut().filter(|g| g.resident && g.readers == 0);
        match idle.min_by_key(|g| g.last_use) {
            Some(group) => {
                self.resident_total -= group.blocks;
                group.resident = false;
                group.blocks = 0;
            }
            // Cannot happen: what is resident is idle or pinned. Ends the caller's loop all the same.
            None => self.resident_total = self.pinned_total,
        }
    }

    /// Attaches a request to a prefix that is in the cache; returns the tokens it need not compute.
    pub(crate) fn attach(&mut self, request: usize, group: u32, prompt: u32) -> u32 {
        self.clock += 1;
        let block_size = self.block_size;
        let Some(shared) = self.groups.get_mut(group as usize).filter(|g| g.resident) else { return 0 };
        // The last token of a prompt is always computed.
        if shared.blocks * block_size >= prompt {
            return 0;
        }
        shared.last_use = self.clock;
        if shared.readers == 0 {
            self.pinned_total += shared.blocks;
        }
        shared.readers += 1;
        self.reads[request] = Some(group);
        shared.blocks * block_size
    }

    /// Makes the whole blocks of a request's computed prefix shared, unless another copy is there already.
    pub(crate) fn publish(&mut self, request: usize, group: u32, prefix_tokens: u32) {
        self.clock += 1;
        let blocks = prefix_tokens / self.block_size;
        if self.reads[request].is_some() || blocks == 0 || blocks > self.own[request] {
            return;
        }
        let Some(shared) = self.groups.get_mut(group as usize).filter(|g| !g.resident) else { return };
        *shared = Shared { blocks, resident: true, readers: 1, last_use: self.clock, seen: shared.seen };
        self.own[request] -= blocks;
        self.own_total -= blocks;
        self.resident_total += blocks;
        self.pinned_total += blocks;
        self.reads[request] = Some(group);
    }

    /// Gives all blocks of a request back; returns how many it had to itself.
    pub(crate) fn free(&mut self, request: usize) -> u32 {
        let own = std::mem::take(&mut self.own[request]);
        self.own_total -= own;
        if let Some(group) = self.reads[request].take() {
            let shared = &mut self.groups[group as usize];
            shared.readers -= 1;
            if shared.readers == 0 {
                self.pinned_total -= shared.blocks;
            }
        }
        own
    }

    /// Whether any request with this prefix came before; remembers this one.
    pub(crate) fn seen_before(&mut self, group: u32) -> bool {
        self.groups.get_mut(group as usize).is_some_and(|g| std::mem::replace(&mut g.seen, true))
    }

    /// Blocks that each kind of holder has, against the total: for tests.
    #[cfg(test)]
    pub(crate) fn consistent(&self) -> bool {
        let own: u32 = self.own.iter().sum();
        let resident: u32 = self.groups.iter().filter(|g| g.resident).map(|g| g.blocks).sum();
        let pinned: u32 = self.groups.iter().filter(|g| g.readers > 0).map(|g| g.blocks).sum();
        own == self.own_total
            && resident == self.resident_total
            && pinned == self.pinned_total
            && own + resident <= self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_by_blocks_until_full() {
        let mut kv = Kv::new(16, 4, 2, 1);
        assert!(kv.grow(0, 17) && kv.used() == 2);
        assert!(kv.grow(0, 32) && kv.used() == 2);
        assert!(!kv.grow(1, 33));
        assert!(kv.grow(1, 32) && kv.used() == 4);
        assert!(!kv.grow(0, 33));
        assert_eq!(kv.free(1), 2);
        assert!(kv.grow(0, 33) && kv.used() == 3 && kv.consistent());
    }

    #[test]
    fn a_prefix_is_counted_once_and_evicted_when_idle() {
        let mut kv = Kv::new(16, 6, 3, 2);
        assert_eq!(kv.attach(0, 0, 80), 0);
        assert!(kv.grow(0, 80));
        kv.publish(0, 0, 64);
        assert!(kv.used() == 5 && kv.consistent());
        assert_eq!(kv.attach(1, 0, 80), 64);
        assert!(kv.grow(1, 80) && kv.used() == 6);
        kv.free(0);
        assert_eq!(kv.used(), 5);
        kv.free(1);
        assert!(kv.used() == 0 && kv.consistent());
        assert!(kv.grow(2, 96) && kv.used() == 6 && kv.consistent());
        assert_eq!(kv.attach(1, 0, 80), 0);
        assert!(!kv.seen_before(1) && kv.seen_before(1));
    }
}
