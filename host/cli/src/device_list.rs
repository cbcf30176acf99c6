//! `--devices`: a list of devices, or all of them.

use super::failure::Failure;
use std::fmt;
use warpstride::cuda::{NoDeviceReason, list_devices};

/// `--devices`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeviceList {
    /// None was named: the first.
    First,
    All,
    Named(Vec<usize>),
}

/// As an option: `--devices 0,2,3`
impl fmt::Display for DeviceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("--devices"),
            Self::All => f.write_str("--devices all"),
            Self::Named(numbers) => write!(f, "--devices {}", list(numbers)),
        }
    }
}

impl DeviceList {
    /// Parses `all`, or a list that names each device once.
    pub(crate) fn from_arg(arg: Option<&str>) -> Result<Self, Failure> {
        Ok(match arg {
            None => Self::First,
            Some("all") => Self::All,
            Some(list) => Self::Named(numbers(list)?),
        })
    }

    /// Checks a list of emulated devices.
    pub(crate) fn check_emulated(&self) -> Result<(), Failure> {
        match self {
            Self::First => Ok(()),
            Self::All => Err(Failure::usage(
                "--devices all: expected a list such as 0,1,2 for --backend emulator, which has any number of devices",
            )),
            Self::Named(numbers) if numbers.iter().copied().eq(0..numbers.len()) => Ok(()),
            Self::Named(numbers) => Err(Failure::usage(format!(
                "--devices {}: expected 0,1,2,… in this order for --backend emulator",
                list(numbers)
            ))),
        }
    }

    /// The number of emulated devices.
    pub(crate) fn emulated(&self) -> usize {
        match self {
            Self::Named(numbers) => numbers.len(),
            Self::First | Self::All => 1,
        }
    }

    /// The numbers of the GPUs.
    pub(crate) fn numbers(&self) -> Result<Vec<usize>, NoDeviceReason> {
        Ok(match self {
            Self::First => vec![0],
            Self::Named(numbers) => numbers.clone(),
            Self::All => {
                let listed = list_devices()?;
                listed.iter().map(|device| device.ordinal).collect()
            }
        })
    }
}

fn list(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    numbers.join(",")
}

/// `0,2,3`: each once.
fn numbers(list: &str) -> Result<Vec<usize>, Failure> {
    let mut numbers = Vec::new();
    for word in list.split(',') {
        let number = word.trim().parse().map_err(|_| {
            Failure::usage(format!(
                "--devices {list}: expected all, or numbers separated by commas such as 0,2,3"
            ))
        })?;
        if numbers.contains(&number) {
            return Err(Failure::usage(format!(
                "--devices {list}: expected each device once, found {number} twice"
            )));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_devices_name_each_once() {
        assert_eq!(numbers("3,0, 12").unwrap(), [3, 0, 12]);
        for list in ["", "1,", "1;2", "-1", "1.0", "2,2"] {
            assert!(matches!(numbers(list), Err(Failure::Usage(_))), "{list}");
        }
    }

    #[test]
    fn emulated_devices_are_numbered_from_0() {
        for (list, devices) in [
            (None, Some(1)),
            (Some("0"), Some(1)),
            (Some("0,1,2"), Some(3)),
        ] {
            let list = DeviceList::from_arg(list).unwrap();
            assert_eq!(
                list.check_emulated().ok().map(|()| list.emulated()),
                devices
            );
        }
        for list in ["all", "3", "1,0", "0,2"] {
            let list = DeviceList::from_arg(Some(list)).unwrap();
            assert!(
                matches!(list.check_emulated(), Err(Failure::Usage(_))),
                "{list}"
            );
        }
    }
}
