//! What the process is deciding, in a small file beside the database.
//!
//! It has to outlive the process, not a power cut, so one write into the system's cache is enough. As a row of the database it
//! was a second transaction for each batch and cost the drain a fifth of its speed.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use crate::private::private_file;

/// Ends a note: what lies behind it in the file belongs to an earlier, longer one.
const END: u8 = b'\n';

pub(crate) struct NoteFile {
    file: File,
    path: PathBuf,
}

impl NoteFile {
    /// Opens the file, made where it is missing, with what the process before left in it.
    pub(super) fn open(database: &Path) -> io::Result<Self> {
        let mut path = database.as_os_str().to_owned();
        path.push(".deciding");
        let path = PathBuf::from(path);
        Ok(Self { file: private_file(&path)?, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the note. The text has no line breaks. Only whoever holds the one writer writes here.
    pub(crate) fn write(&self, text: &str) -> io::Result<()> {
        let mut note = Vec::with_capacity(text.len() + 1);
        note.extend_from_slice(text.as_bytes());
        note.push(END);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&note)
    }

    /// The note, where there is a whole one: a process that died while it wrote had not begun to decide.
    pub(crate) fn read(&self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        File::open(&self.path)?.read_to_end(&mut bytes)?;
        let note = bytes.iter().position(|byte| *byte == END).map(|end| &bytes[..end]);
        Ok(note.filter(|note| !note.is_empty()).and_then(|note| String::from_utf8(note.to_vec()).ok()))
    }

    pub(crate) fn clear(&self) -> io::Result<()> {
        self.write("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_replaces_the_one_before_and_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("p.db");
        let note = NoteFile::open(&database).unwrap();
        assert_eq!(note.read().unwrap(), None, "a new file");
        note.write("[1,2,3,4,5]").unwrap();
        note.write("[6]").unwrap();
        drop(note);
        let note = NoteFile::open(&database).unwrap();
        assert_eq!(note.read().unwrap().as_deref(), Some("[6]"), "the rest of the longer one does not count");
        note.clear().unwrap();
        assert_eq!(note.read().unwrap(), None);
    }

    #[test]
    fn a_note_that_was_cut_off_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let note = NoteFile::open(&folder.path().join("p.db")).unwrap();
        (&note.file).write_all(b"[1,2").unwrap();
        assert_eq!(note.read().unwrap(), None);
    }
}
