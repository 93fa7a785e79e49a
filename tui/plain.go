package tui

func newPlainModel(cfg Config, d *device) *model { return newModel(cfg, d) }
