"""`python -m linearly` is the command `linearly`."""

import sys

from linearly.cli.main import main

sys.exit(main())
