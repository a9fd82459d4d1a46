//! Puts a folder in the place of another one, so that whoever looks finds the old or the new one, whole.

use std::io;
use std::path::Path;

/// Puts `new` where `old` is, and `old` where `new` was. One step where the system can do that; a process killed at any
/// moment leaves both.
pub(crate) fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    match in_one_step(new, old) {
        Err(e) if cannot(&e) => by_steps(new, old),
        done => done,
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn in_one_step(new: &Path, old: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn in_one_step(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// True where system or file system do not know the single step.
fn cannot(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
}

/// Between the steps neither lies at the place, but both are kept.
fn by_steps(new: &Path, old: &Path) -> io::Result<()> {
    let mut aside = new.as_os_str().to_os_string();
    aside.push(".replaced");
    std::fs::rename(old, &aside)?;
    if let Err(e) = std::fs::rename(new, old) {
        std::fs::rename(&aside, old)?;
        return Err(e);
    }
    std::fs::rename(&aside, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_exchange_folders_and_lose_none() {
        for way in [exchange, by_steps] {
            let dir = tempfile::tempdir().unwrap();
            let (new, old) = (dir.path().join("new"), dir.path().join("old"));
            for (folder, text) in [(&new, "new"), (&old, "old")] {
                std::fs::create_dir(folder).unwrap();
                std::fs::write(folder.join("file"), text).unwrap();
            }
            way(&new, &old).unwrap();
            assert_eq!(std::fs::read_to_string(old.join("file")).unwrap(), "new");
            assert_eq!(std::fs::read_to_string(new.join("file")).unwrap(), "old");
            assert!(way(&dir.path().join("none"), &old).is_err());
            assert_eq!(std::fs::read_to_string(old.join("file")).unwrap(), "new", "what was there stays");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        }
    }
}
