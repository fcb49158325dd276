"""Never gets to its fit."""

import time

time.sleep(3600)
