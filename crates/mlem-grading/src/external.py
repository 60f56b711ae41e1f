import importlib.util
import json
import os
import sys
import types

# The result goes to the real standard output; what the grader prints goes to standard error.
result = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(kind, text):
    result.write(json.dumps({kind: text}) + "\n")
    result.flush()


try:
    from mlebench.grade_helpers import InvalidSubmissionError
except ImportError:

    class InvalidSubmissionError(Exception):
        """Stands in for MLE-bench's where that is not installed."""

    package, helpers = types.ModuleType("mlebench"), types.ModuleType("mlebench.grade_helpers")
    helpers.InvalidSubmissionError = InvalidSubmissionError
    package.grade_helpers = helpers
    sys.modules["mlebench"], sys.modules["mlebench.grade_helpers"] = package, helpers


def read(path):
    if path.endswith(".jsonl"):
        with open(path, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    import pandas

    return pandas.read_csv(path, float_precision="round_trip")


def main():
    grader, submission, answers = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(grader))
    spec = importlib.util.spec_from_file_location("grade", grader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return repr(float(module.grade(read(submission), read(answers))))


try:
    say("score", main())
except Exception as error:
    invalid = any(kind.__name__ == "InvalidSubmissionError" for kind in type(error).__mro__)
    say("invalid" if invalid else "failed", str(error) if invalid else "%s: %s" % (type(error).__name__, error))
