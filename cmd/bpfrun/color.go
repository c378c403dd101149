package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// useColor decides --color: auto means a terminal, no NO_COLOR (https://no-color.org) and a TERM
// that is not dumb.
func useColor(mode string, w io.Writer) (bool, error) {
	color := false
	switch mode {
	case "always":
		color = true
	case "never":
	case "auto":
		color = isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	default:
		return false, usagef("--color %q: want auto, always or never", mode)
	}
	if o, ok := w.(*output); ok {
		o.styled = color
	}
	return color, nil
}

func isTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}
