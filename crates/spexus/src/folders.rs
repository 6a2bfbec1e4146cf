//! Where a person's data and settings live, by the custom of the system: XDG on Linux, `Application Support` on macOS, `AppData` on
//! Windows.

use std::path::{Path, PathBuf};

const NAME: &str = "spexus";

/// Where this program keeps things.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Folders {
    pub(crate) data: PathBuf,
    pub(crate) config: PathBuf,
}

impl Folders {
    /// Those of whoever runs the process; `None` without a home folder.
    pub(crate) fn of_process() -> Option<Self> {
        let home = home()?;
        Some(Self::of(&home, std::env::consts::OS, |name| {
            std::env::var_os(name).map(PathBuf::from)
        }))
    }

    fn of(home: &Path, system: &str, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        // XDG says: a path that is not absolute is as good as none.
        let set = |name: &str, usual: &str| {
            let set = variable(name).filter(|path| path.is_absolute());
            set.unwrap_or_else(|| home.join(usual)).join(NAME)
        };
        let both = |folder: PathBuf| Self {
            data: folder.clone(),
            config: folder,
        };
        match system {
            "macos" => both(home.join("Library/Application Support").join(NAME)),
            "windows" => {
                let folder = set("APPDATA", "AppData/Roaming");
                Self {
                    data: folder.join("data"),
                    config: folder.join("config"),
                }
            }
            _ => Self {
                data: set("XDG_DATA_HOME", ".local/share"),
                config: set("XDG_CONFIG_HOME", ".config"),
            },
        }
    }
}

/// The home folder of whoever runs the process.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(system: &str, variables: &[(&str, &str)], data: &str, config: &str) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        let expected = Folders {
            data: data.into(),
            config: config.into(),
        };
        assert_eq!(
            Folders::of(Path::new("/home/you"), system, variable),
            expected,
            "{system}"
        );
    }

    #[test]
    fn each_system_has_its_custom() {
        check(
            "linux",
            &[],
            "/home/you/.local/share/spexus",
            "/home/you/.config/spexus",
        );
        check(
            "linux",
            &[("XDG_DATA_HOME", "/data"), ("XDG_CONFIG_HOME", "not/absolute")],
            "/data/spexus",
            "/home/you/.config/spexus",
        );
        let support = "/home/you/Library/Application Support/spexus";
        check("macos", &[("XDG_DATA_HOME", "/data")], support, support);
        check(
            "windows",
            &[],
            "/home/you/AppData/Roaming/spexus/data",
            "/home/you/AppData/Roaming/spexus/config",
        );
    }
}
