//! Expected values were read from pandas 2.2.3 (`pd.read_csv(…, float_precision="round_trip")`).

use super::*;

fn parse(text: &str) -> Table {
    Table::parse(text.as_bytes().to_vec()).unwrap()
}

fn shown(table: &Table, name: &str) -> Vec<String> {
    let column = table.column(name).unwrap();
    (0..table.rows()).map(|row| column.printed(row).into_owned()).collect()
}

#[test]
fn columns_get_the_type_that_pandas_infers() {
    let table = parse("i,f,n,b,t,e\n1,1.5,1,True,x,\n-2,inf,,FALSE,2,NA\n");
    let kinds = ["i", "f", "n", "b", "t", "e"].map(|name| table.column(name).unwrap().kind());
    assert_eq!(kinds, ["integers", "numbers", "numbers", "booleans", "text", "numbers"]);
    assert_eq!(shown(&table, "n"), ["1.0", "nan"]);
    assert_eq!(shown(&table, "t"), ["x", "2"]);
}

#[test]
fn numbers_beyond_64_bits_and_booleans_with_a_gap_are_text() {
    let table = parse(
        "u,b,m,s,f\n99999999999999999999,True,99999999999999999999,9223372036854775808,1.5\n1,,1.5,0.5,99999999999999999999\n",
    );
    let kinds = ["u", "b", "m", "s", "f"].map(|name| table.column(name).unwrap().kind());
    assert_eq!(kinds, ["text", "text", "text", "numbers", "numbers"]);
    assert_eq!(shown(&table, "f"), ["1.5", "1e+20"]);
}

#[test]
fn quotes_line_ends_and_blank_lines() {
    let table = parse("\u{feff}\"id\",\"a \"\"b\"\"\"\r\n\r\n1,\"x,\ny\"\r\n  \n2,\"p\"q\r3,r\"s\n");
    assert_eq!(table.names(), ["id", "a \"b\""]);
    assert_eq!(shown(&table, "id"), ["1", "2", "3"]);
    assert_eq!(shown(&table, "a \"b\""), ["x,\ny", "pq", "r\"s"]);
}

#[test]
fn cells_end_at_a_nul() {
    let table = parse("a,b\nx\0y,1\n\0,2\n");
    assert_eq!(shown(&table, "a"), ["x", "nan"]);
}

#[test]
fn short_lines_are_padded_and_long_ones_refused() {
    let table = parse("a,b\n1\n2,3\n");
    assert_eq!(shown(&table, "b"), ["nan", "3.0"]);
    let error = Table::parse(b"a,b\n1,2\n\n3,4,5\n".to_vec()).unwrap_err();
    assert_eq!(error.to_string(), "line 4 has 3 cells where 2 are expected");
}

#[test]
fn a_longer_first_line_makes_an_index() {
    let table = parse("a,b\n9,1,2\n8,3\n");
    assert_eq!((shown(&table, "a"), shown(&table, "b")), (strings(&["1", "3"]), strings(&["2.0", "nan"])));
}

fn strings(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

#[test]
fn repeated_and_empty_names() {
    assert_eq!(parse("a,,a,a.1,a\n").names(), ["a", "Unnamed: 1", "a.2", "a.1", "a.3"]);
}

#[test]
fn files_that_are_no_table() {
    assert!(matches!(Table::parse(Vec::new()), Err(TableError::Empty)));
    assert!(matches!(Table::parse(b" \n\r\n".to_vec()), Err(TableError::Empty)));
    assert!(matches!(Table::parse(b"a,b\n1,\"x\n".to_vec()), Err(TableError::OpenQuote { line: 2 })));
    let error = Table::parse(b"a\n1\n\xff\n".to_vec()).unwrap_err();
    assert!(matches!(error, TableError::Encoding { at: 4, line: 3 }), "{error}");
    assert_eq!(parse("a,b\n").rows(), 0);
}

#[test]
fn rows_beyond_those_of_use_are_not_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.csv");
    std::fs::write(&path, "a,b\n1,2\n3,4\n5,6,7,8\n").unwrap();
    let read = |rows| Table::read_rows(&path, DEFAULT_MAX_BYTES, rows);
    assert!(matches!(read(2), Err(TableError::Rows { limit: 2 })));
    assert!(matches!(read(3), Err(TableError::Ragged { line: 4, .. })));
}

#[test]
fn a_file_beyond_the_limit_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.csv");
    File::create(&path).unwrap().set_len(2 << 30).unwrap();
    let error = Table::read(&path, DEFAULT_MAX_BYTES).unwrap_err();
    assert!(matches!(error, TableError::TooLarge { bytes: 2_147_483_648, limit: 1_073_741_824 }), "{error}");
    assert!(matches!(Table::read(&folder.path().join("absent"), 1), Err(TableError::Absent)));
}

fn keys<'t>(table: &'t Table, name: &str) -> KeyColumn<'t> {
    KeyColumn::new(table.column(name).unwrap())
}

#[test]
fn rows_are_paired_by_id() {
    let (submission, answers) = (parse("id\nb\na\nc\na\n"), parse("id\na\na\nb\nc\n"));
    assert_eq!(pair(&keys(&submission, "id"), &keys(&answers, "id")), Ok(vec![1, 3, 0, 2]));
    let (submission, answers) = (parse("id\n2.0\n1.0\n"), parse("id\n1\n2\n"));
    assert_eq!(pair(&keys(&submission, "id"), &keys(&answers, "id")), Ok(vec![1, 0]));
}

#[test]
fn mismatches_name_the_row() {
    let reason = |submission: &str, answers: &str| {
        let (submission, answers) = (parse(submission), parse(answers));
        pair(&keys(&submission, "id"), &keys(&answers, "id")).unwrap_err().to_string()
    };
    assert_eq!(reason("id\n1\n2\n1\n", "id\n1\n2\n3\n"), "row 3: id 1 appears again, first at row 1");
    assert_eq!(
        reason("id\nx\ny\n", "id\nx\nz\n"),
        "row 2: id `y` is not among the answers' ids (1 such rows; 1 ids of the answers are not in the submission)"
    );
    assert!(reason("id\n1\n2\n", "id\nx\ny\n").ends_with("ids are numbers, the answers' are text"));
    assert_eq!(reason("id,b\n1,2\n,3\n", "id\n1\n2\n"), "row 2: the id is missing");
    assert_eq!(reason("id\n1\n", "id\n1\n2\n"), "1 of the 2 ids of the answers are not in the submission");
}

#[test]
fn ranks_ignore_what_the_ids_are() {
    let (submission, answers) = (parse("id\n30\n10\n20\n"), parse("id\nb\na\nc\n"));
    assert_eq!(pair_by_rank(&keys(&submission, "id"), &keys(&answers, "id")), [2, 1, 0]);
}
