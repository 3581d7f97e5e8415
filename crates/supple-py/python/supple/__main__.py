"""`python -m supple` is the `supple` command."""

import sys

from ._program import main

sys.exit(main())
