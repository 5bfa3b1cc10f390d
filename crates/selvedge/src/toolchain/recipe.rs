//! The list of sources of the node's image, and every file that could get into it.
//!
//! Owns the format of `firmware/node/sources.txt`; what is done with it is `toolchain`'s.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Fault, failed};
use crate::error::Error;

/// The list of sources: a word and its value on each line, `#` before a comment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Sources are relative to it.
    pub folder: PathBuf,
    /// For every call of the compiler.
    pub flags: Vec<String>,
    /// For the linking one.
    pub links: Vec<String>,
    pub sources: Vec<String>,
}

impl Recipe {
    pub fn read(path: &Path) -> Result<Recipe, Error> {
        let text = fs::read_to_string(path).map_err(failed("read", path))?;
        // Absolute, because the compiler runs elsewhere.
        let folder = path.parent().unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(failed("find", folder))?;
        Recipe::parse(path, folder, &text).map_err(Error::Toolchain)
    }

    fn parse(path: &Path, folder: PathBuf, text: &str) -> Result<Recipe, Fault> {
        let mut recipe = Recipe { folder, ..Recipe::default() };
        for (index, line) in text.lines().enumerate() {
            let mut words = line.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (None, ..) => {}
                (Some(word), ..) if word.starts_with('#') => {}
                (Some("flag"), Some(value), None) => recipe.flags.push(value.into()),
                (Some("link"), Some(value), None) => recipe.links.push(value.into()),
                (Some("source"), Some(value), None) => recipe.sources.push(value.into()),
                _ => return Err(Fault::Recipe { path: path.into(), line: index + 1, found: line.into() }),
            }
        }
        Ok(recipe)
    }

    /// Every file of the folders that hold a source, and of this one: what a source may include.
    pub fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let sources = self.sources.iter().map(|source| self.folder.join(source));
        let mut folders: Vec<_> =
            sources.filter_map(|source| source.parent().map(Path::to_path_buf)).collect();
        folders.push(self.folder.clone());
        for folder in &mut folders {
            *folder = folder.canonicalize().map_err(failed("find", folder))?;
        }
        folders.sort();
        folders.dedup();
        let mut files = Vec::new();
        for folder in folders {
            for entry in fs::read_dir(&folder).map_err(failed("list", &folder))? {
                let path = entry.map_err(failed("list", &folder))?.path();
                let code =
                    path.extension().is_some_and(|extension| ["c", "h", "S"].iter().any(|e| extension == *e));
                if code && path.is_file() {
                    files.push(path);
                }
            }
        }
        files.sort();
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_of_the_list_that_means_nothing_is_named() {
        let parse = |text| Recipe::parse(Path::new("sources.txt"), PathBuf::new(), text);
        let recipe = parse("# the list\n\nflag -Os\nlink -s\nsource a.c\nsource ../b.S\n").unwrap();
        assert_eq!((recipe.flags, recipe.links), (vec!["-Os".to_string()], vec!["-s".to_string()]));
        assert_eq!(recipe.sources, ["a.c", "../b.S"]);
        let fault =
            |line, found: &str| Fault::Recipe { path: "sources.txt".into(), line, found: found.into() };
        let refused = |text| parse(text).expect_err("it is none").to_string();
        assert_eq!(refused("flag -Os\nsauce a.c"), fault(2, "sauce a.c").to_string());
        assert_eq!(refused("flag -O -s"), fault(1, "flag -O -s").to_string());
        assert_eq!(refused("source"), fault(1, "source").to_string());
    }

    proptest! {
        #[test]
        fn any_list_has_an_answer(text in ".*") {
            let _ = Recipe::parse(Path::new("sources.txt"), PathBuf::new(), &text);
        }
    }
}
