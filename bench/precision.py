#!/usr/bin/env python3
"""What `mlem` finds and fixes in code that works on today's packages, where nothing should be found.

    python3 bench/precision.py FOLDER [--mlem PATH] [--sample 200] [--seed 1]

FOLDER holds Python files, such as the `site-packages` of a new environment. All of them are checked
against the newest releases, and copies of them are fixed. Then every changed file has to parse as
before, and every changed line has to belong to a statement with a finding. A Markdown table counts
findings by rule; `--sample` prints that many findings with their code, drawn with the seed, to be
read by a person.
"""

import argparse
import ast
import collections
import difflib
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

BATCH = 1000


def python_files(folder):
    """Files that are UTF-8 and parse on this interpreter, relative to the folder."""
    files = []
    for path in sorted(folder.rglob("*.py")):
        try:
            ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError, RecursionError):
            continue
        files.append(path.relative_to(folder).as_posix())
    return files


def reports(mlem, command, folder, files, key):
    """The entries under `key` of the JSON reports of one command over all files."""
    entries = []
    for start in range(0, len(files), BATCH):
        batch = files[start:start + BATCH]
        done = subprocess.run([mlem, *command, "--format", "json", *batch], cwd=folder, capture_output=True, text=True)
        if not done.stdout.strip():
            sys.exit(f"`mlem {' '.join(command)}` gave nothing: {done.stderr.strip()}")
        entries.extend(json.loads(done.stdout)[key])
    return entries


def statement_lines(source, lines):
    """The lines of the innermost statements that hold one of these lines."""
    spans = [(node.lineno, node.end_lineno) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    covered = set()
    for line in lines:
        around = [span for span in spans if span[0] <= line <= span[1]]
        if around:
            first, last = min(around, key=lambda span: span[1] - span[0])
            covered.update(range(first, last + 1))
        covered.add(line)
    return covered


def faults(name, before, after, lines):
    """What is wrong with a changed file."""
    try:
        ast.parse(after)
    except SyntaxError as error:
        return [f"{name}: no longer parses: {error}"]
    covered = statement_lines(before, lines)
    old, new = before.splitlines(), after.splitlines()
    found = []
    for kind, first, last, new_first, new_last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        changed = set(range(first + 1, last + 1))
        added = [line.strip() for line in new[new_first:new_last]]
        is_import = not changed and all(line.startswith(("import ", "from ")) for line in added)
        if not is_import and not (changed or {first, first + 1}) & covered:
            found.append(f"{name}:{first + 1}: changed without a finding: {old[first:last]} became {added}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mlem", default="target/release/mlem")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    mlem = str(pathlib.Path(options.mlem).resolve())

    files = python_files(options.folder)
    lines = 0
    with tempfile.TemporaryDirectory() as copies:
        copies = pathlib.Path(copies)
        for name in files:
            (copies / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(options.folder / name, copies / name)
        findings = reports(mlem, ["check"], copies, files, "findings")
        fixed = reports(mlem, ["fix"], copies, files, "files")
        applied = collections.Counter(edit["rule"] for file in fixed for edit in file["edits"])
        by_file = collections.defaultdict(set)
        for finding in findings:
            by_file[finding["path"]].add(finding["line"])
        wrong, changed = [], 0
        for name in files:
            before = (options.folder / name).read_text(encoding="utf-8")
            after = (copies / name).read_text(encoding="utf-8")
            lines += before.count("\n")
            if before != after:
                changed += 1
                wrong.extend(faults(name, before, after, by_file[name]))
        again = reports(mlem, ["fix", "--check"], copies, files, "files")
        wrong.extend(f"{file['path']}: fixed again" for file in again if file["edits"])

    print(f"{len(files)} files, {lines} lines: {len(findings)} findings, {sum(applied.values())} fixes in {changed} files\n")
    print("| rule | findings | fixed | safety |\n|---|---|---|---|")
    counted = collections.Counter(finding["rule"] for finding in findings)
    for rule, count in counted.most_common():
        kinds = {(finding["safety"], finding["fixable"]) for finding in findings if finding["rule"] == rule}
        print(f"| {rule} | {count} | {applied[rule]} | {', '.join(sorted(safety for safety, _ in kinds))} |")
    findings.sort(key=lambda finding: (finding["path"], finding["line"], finding["column"], finding["rule"]))
    for number, finding in enumerate(random.Random(options.seed).sample(findings, min(options.sample, len(findings)))):
        text = (options.folder / finding["path"]).read_text(encoding="utf-8").splitlines()
        at = finding["line"] - 1
        print(f"\n{number + 1}. {finding['rule']} {finding['path']}:{finding['line']}: {finding['message']}\n")
        print("\n".join("    " + line for line in text[max(0, at - 3):at + 3]))
    for fault in wrong:
        print(fault, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
