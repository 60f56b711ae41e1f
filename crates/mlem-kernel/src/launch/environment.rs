//! Which variables of our environment a launched process may see.

use std::ffi::{OsStr, OsString};

/// Variables that pass, by exact name. Everything else (keys, tokens, proxies with passwords,
/// agents' sockets) stays outside.
const NAMES: &[&str] = &[
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLUMNS",
    "USER",
    "LOGNAME",
    // Where native libraries and devices are found.
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    // How many threads numerical libraries take.
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    // How Python starts; none of them adds code to what runs.
    "PYTHONHASHSEED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUTF8",
    "PYTHONIOENCODING",
    "PYTHONUSERBASE",
    // Certificate stores (files, not secrets).
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
];

/// Variables that pass, by prefix.
const PREFIXES: &[&str] = &["LC_"];

/// The pairs of `variables` that pass the allow-list or are named in `inherited`.
pub(super) fn allowed(
    variables: impl Iterator<Item = (OsString, OsString)>,
    inherited: &[OsString],
) -> Vec<(OsString, OsString)> {
    variables.filter(|(name, _)| passes(name) || inherited.contains(name)).collect()
}

fn passes(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_tokens_stay_outside() {
        let ours =
            ["PATH", "OPENAI_API_KEY", "LC_ALL", "AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY", "SSH_AUTH_SOCK"];
        let kept = allowed(ours.iter().map(|name| (name.into(), "x".into())), &[]);
        let names: Vec<_> = kept.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["PATH", "LC_ALL"]);
    }

    #[test]
    fn a_named_variable_passes() {
        let ours = [("HTTPS_PROXY".into(), "x".into())];
        assert_eq!(allowed(ours.into_iter(), &["HTTPS_PROXY".into()]).len(), 1);
    }
}
