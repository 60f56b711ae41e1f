//! Contents by hash: small ones in the database, large ones in files beside it.

use std::fmt;
use std::fmt::Write as _;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::Ledger;
use crate::error::LedgerError;

/// Contents above this many bytes go to a file; SQLite reads and writes smaller ones faster than
/// the file system does (<https://www.sqlite.org/intern-v-extern-blob.html>).
const LARGE: usize = 32 * 1024;

/// SHA-256 of a content, in lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct BlobHash(pub(crate) String);

impl BlobHash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> BlobHash {
        let mut text = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        BlobHash(text)
    }

    /// The 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Ledger {
    /// Stores a content; the same bytes are stored once.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<BlobHash, LedgerError> {
        self.write(|connection| self.put_blob_in(connection, bytes))
    }

    /// The bytes of a stored content, or `None` if the ledger does not know the hash.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Blob`] if the file is gone or its bytes do not have this hash.
    pub fn blob(&self, hash: &BlobHash) -> Result<Option<Vec<u8>>, LedgerError> {
        let row = {
            let connection = self.lock();
            self.sql(
                connection
                    .query_row("SELECT content FROM blobs WHERE sha256 = ?1", [hash.as_str()], |row| {
                        row.get::<_, Option<Vec<u8>>>(0)
                    })
                    .optional(),
            )?
        };
        match row {
            None => Ok(None),
            Some(Some(content)) => Ok(Some(content)),
            Some(None) => {
                let path = self.blob_path(hash);
                let wrong = |reason: String| LedgerError::Blob { path: path.clone(), reason };
                let bytes = std::fs::read(&path).map_err(|e| wrong(e.to_string()))?;
                if BlobHash::of(&bytes) != *hash {
                    return Err(wrong("the content was changed after it was recorded".into()));
                }
                Ok(Some(bytes))
            }
        }
    }

    /// Within a transaction of the caller. The file is complete on disk before the row exists.
    pub(crate) fn put_blob_in(&self, connection: &Connection, bytes: &[u8]) -> Result<BlobHash, LedgerError> {
        let hash = BlobHash::of(bytes);
        let known = self.sql(
            connection
                .query_row("SELECT 1 FROM blobs WHERE sha256 = ?1", [hash.as_str()], |_| Ok(()))
                .optional(),
        )?;
        if known.is_some() {
            return Ok(hash);
        }
        let content = if bytes.len() > LARGE {
            self.write_blob_file(&hash, bytes)?;
            None
        } else {
            Some(bytes)
        };
        self.sql(connection.execute(
            "INSERT INTO blobs (sha256, size, content) VALUES (?1, ?2, ?3)",
            params![hash.as_str(), bytes.len() as i64, content],
        ))?;
        Ok(hash)
    }

    fn blob_path(&self, hash: &BlobHash) -> PathBuf {
        let (folder, name) = hash.0.split_at(2);
        self.folder.join("blobs").join(folder).join(name)
    }

    fn write_blob_file(&self, hash: &BlobHash, bytes: &[u8]) -> Result<(), LedgerError> {
        let path = self.blob_path(hash);
        let fail = |e| LedgerError::from_io(&path, e);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        mlem_notebook::write_atomic(&path, bytes).map_err(fail)
    }
}
