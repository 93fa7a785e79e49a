package browser

// FlagsOf is the command line of a Chromium for cfg, for tests that start one with something of their own beside it.
func FlagsOf(cfg Config) []Flag { return flags(cfg) }
