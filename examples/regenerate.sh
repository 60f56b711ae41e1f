#!/usr/bin/env bash
# Makes the stored outputs of the examples anew, each with the versions of its own time.
#
#   PYTHON27=... PYTHON36=... PYTHON37=... examples/regenerate.sh [NAME...]
#
# The three variables name interpreters (CPython 2.7, 3.6 and 3.7; by default python2.7, python3.6 and
# python3.7 on the PATH); PYTHON3 (3.8 to 3.11, by default python3) drives them. Every environment is
# made from the example's past-requirements.txt in a temporary folder, which is removed at the end.
# scikit-learn, numpy, scipy, pandas, matplotlib, seaborn, xgboost and lightgbm come as wheels; a few
# parts of the Python 2 kernel exist as source only and build in seconds.
#
# All outputs come back the same; only the addresses in lines such as
# `<matplotlib.figure.Figure at 0x7f...>` change.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
python3=${PYTHON3:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

interpreter() {
    case $1 in
        titanic-2014) echo "${PYTHON27:-python2.7}" ;;
        house-prices-2016 | text-2017 | plots-2018) echo "${PYTHON36:-python3.6}" ;;
        boosting-2019 | churn-2019) echo "${PYTHON37:-python3.7}" ;;
        *) echo "no example $1" >&2; return 1 ;;
    esac
}

if [ $# -eq 0 ]; then
    set -- titanic-2014 house-prices-2016 text-2017 plots-2018 boosting-2019 churn-2019
fi

"$python3" "$here/make_data.py"
"$python3" -m venv "$scratch/driver"
# The last virtualenv that can make environments for Python 2.7 and 3.6.
"$scratch/driver/bin/pip" install --quiet nbclient nbformat 'virtualenv<20.22'

for name in "$@"; do
    echo "$name"
    python=$(interpreter "$name")
    "$scratch/driver/bin/python" -m virtualenv --quiet --python "$python" "$scratch/$name"
    # A newer setuptools brings its own distutils, whose warnings would land in the outputs.
    "$scratch/$name/bin/pip" install --quiet --disable-pip-version-check 'setuptools<58' \
        --only-binary numpy,scipy,pandas,scikit-learn,matplotlib,seaborn,xgboost,lightgbm \
        -r "$here/$name/past-requirements.txt"
    "$scratch/driver/bin/python" "$here/execute.py" "$here/$name/$name.ipynb" "$scratch/$name/bin/python"
done
