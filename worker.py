"""The command that hosts workflows and activities: `python worker.py --help`. `entrypoints.host` composes it."""

from entrypoints.worker_process import main

if __name__ == "__main__":
    main()
