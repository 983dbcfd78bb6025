"""The command that hosts workflows and activities: `python worker.py --help`. `entrypoints.host` composes it."""

from entrypoints.imports import without_collecting

if __name__ == "__main__":
    without_collecting("entrypoints.worker_process").main()
