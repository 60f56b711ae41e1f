use std::fs;

use mlem_notebook::{CellIndex, write_atomic};

use super::{fixture, notebook};

#[test]
fn a_file_is_made_and_replaced_and_nothing_else_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ipynb");
    let mut notebook = notebook("v4_5.ipynb");
    notebook.write_atomic(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), fixture("v4_5.ipynb"));
    notebook.set_source(CellIndex(0), "x");
    notebook.write_atomic(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), notebook.to_text());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_and_a_missing_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().display().to_string();
    let error = notebook("v4_5.ipynb").write_atomic(folder.path()).unwrap_err();
    assert_eq!(error.to_string(), format!("failed to write `{name}`: it is a directory"));
    let error = write_atomic(&folder.path().join("no/a.ipynb"), b"").unwrap_err();
    assert_eq!(error.to_string(), format!("cannot create a file in `{name}/no`: there is no such folder"));
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use mlem_notebook::write_atomic;

    #[test]
    fn permissions_are_kept_and_new_files_follow_the_umask() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let usual = fs::metadata(&path).unwrap().permissions().mode();
        fs::set_permissions(&path, Permissions::from_mode(0o754)).unwrap();
        write_atomic(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o754);
        let fresh = folder.path().join("b");
        write_atomic(&fresh, b"new").unwrap();
        assert_eq!(fs::metadata(&fresh).unwrap().permissions().mode(), usual);
    }

    #[test]
    fn a_read_only_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        assert_eq!(write_atomic(&path, b"new").unwrap_err().to_string(), "the file is read-only");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }

    #[test]
    fn a_link_keeps_pointing_to_the_file_that_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link, dangling) =
            (folder.path().join("target"), folder.path().join("link"), folder.path().join("new"));
        fs::write(&target, "old").unwrap();
        symlink("target", &link).unwrap();
        symlink("made", &dangling).unwrap();
        write_atomic(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        write_atomic(&dangling, b"new").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("made")).unwrap(), "new");
    }

    #[test]
    fn a_circle_of_links_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        assert_eq!(
            write_atomic(&folder.path().join("a"), b"").unwrap_err().to_string(),
            "too many symbolic links"
        );
    }
}
