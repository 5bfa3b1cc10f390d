//! How connections to a cluster of NATS are protected: `[collect.tls]`, or `tls = "no"`.
//!
//! Owns this key, and that nothing goes in clear to another machine before somebody has said that it may. The files are
//! read, and connections made, by `collect::nats`.

use std::collections::BTreeMap;
use std::path::Path;

use collect::nats::{Protection, TlsFiles, is_loopback};
use toml::de::DeValue;

use super::draft::Maybe;
use super::problem::{Kind, Problem};
use super::section::{At, Section};

/// The keys of `[collect.tls]`, each with an example.
const FILES: [(&str, &str); 3] =
    [("authority", "\"nats/ca.pem\""), ("certificate", "\"nats/own.pem\""), ("key", "\"nats/own.key\"")];

/// What a deployment says of it: `None` = nothing.
pub(super) struct ProtectionDraft(Maybe<Said>);

enum Said {
    /// There is to be no TLS.
    No,
    /// Authority, certificate, key.
    Files([Maybe<String>; 3]),
}

/// Reads the key of `[collect]` that is about it.
pub(super) fn read(collect: &mut Section<'_>, problems: &mut Vec<Problem>) -> ProtectionDraft {
    let Some(value) = collect.take("tls") else { return ProtectionDraft(None) };
    let span = value.span();
    let said = match value.get_ref() {
        DeValue::Table(table) => {
            let mut section = Section::new("collect.tls".into(), table, span.clone());
            section.require(&FILES, problems);
            let files = FILES.map(|(key, example)| section.text(key, example, problems));
            section.finish(problems);
            Said::Files(files)
        }
        DeValue::String(text) => {
            if **text != *"no" {
                let (found, expected) = (text.to_string(), "`no`, or a table that names files".into());
                let kind = Kind::Unfit { what: "tls", found, expected, example: "no" };
                problems.push(Problem { span: span.clone(), kind });
            }
            Said::No
        }
        // It is neither: that is reported.
        _ => {
            let none =
                collect.text("tls", "\"no\"", problems).map(|At { span, .. }| At { value: Said::No, span });
            return ProtectionDraft(none);
        }
    };
    ProtectionDraft(Some(At { value: said, span }))
}

impl ProtectionDraft {
    /// Checks it beside the other keys, for a cluster where `is_shared`: whether its servers may be where they are.
    pub(super) fn check(&self, is_shared: bool, servers: &[At<String>], problems: &mut Vec<Problem>) {
        match &self.0 {
            Some(said) if !is_shared => {
                let kind = Kind::Alone { key: "tls", other: "transport = \"nats\"" };
                problems.push(Problem { span: said.span.clone(), kind });
            }
            Some(_) => {}
            None => {
                for server in servers.iter().filter(|server| !is_loopback(&server.value)) {
                    let kind = Kind::Unfit {
                        what: "the address of a server",
                        found: server.value.clone(),
                        expected: "one of this machine, or the files of `[collect.tls]`, or `tls = \"no\"` where nobody \
                                   else comes by"
                            .into(),
                        example: "nats://127.0.0.1:4222",
                    };
                    problems.push(Problem { span: server.span.clone(), kind });
                }
            }
        }
    }

    /// The checked value, with files below `folder`; `None` when there was a problem.
    pub(super) fn finish(&self, folder: &Path) -> Option<Protection> {
        let file = |text: &Maybe<String>| Some(folder.join(&text.as_ref()?.value));
        Some(match self.0.as_ref().map(|said| &said.value) {
            None => Protection::Loopback,
            Some(Said::No) => Protection::Plain,
            Some(Said::Files([authority, certificate, key])) => Protection::Tls(TlsFiles {
                authority: file(authority)?,
                certificate: file(certificate)?,
                key: file(key)?,
            }),
        })
    }
}

/// The files by their keys, as a description of a deployment has them.
pub(super) fn described(files: &TlsFiles) -> BTreeMap<&'static str, &Path> {
    let TlsFiles { authority, certificate, key } = files;
    FILES.map(|(key, _)| key).into_iter().zip([&**authority, &**certificate, &**key]).collect()
}
