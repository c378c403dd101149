package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// useColor decides --color: auto means a terminal, no NO_COLOR (https://no-color.org) and a TERM
// that is not dumb.
func useColor(mode string, w io.Writer) (bool, error) {
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", nil
	}
	return false, usagef("--color %q: want auto, always or never", mode)
}

func isTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}
