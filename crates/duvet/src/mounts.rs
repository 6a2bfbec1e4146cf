//! Which folders tell of every change in them.
//!
//! The kernel reports what is written through it. On a network file system another machine writes too, in a union of
//! folders somebody may write to the layer below, and a file system in user space says what it likes: a watch of those is
//! quiet while files change. So only file systems that are known to be written here and nowhere else are watched.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// File systems whose files change through this kernel only.
const LOCAL: &[&str] = &[
    "apfs", "bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfs", "hfsplus",
    "iso9660", "jfs", "nilfs2", "ntfs", "ntfs3", "ramfs", "reiserfs", "rootfs", "squashfs", "tmpfs", "udf",
    "vfat", "xfs", "zfs",
];

/// Whether a watch of a folder and everything below it hears of every change. What cannot be found out is a no.
pub(crate) fn tell_of_changes(folder: &Path) -> bool {
    if !cfg!(target_os = "linux") {
        // There is no such list, and the watcher's own word has to do.
        return true;
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo");
    match (mounts, folder.canonicalize()) {
        (Ok(mounts), Ok(folder)) => are_local(&mounts, &folder),
        _ => false,
    }
}

/// Whether the file system a folder lies on and all that are mounted below it are local.
fn are_local(mounts: &str, folder: &Path) -> bool {
    let mounts: Vec<(PathBuf, &str)> = mounts.lines().filter_map(mount).collect();
    // Of several at one place the last one is seen.
    let above = mounts.iter().filter(|(point, _)| folder.starts_with(point));
    let own = above.max_by_key(|(point, _)| point.components().count());
    let below = mounts
        .iter()
        .filter(|(point, _)| point.starts_with(folder) && point != folder);
    let is_local = |(_, kind): &(PathBuf, &str)| LOCAL.contains(kind);
    own.is_some_and(is_local) && below.into_iter().all(is_local)
}

/// Where a file system is mounted and of which kind it is: `36 35 98:0 /from /to rw,noatime master:1 - ext4 /dev/sda rw`.
fn mount(line: &str) -> Option<(PathBuf, &str)> {
    let (place, source) = line.split_once(" - ")?;
    let point = unescape(place.split(' ').nth(4)?);
    Some((point, source.split(' ').next()?))
}

/// Blanks and the like are written as a backslash and three octal digits.
fn unescape(name: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let value = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        rest = if value.is_some() { &after[3..] } else { after };
        bytes.push(value.unwrap_or(*first));
    }
    PathBuf::from(name_of(bytes))
}

#[cfg(unix)]
fn name_of(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn name_of(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
        30 27 0:40 / /home rw - nfs4 server:/home rw\n\
        31 30 0:41 / /home/me/fast\\040disk rw - xfs /dev/vdb rw\n\
        32 27 0:42 / /data/project/vendor rw shared:3 master:1 - fuse.sshfs there:/vendor rw\n\
        33 27 0:43 / /box rw - overlay overlay rw,lowerdir=/a - b\n\
        34 27 0:44 / /twice rw - ext4 /dev/vdc rw\n\
        35 34 0:45 / /twice rw - 9p host rw\n\
        36 27 0:46 / /strange rw - newfs x rw\n";

    //= specs/duvet.md#freshness
    //= type=test
    //# A project on a file system that others may change without this machine's kernel MUST be read anew for each answer.
    #[test]
    fn only_what_changes_through_this_kernel_is_watched() {
        let watched = |folder: &str| are_local(MOUNTS, Path::new(folder));
        assert!(watched("/data/other"));
        assert!(watched("/home/me/fast disk/project"));
        assert!(watched("/homeless"), "a name that begins alike is another folder");
        assert!(!watched("/home/me/project"), "network");
        assert!(!watched("/home/me"), "network, with a local disk in it");
        assert!(!watched("/data/project"), "something in user space below it");
        assert!(!watched("/data"), "the same, deeper");
        assert!(!watched("/box/project"), "layers");
        assert!(!watched("/twice/project"), "the later mount hides the first");
        assert!(!watched("/strange"), "nobody knows");
        assert!(!are_local("", Path::new("/data")), "no list");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_list_of_this_machine_can_be_read() {
        assert!(
            !tell_of_changes(Path::new("/proc/self")),
            "the kernel makes those up"
        );
        if Path::new("/dev/shm").is_dir() {
            assert!(tell_of_changes(Path::new("/dev/shm")));
        }
    }
}
