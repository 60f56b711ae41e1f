"""Make the output pairs under pairs/ by running each cell in two environments.

    python generate.py --py27 P --py36 P --py37 P --today P [NAME ...]

Each P is a Python with ipykernel, numpy, pandas, scikit-learn, scipy, matplotlib and tqdm. The
script itself needs jupyter_client (any current Python that has it). With names, only those pairs.
pairs/NAME.json holds the label, its reason, both cells, both environments' versions and both
lists of outputs as the kernel sent them; pictures are cut short.
"""
import argparse
import json
import pathlib

import jupyter_client
from jupyter_client import KernelManager

HERE = pathlib.Path(__file__).parent

SETUP = """
import sys, warnings
warnings.simplefilter('ignore')
import numpy as np
import pandas as pd
import matplotlib
import matplotlib.pyplot as plt
%matplotlib inline
np.random.seed(0)
df = pd.DataFrame({
    'age': [22.0, 38.0, 26.0, 35.0, None, 54.0, 2.0, 27.0, 14.0, 4.0, 58.0, 20.0],
    'fare': [7.25, 71.2833, 7.925, 53.1, 8.4583, 51.8625, 21.075, 11.1333, 30.0708, 16.7, 26.55, 8.05],
    'pclass': [3, 1, 3, 1, 3, 1, 3, 3, 2, 3, 1, 3],
    'sex': ['male', 'female', 'female', 'female', 'male', 'male', 'male', 'female', 'female', 'female', 'female', 'male'],
    'survived': [0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0],
}, columns=['age', 'fare', 'pclass', 'sex', 'survived'])
rng = np.random.RandomState(7)
X = rng.normal(size=(120, 4))
y = (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=120) > 0).astype(int)
target = X[:, 0] * 3 - X[:, 2] + 0.1 * rng.normal(size=120)
"""

VERSIONS = """
import sys, numpy, pandas, sklearn, scipy, matplotlib, IPython
print(' '.join(['python-%d.%d.%d' % tuple(sys.version_info[:3])] + [m.__name__ + '-' + m.__version__ for m in (numpy, pandas, sklearn, scipy, matplotlib, IPython)]))
"""

from cases import CASES


class Kernel:
    def __init__(self, python):
        self.manager = KernelManager()
        self.manager._kernel_spec = jupyter_client.kernelspec.KernelSpec(
            argv=[python, "-m", "ipykernel_launcher", "-f", "{connection_file}"], language="python")
        self.manager.start_kernel()
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.versions = "".join(o["text"] for o in self.run(VERSIONS)).split()

    def run(self, source):
        outputs = []

        def take(message):
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                if outputs and outputs[-1].get("name") == content["name"]:
                    outputs[-1]["text"] += content["text"]
                else:
                    outputs.append({"output_type": "stream", "name": content["name"], "text": content["text"]})
            elif kind == "display_data":
                outputs.append({"output_type": kind, "data": content["data"], "metadata": {}})
            elif kind == "execute_result":
                outputs.append({"output_type": kind, "data": content["data"], "metadata": {},
                                "execution_count": 1})
            elif kind == "error":
                outputs.append({"output_type": kind, "ename": content["ename"], "evalue": content["evalue"],
                                "traceback": []})

        self.client.execute_interactive(source, store_history=True, output_hook=take, timeout=300)
        return outputs

    def cell(self, source):
        self.run("%reset -f")
        before = self.run(SETUP)
        assert not any(o["output_type"] == "error" for o in before), before
        return [shorter(o) for o in self.run(source)]

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def shorter(output):
    """Text as lines, pictures cut, HTML left out (the comparison reads text/plain)."""
    data = output.get("data")
    if data:
        for mime in list(data):
            if mime.startswith("image/"):
                data[mime] = data[mime][:24]
            elif mime == "text/html" and "text/plain" in data:
                del data[mime]
            elif isinstance(data[mime], str):
                data[mime] = data[mime].splitlines(True)
    if "text" in output:
        output["text"] = output["text"].splitlines(True)
    return output


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("py27", "py36", "py37", "today"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    kernels = {name: Kernel(getattr(arguments, name)) for name in ("py27", "py36", "py37", "today")}
    folder = HERE / "pairs"
    folder.mkdir(exist_ok=True)
    for name, environment, label, why, then, now in CASES:
        if arguments.names and name not in arguments.names:
            continue
        old, new = kernels[environment], kernels["today"]
        pair = {
            "label": label,
            "why": why,
            "then": {"versions": old.versions, "source": then.splitlines(True), "outputs": old.cell(then)},
            "now": {"versions": new.versions, "source": now.splitlines(True), "outputs": new.cell(now)},
        }
        text = json.dumps(pair, indent=1, ensure_ascii=False) + "\n"
        (folder / (name + ".json")).write_text(text, encoding="utf-8")
    for kernel in kernels.values():
        kernel.stop()


main()
